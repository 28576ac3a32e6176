package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"godwit/internal/demo/shop"
	"godwit/internal/sandbox"
)

// menagerie has every type that is copied with its edges, every sort of key,
// and odd names, in the SQL that MariaDB and MySQL have in common.
const menagerie = `
CREATE TABLE digits (d int NOT NULL PRIMARY KEY);
INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);

CREATE TABLE numbers (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, t tinyint, tu tinyint unsigned, s smallint, su smallint unsigned,
	m mediumint, mu mediumint unsigned, i int, iu int unsigned, b bigint, bu bigint unsigned, flag tinyint(1), d decimal(38,10), big decimal(65,0), y year,
	f float, g double, b1 bit(1), b9 bit(9), b64 bit(64));
INSERT INTO numbers VALUES
	(1, -128, 0, -32768, 0, -8388608, 0, -2147483648, 0, -9223372036854775808, 0, 0, -9999999999999999999999999999.9999999999, -99999999999999999999999999999999999999999999999999999999999999999, 1901, -3.402823e38, -1.7976931348623157e308, b'0', b'000000001', b'1'),
	(2, 127, 255, 32767, 65535, 8388607, 16777215, 2147483647, 4294967295, 9223372036854775807, 18446744073709551615, 1, 0.0000000001, 0, 2155, 3.402823e38, 1.7976931348623157e308, b'1', b'111111111', ~0),
	(18446744073709551600, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 127, 1.5, 1, 2024, 0.1, 0.1, b'1', b'010101010', 42),
	(99, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(100, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2000, 1.17549435e-38, 5e-324, b'0', b'0', 0),
	(101, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2000, 16777217, 123456789012345680000, b'0', b'0', 0);

CREATE TABLE moments (at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) PRIMARY KEY, d date, dt datetime, dt6 datetime(6), t time, t6 time(6));
INSERT INTO moments VALUES
	('1970-01-01 12:00:01.000001', '1000-01-01', '1000-01-01 00:00:00', '1000-01-01 00:00:00.000001', '-838:59:59', '-838:59:58.999999'),
	('2038-01-18 03:14:07.999999', '9999-12-31', '9999-12-31 23:59:59', '9999-12-31 23:59:59.999999', '838:59:59', '00:00:00.000001'),
	('2024-02-29 23:59:59.5', '2024-02-29', '2024-02-29 23:59:59', '2024-02-29 23:59:59.5', '00:00:00', '-00:00:00.5'),
	('2024-03-31 01:30:00', NULL, NULL, NULL, NULL, NULL);

CREATE TABLE texts (name varchar(50) NOT NULL PRIMARY KEY, c char(10), v varchar(300), b varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	l1 varchar(20) CHARACTER SET latin1, tt tinytext, tx text, mt mediumtext, lt longtext) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
INSERT INTO texts VALUES
	('plain', 'abc', 'abc', 'abc', 'abc', 'abc', 'abc', 'abc', 'abc'),
	('empty', '', '', '', '', '', '', '', ''),
	('nothing', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('Ünïcödé', 'ß', '中文 繁體 日本語 한국어 עברית العربية', '🐦🏴󠁧󠁢󠁳󠁣󠁴󠁿👩‍👩‍👧', 'déjà vu €', '𝄞', 'e\u0301', '\\N', '\\.'),
	('control', '\t', 'tab\tnewline\nreturn\rback\\slash', '\Z\b', '''"', '\\', '\\\\', '{}', '"quoted"'),
	(' leading', ' x', 'trailing  ', ' both ', ' ', '  ', '\n', '\r\n', '\t\t');
INSERT INTO texts SELECT CONCAT('k', a.d, b.d, c.d), a.d, REPEAT(CONCAT('ab', b.d), 100), CONCAT('K', c.d), 'x', 'y', 'z', REPEAT('m', 70000), 'l' FROM digits a, digits b, digits c WHERE a.d < 2;

CREATE TABLE bytes (k binary(16) NOT NULL PRIMARY KEY, v varbinary(20), tb tinyblob, b blob, mb mediumblob, lb longblob);
INSERT INTO bytes VALUES (UNHEX('00000000000000000000000000000000'), '', '', '', '', ''), (UNHEX('FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF'), NULL, NULL, NULL, NULL, NULL),
	(UNHEX('000102030405060708090A0B0C0D0E0F'), UNHEX('00'), UNHEX('5C4E'), UNHEX('0D0A5C2E0A'), UNHEX('C3BC00FF'), REPEAT(UNHEX('00FF5C'), 50000));
INSERT INTO bytes SELECT UNHEX(LEFT(SHA2(a.d * 100 + b.d * 10 + c.d, 256), 32)), a.d, 'x', UNHEX(SHA2(c.d, 256)), b.d, 'y' FROM digits a, digits b, digits c;

CREATE TABLE choices (id int NOT NULL PRIMARY KEY, e enum('red','green','it''s "blue"','青') NOT NULL, s set('a','b','c d','é'), j json);
INSERT INTO choices VALUES (1, 'red', '', '{"a": [1, 2.50, null, true, "x\\n\\"y\\" é 🐦"], "b": {}}'), (2, '青', 'a,c d,é', '[]'), (3, 'it''s "blue"', NULL, NULL), (4, 'green', 'b', '"text"'),
	(5, 'red', 'a', '12345678901234567'), (6, 'red', 'a', 'null');

CREATE TABLE regions (code char(2) NOT NULL, part smallint NOT NULL, since date NOT NULL, name varchar(20), PRIMARY KEY (code, part, since));
INSERT INTO regions SELECT CHAR(65 + a.d, 97 + b.d), c.d, DATE_ADD('2000-01-01', INTERVAL e.d DAY), CONCAT(a.d, b.d) FROM digits a, digits b, digits c, digits e;

CREATE TABLE staff (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, boss int, name varchar(30) NOT NULL, initials varchar(2) GENERATED ALWAYS AS (LEFT(name, 2)) STORED,
	UNIQUE KEY (name), KEY (boss), CONSTRAINT staff_boss FOREIGN KEY (boss) REFERENCES staff (id) ON DELETE SET NULL) COMMENT 'who works ''here''';
INSERT INTO staff (id, boss, name) VALUES (1, NULL, 'Ann'), (2, 1, 'Bob'), (3, 1, 'Cid'), (40, 2, 'Dee');

CREATE TABLE heap (n int, t varchar(10), x double);
INSERT INTO heap SELECT a.d, NULLIF(b.d, 3), a.d / 3 FROM digits a, digits b, digits c;

CREATE TABLE nothing (id int NOT NULL PRIMARY KEY, t text);

CREATE TABLE ` + "`Odd \"Näme\" 1`" + ` (` + "`select`" + ` int NOT NULL PRIMARY KEY, ` + "`Größe in %`" + ` int DEFAULT 7, ` + "`a\"b`" + ` varchar(5) NOT NULL DEFAULT 'it''s', KEY ` + "`order`" + ` (` + "`Größe in %`" + `));
INSERT INTO ` + "`Odd \"Näme\" 1`" + ` VALUES (1, 2, 'x'), (2, NULL, 'y');

ANALYZE TABLE digits, numbers, moments, texts, bytes, choices, regions, staff, heap, nothing, ` + "`Odd \"Näme\" 1`"

// onlyMariaDB are the types that MySQL does not have.
const onlyMariaDB = `
CREATE TABLE addresses (id uuid NOT NULL PRIMARY KEY, six inet6, four inet4);
INSERT INTO addresses VALUES ('00000000-0000-0000-0000-000000000000', '::', '0.0.0.0'), ('ffffffff-ffff-ffff-ffff-ffffffffffff', 'ffff::1', '255.255.255.255'),
	('01234567-89ab-4def-8123-456789abcdef', '2001:db8::8a2e:370:7334', NULL), (UUID(), NULL, '10.1.2.3'), (UUID(), '::1', '127.0.0.1');
ANALYZE TABLE addresses`

// menagerieTables are those that have rows.
var menagerieTables = []string{"digits", "numbers", "moments", "texts", "bytes", "choices", "regions", "staff", "heap", `Odd "Näme" 1`}

// mysqlRig is the sturdy rig with a MySQL as its source.
var mysqlRig = sync.OnceValues(func() (*rig, error) {
	shared, err := sturdy()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	r := &rig{temporal: shared.temporal, target: shared.target}
	if r.source, err = sandbox.Start(ctx, sandbox.MySQL, sandbox.Options{Settings: map[string]string{"max_connections": "500"}}); err != nil {
		return nil, err
	}
	rigs.Lock()
	defer rigs.Unlock()
	rigs.all = append(rigs.all, &rig{source: r.source})
	return r, nil
})

func TestEveryTypeAndKeyArrivesFromMariaDB(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t)).ownSource(menagerie)
	s.onSource(onlyMariaDB)
	s.copiesAll(append([]string{"addresses"}, menagerieTables...))
}

func TestEveryTypeAndKeyArrivesFromMySQL(t *testing.T) {
	t.Parallel()
	r, err := mysqlRig()
	require.NoError(t, err)
	newStage(t, r).ownSource(menagerie).copiesAll(menagerieTables)
}

// copiesAll copies every table of the source, in small shards, and looks at
// what else there is to a table.
func (s *stage) copiesAll(tables []string) {
	t := s.t
	before := s.sourceSnapshot()
	s.worker()
	m := s.start("shards: {rows: 50, parallel: 4}")
	m.succeeds()
	s.arrived(tables...)
	m.adds(tables...)
	require.Zero(t, one[int](s, "SELECT count(*) FROM nothing"))
	require.EqualValues(t, 41, one[int64](s, "SELECT nextval(pg_get_serial_sequence('staff', 'id'))"))
	require.Equal(t, "who works 'here'", one[string](s, "SELECT obj_description('staff'::regclass)"))
	require.Regexp(t, `^FOREIGN KEY \(boss\) REFERENCES staff\(id\).* ON DELETE SET NULL$`,
		one[string](s, "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'staff'::regclass AND contype = 'f' AND convalidated"))
	require.Equal(t, "PRIMARY KEY (code, part, since)", one[string](s, "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'regions'::regclass AND contype = 'p'"))
	require.Equal(t, before, s.sourceSnapshot())
	require.Equal(t, len(tables)+1, one[int](s, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"))
}

// TestTheDemosShopArrives copies what `make demo` copies, but smaller.
func TestTheDemosShopArrives(t *testing.T) {
	t.Parallel()
	for _, server := range []struct {
		name string
		rig  func() (*rig, error)
	}{{"from MariaDB", sturdy}, {"from MySQL", mysqlRig}} {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			r, err := server.rig()
			require.NoError(t, err)
			s := newStage(t, r).ownSource("SELECT 1")
			s.seedDemo(20_000)
			tables := strings.Split(s.askSource("SHOW TABLES"), "\n")
			before := s.sourceSnapshot()
			s.worker()
			m := s.start("shards: {rows: 1000, parallel: 4}")
			m.succeeds()
			s.arrived(tables...)
			m.adds(tables...)
			require.Equal(t, before, s.sourceSnapshot())
		})
	}
}

func (s *stage) seedDemo(rows int64) {
	s.t.Helper()
	config := mysql.NewConfig()
	config.User, config.Passwd, config.Net, config.Addr, config.DBName = s.source.User(), s.source.Password(), "tcp", s.source.Addr(), s.from
	connector, err := mysql.NewConnector(config)
	require.NoError(s.t, err)
	db := sql.OpenDB(connector)
	defer db.Close()
	require.NoError(s.t, shop.Seed(s.t.Context(), db, shop.Options{Rows: rows, Seed: *seedFlag}), fmt.Sprint(*seedFlag))
}
