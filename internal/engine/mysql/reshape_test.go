package mysql

import (
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/sandbox"
	"godwit/internal/task"
)

// broken lists the rows that the tests of a plan find.
func (s *testServer) broken(t testing.TB, r *engine.Reshaping) []string {
	t.Helper()
	var found []string
	for _, test := range r.Tests {
		rows, err := s.db.QueryContext(t.Context(), test.Rows)
		require.NoError(t, err, test.Rows)
		names, err := rows.Columns()
		require.NoError(t, err)
		require.Len(t, test.Columns, len(names), test.Rows)
		for rows.Next() {
			found = append(found, test.What)
		}
		require.NoError(t, rows.Err())
	}
	return found
}

func TestAValueIsConvertedExactlyOrNamed(t *testing.T) {
	for _, c := range []struct{ from, to, good, bad string }{
		{"int", "bigint", "-2147483648", ""},
		{"bigint", "int", "2147483647", "2147483648"},
		{"bigint", "int unsigned", "4294967295", "-1"},
		{"bigint unsigned", "bigint", "9223372036854775807", "18446744073709551615"},
		{"int", "decimal(6,2)", "9999", "10000"},
		{"bigint", "double", "9007199254740992", "9007199254740993"},
		{"decimal(10,4)", "decimal(10,2)", "12.3400", "12.3456"},
		{"decimal(10,2)", "decimal(6,2)", "9999.99", "10000"},
		{"decimal(10,2)", "int", "7.00", "7.5"},
		{"varchar(20)", "varchar(3)", "'abc'", "'abc '"},
		{"varchar(20)", "char(5)", "'abc'", "'abc '"},
		{"varchar(20)", "varchar(20) CHARACTER SET latin1", "'caf\u00e9'", "'\u0142'"},
		{"varchar(20) CHARACTER SET latin1", "varchar(20) CHARACTER SET utf8mb4", "X'636166E9'", ""},
		{"text", "tinytext", "'x'", "REPEAT('x', 300)"},
		{"varchar(20)", "int", "'-42'", "'42a'"},
		{"varchar(20)", "decimal(6,2)", "'42.5'", "'42.555'"},
		{"varchar(20)", "varbinary(4)", "'abcd'", "'abcde'"},
		{"int", "varchar(3)", "123", "1234"},
		{"varbinary(8)", "binary(4)", "X'01020304'", "X'0102'"},
		{"datetime(6)", "datetime(3)", "'2024-01-01 10:00:00.123'", "'2024-01-01 10:00:00.123456'"},
		{"datetime", "date", "'2024-01-01'", "'2024-01-01 10:00:00'"},
		{"date", "datetime", "'2024-01-01'", ""},
		{"datetime", "varchar(30)", "'2024-01-01 10:00:00'", ""},
		{"enum('a','b','c')", "enum('c','a')", "'c'", "'b'"},
		{"set('a','b','c')", "set('a','c')", "'a,c'", "'b'"},
		{"varchar(20)", "enum('a','B')", "'B'", "'b'"},
		{"enum('a','b')", "varchar(10)", "'b'", ""},
		{"bit(8)", "bit(4)", "b'1111'", "b'10000'"},
		{"float", "double", "1.1", ""},
		{"int", "int", "0", ""},
		{"json", "json", `'{"b": 1, "a": 2}'`, ""},
		{"point", "point", "POINT(1, 2)", ""},
	} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *testServer) {
				s.exec(t, "CREATE TABLE items (id int NOT NULL PRIMARY KEY, v "+c.from+")", "INSERT INTO items VALUES (0, NULL), (1, "+c.good+")")
				r := s.copied(t, "items", "MODIFY v "+c.to, nil)
				require.Empty(t, s.broken(t, r))
				s.sameCopy(t, r, 2)
				if c.bad == "" {
					return
				}
				s.exec(t, "INSERT INTO items VALUES (2, "+c.bad+")")
				require.Len(t, s.broken(t, r), 1)
				err := s.drain(t.Context(), s.Server, r.Capture, r.Forward)
				class, _ := Classify(err)
				require.Equal(t, task.Data, class, "the server has to refuse it: %v", err)
			})
		})
	}
}

func TestZeroNumbersAndDatesAreCopiedAsTheyAre(t *testing.T) {
	for _, kind := range []sandbox.Kind{sandbox.MariaDB, sandbox.MySQL} {
		t.Run(string(kind), func(t *testing.T) {
			s := start(t, kind, func(c *mysql.Config) { // as connections have it
				c.Params["sql_mode"] = "'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION'"
			})
			s.exec(t, "CREATE TABLE items (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, d date NOT NULL DEFAULT '0000-00-00', v datetime NOT NULL DEFAULT '0000-00-00 00:00:00', n int)",
				"INSERT INTO items (id) VALUES (0), (7)", "INSERT INTO items VALUES (8, '2024-00-01', '0000-00-00 00:00:00', 1)")
			r := s.copied(t, "items", "MODIFY n bigint, MODIFY d datetime NOT NULL DEFAULT '0000-00-00'", nil)
			require.Empty(t, s.broken(t, r))
			s.sameCopy(t, r, 3)
		})
	}
}

func TestAnExpressionGivesAColumnItsValues(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE items (id int NOT NULL PRIMARY KEY, price decimal(10,4) NOT NULL, name varchar(20), made datetime)", "INSERT INTO items VALUES (1, 2.345, 'pen ', '2024-01-01 10:00:00'), (2, 1.5, NULL, NULL)")
		r := s.copied(t, "items", "ADD cents int NOT NULL, MODIFY price decimal(10,2) NOT NULL, ADD label varchar(30) CHARACTER SET latin1, MODIFY made timestamp NULL", func(want *engine.Reshape) {
			want.Columns = map[string]string{"cents": "price * 100", "price": "price", "label": "concat(name, '!')", "made": "made"}
		})
		require.Empty(t, s.broken(t, r))
		s.sameCopy(t, r, 2)
		require.Equal(t, "235", s.ask(t, "SELECT cents FROM items__gw_new WHERE id = 1"))
		s.exec(t, "UPDATE items__gw_new SET cents = 1 WHERE id = 2", "INSERT INTO items__gw_new (id, price, cents) VALUES (9, 1, 1)")
		list, err := s.Disagreements(t.Context(), s.Server, r, engine.Part{}, nil, 9)
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, engine.Disagreement{Key: list[0].Key, What: "different", Columns: []engine.Unlike{{Column: "cents", Want: "150", Have: "1"}}}, list[0])
		require.Equal(t, "extra", list[1].What)
	})
}

func TestWhatWouldBeLostIsRefusedByName(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE parent (id int NOT NULL PRIMARY KEY, a int, b int)", "CREATE TABLE child (id int NOT NULL PRIMARY KEY, parent int, CONSTRAINT of_parent FOREIGN KEY (parent) REFERENCES parent (id))",
			"CREATE TABLE seen (id int NOT NULL PRIMARY KEY, a int, b int, c timestamp NULL)", "CREATE VIEW seen_all AS SELECT x.b, x.id FROM seen x",
			"CREATE TABLE plain (id int NOT NULL PRIMARY KEY, a int NOT NULL)", "CREATE TABLE busy (id int NOT NULL PRIMARY KEY, a int)", "CREATE TRIGGER audit AFTER INSERT ON busy FOR EACH ROW SET @x = 1",
			"CREATE TABLE taken (id int NOT NULL PRIMARY KEY, a int)", "CREATE TABLE taken__gw_old (id int)", "CREATE TABLE keyless (a int)")
		for _, c := range []struct{ table, alter, says string }{
			{"parent", "MODIFY a bigint", "of_parent of " + s.database + ".child"},
			{"child", "MODIFY parent bigint", "of_parent to"},
			{"seen", "DROP COLUMN b", "seen_all uses b"},
			{"seen", "RENAME COLUMN a TO z", "renames: {a: z}"},
			{"seen", "CHANGE a z int", "renames: {a: z}"},
			{"seen", "MODIFY c datetime", "time zone"},
			{"seen", "ADD n int NOT NULL", "columns: {n: …}"},
			{"plain", "DROP COLUMN id, ADD PRIMARY KEY (a)", "cannot be dropped"},
			{"seen", "ALGORITHM=COPY, MODIFY a bigint", "leave it out"},
			{"seen", "MODIFY nothing int", "the server refuses"},
			{"busy", "MODIFY a bigint", "triggers (audit)"},
			{"taken", "MODIFY a bigint", "taken__gw_old already"},
			{"keyless", "MODIFY a bigint", "no key that rows are found by"},
		} {
			_, err := s.reshape(t, c.table, c.alter, nil)
			require.ErrorContains(t, err, c.says, c.alter)
			require.Equal(t, task.Config, fault.Of(err).Class)
		}
		_, err := s.reshape(t, "seen", "RENAME COLUMN a TO z", func(want *engine.Reshape) { want.Renames = map[string]string{"a": "y"} })
		require.ErrorContains(t, err, "the ALTER says z")
		_, err = s.reshape(t, "seen", "MODIFY a bigint", func(want *engine.Reshape) { want.Columns = map[string]string{"a": "a + rand()"} })
		require.ErrorContains(t, err, "row's own values alone")
		for _, name := range s.tables(t) {
			require.False(t, strings.HasPrefix(name, triedTable), name)
		}
	})
}

func TestRowsThatWouldBreakTheNewFormAreNamed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE people (id int NOT NULL PRIMARY KEY, email varchar(40) COLLATE utf8mb4_bin, age int, UNIQUE (email))", "INSERT INTO people VALUES (1, 'a', 1), (2, 'A', -5), (3, NULL, NULL)")
		r, err := s.reshape(t, "people", "MODIFY email varchar(40) COLLATE utf8mb4_general_ci, MODIFY age int NOT NULL, ADD CHECK (age > 0), ADD UNIQUE by_age (age)", nil)
		require.NoError(t, err)
		require.Len(t, s.broken(t, r), 2+1+1, "two that are the same, one that is NULL, one below 0")
		require.Contains(t, s.broken(t, r), "email must be unique in email")
	})
}

func TestAColumnThatHasToBeUniqueAndIsDroppedLeavesNoWayBack(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE items (id int NOT NULL PRIMARY KEY, code varchar(20) NOT NULL DEFAULT '', label varchar(20), UNIQUE by_code (code), UNIQUE (label))")
		r, err := s.reshape(t, "items", "DROP COLUMN code", nil)
		require.NoError(t, err)
		require.Nil(t, r.Reverse)
		require.Contains(t, r.OneWay, "column code, which has to be unique in by_code")
		r, err = s.reshape(t, "items", "DROP COLUMN label", nil)
		require.NoError(t, err)
		require.NotNil(t, r.Reverse, "one that may be NULL is in nobody's way")
	})
}

func TestRenamedColumnsGoThereAndBack(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE items (id int NOT NULL PRIMARY KEY, a int, b int, gone varchar(20) DEFAULT 'none', code int NOT NULL, UNIQUE (code))", "INSERT INTO items VALUES (1, 10, 20, 'kept', 1), (2, 11, 21, 'kept too', 2)")
		r := s.copied(t, "items", "RENAME COLUMN a TO b, RENAME COLUMN b TO a, DROP gone", func(want *engine.Reshape) { want.Renames = map[string]string{"a": "b", "b": "a"} })
		s.sameCopy(t, r, 2)
		require.Equal(t, "10", s.ask(t, "SELECT b FROM items__gw_new WHERE id = 1"))
		require.Equal(t, []string{"gone"}, r.Reverse.Kept)
		require.NoError(t, s.swap(t, &engine.Swap{Reshaping: r}))
		require.NoError(t, s.DropCapture(t.Context(), r.Capture))
		s.exec(t, "UPDATE items SET b = 99 WHERE id = 1", "INSERT INTO items (id, a, b, code) VALUES (3, 1, 2, 3)")
		require.NotEmpty(t, s.takeBack(t, r))
		require.Equal(t, "kept", s.ask(t, "SELECT gone FROM items__gw_old WHERE id = 1"))
		require.Equal(t, "99", s.ask(t, "SELECT a FROM items__gw_old WHERE id = 1"))
		require.Equal(t, "none", s.ask(t, "SELECT gone FROM items__gw_old WHERE id = 3"))
	})
}

// takeBack brings the old table up to date in one transaction.
func (s *testServer) takeBack(t testing.TB, r *engine.Reshaping) []string {
	t.Helper()
	back := live(r)
	entries, err := s.Entries(t.Context(), s.Server, back.Capture, engine.Window{Until: 1 << 60, Whole: true}, 100)
	require.NoError(t, err)
	var keys []engine.Key
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	statements, err := s.SetAside(r.Reverse, keys)
	require.NoError(t, err)
	remove, err := s.RemoveKeys(r.Reverse, keys)
	require.NoError(t, err)
	write, err := s.CopyRows(back.Capture, r.Reverse, engine.Part{Keys: keys}, false)
	require.NoError(t, err)
	statements = append(append(statements, remove, write), s.PutBack(r.Reverse)...)
	tx, err := s.Begin(t.Context())
	require.NoError(t, err)
	for _, statement := range statements {
		_, err := tx.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	require.NoError(t, tx.Commit(t.Context()))
	return statements
}

func TestAChecksNameIsUnderstoodThoughTheCopyHasAnother(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE items (id int NOT NULL PRIMARY KEY, a int, CONSTRAINT positive CHECK (a > 0), CONSTRAINT even CHECK (a % 2 = 0))", "INSERT INTO items VALUES (1, 2)")
		r := s.copied(t, "items", "DROP CONSTRAINT even", nil)
		s.sameCopy(t, r, 1)
		require.NoError(t, s.swap(t, &engine.Swap{Reshaping: r}))
		s.exec(t, "INSERT INTO items VALUES (2, 3)")
		_, err := s.Exec(t.Context(), "INSERT INTO items VALUES (3, -1)")
		require.Error(t, err)
	})
}
