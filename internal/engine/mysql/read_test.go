package mysql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/mysqlwire"
	"godwit/internal/sandbox"
	"godwit/internal/task"
)

// compressed makes connections that cannot be read directly.
func compressed(c *mysql.Config) { _ = c.Apply(mysql.EnableCompression(true)) }

func TestValuesAreWhatTheServerWroteWhicheverWayTheyAreRead(t *testing.T) {
	everything := []string{`CREATE TABLE t (
			id int PRIMARY KEY, i8 tinyint, u64 bigint unsigned, z int(8) unsigned zerofill, d decimal(30,10), y year, f float, db double, b bit(12),
			vc varchar(30), l1 varchar(30) CHARACTER SET latin1, tx longtext, bi binary(4), bl blob, e enum('a','it''s'), st set('a','b'),
			da date, dt datetime(6), ts timestamp(2) NULL, ti time(3), js json, p point, nu int)`,
		`INSERT INTO t VALUES
			(1, -128, 18446744073709551615, 42, -12345678901234567890.0123456789, 0, 1.1, 0.1, b'101010101010', 'it''s 😀', 'é€', REPEAT('文', 9000), 'ab', X'00ff270a5c', 'it''s', 'a,b',
			 '0000-00-00', '2024-02-29 23:59:59.999999', '2024-01-01 00:00:00.25', '-838:59:59.000', '{"a": [1, 2.50, null]}', ST_GeomFromText('POINT(1 2)'), NULL),
			(2, 0, 0, 0, 0, 2155, 3.4e38, 1e300, 0, '', '', '', '', '', 0, '', '2024-00-31', '0000-00-00 00:00:00', NULL, '00:00:00', 'null', NULL, NULL),
			(3, 127, 9007199254740993, 99999999, 0.0000000001, 1999, -1e-30, -5e-324, 1, '\\\\', '~', 'x', 'abcd', 'x', 'a', 'b', '9999-12-31', '1000-01-01', '1970-01-01 00:00:01', '838:59:59', '[]', NULL, NULL)`}
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, everything...)
		table := s.describe(t, "t")
		exprs := append(columns(table), "`id` + 0.5e0", "`f` + 0e0", "HEX(`bl`)", "`id` * 1.0", "NOW() > '2020-01-01'")
		sel := engine.Select{Table: table, Exprs: exprs, Ordered: true}
		direct := s.read(t, sel)
		require.Len(t, direct, 3)
		for _, value := range []string{`"18446744073709551615"`, `"00000042"`, `"-12345678901234567890.0123456789"`, `"0000"`, `"it's 😀"`, `"é€"`, `"0000-00-00"`,
			`"2024-02-29 23:59:59.999999"`, `"2024-01-01 00:00:00.25"`, `"-838:59:59.000"`, `"ab\x00\x00"`, `"\x00\xff'\n\\"`, `"1.5"`} {
			require.Contains(t, direct[0], value)
		}
		require.Contains(t, direct[1], `"2024-00-31"`)

		for name, set := range map[string]func(*mysql.Config){
			"through database/sql":       compressed,
			"by a driver that parses":    func(c *mysql.Config) { compressed(c); c.ParseTime = true },
			"with a limit on every read": func(c *mysql.Config) { c.ReadTimeout = time.Minute },
		} {
			s.settings = []func(*mysql.Config){set}
			other := &testServer{Server: New(s.pool(t, s.box.User(), s.box.Password()))}
			requireSameValues(t, direct, other.read(t, sel), name)
			key, found, err := other.Bound(t.Context(), sel, 3)
			require.NoError(t, err)
			require.True(t, found)
			require.Equal(t, "3", key.String())
		}
	})
}

// requireSameValues compares rows, floating point numbers by their value.
func requireSameValues(t *testing.T, want, got []string, name string) {
	t.Helper()
	require.Len(t, got, len(want), name)
	for i := range want {
		wanted, values := strings.Fields(want[i]), strings.Fields(got[i])
		require.Len(t, values, len(wanted), name)
		for j := range wanted {
			a, err := strconv.ParseFloat(strings.Trim(wanted[j], `"`), 64)
			b, also := strconv.ParseFloat(strings.Trim(values[j], `"`), 64)
			if err == nil && also == nil && strings.ContainsAny(wanted[j], ".e") {
				require.Equal(t, a, b, "%s: %s and %s", name, wanted[j], values[j])
			} else {
				require.Equal(t, wanted[j], values[j], name)
			}
		}
	}
}

func TestASelectionIsReadAsItSays(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE t (a int, b varchar(9), PRIMARY KEY (a), KEY (b))", "INSERT INTO t VALUES (1,'f'),(2,'e'),(3,'d'),(4,'c'),(5,'b'),(6,'a')")
		sel := engine.Select{Table: s.describe(t, "t"), Exprs: []string{"`b`"}, Ordered: true}
		number := func(n string) engine.Key { return engine.Key{{Kind: engine.NumberKey, Value: n}} }
		sel.Range = engine.Range{After: number("1"), Until: number("5")}
		require.Equal(t, []string{`["e"]`, `["d"]`, `["c"]`, `["b"]`}, s.read(t, sel))
		sel.Where = "a <> 3 OR FALSE -- not the third"
		require.Equal(t, []string{`["e"]`, `["c"]`, `["b"]`}, s.read(t, sel))
		sel.Offset = 1
		require.Equal(t, []string{`["c"]`, `["b"]`}, s.read(t, sel))
		sel.Limit = 1
		require.Equal(t, []string{`["c"]`}, s.read(t, sel))
		sel.Exprs = []string{"`b` AS `a`", "1 + 1"}
		require.Equal(t, []string{`["c" "2"]`}, s.read(t, sel), "a name of an expression does not change the order")

		for problem, change := range map[string]func(*engine.Select){
			"does not fit the key": func(s *engine.Select) { s.Range.After = append(number("1"), number("2")...) },
			"cannot be compared":   func(s *engine.Select) { s.Range.After = number("1; DROP TABLE t") },
			"it has the kind":      func(s *engine.Select) { s.Range.Until = engine.Key{{Kind: engine.TextKey, Value: "1"}} },
			"nothing is selected":  func(s *engine.Select) { s.Exprs = nil },
			"Unknown column":       func(s *engine.Select) { s.Exprs = []string{"nowhere"} },
		} {
			wrong := sel
			change(&wrong)
			_, err := s.Stream(t.Context(), wrong)
			require.ErrorContains(t, err, problem)
			require.ErrorContains(t, err, s.database+".t")
		}
	})
}

func TestAKilledConnectionIsAnErrorInTheMiddleOfAStream(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE t (id int PRIMARY KEY, x varchar(2000))",
			"INSERT INTO t WITH RECURSIVE s AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 900) SELECT n, REPEAT('x', 2000) FROM s",
			"INSERT INTO t SELECT 1000 + a.id * 100 + b.id, a.x FROM t a, t b WHERE a.id < 200 AND b.id < 100")
		table := s.describe(t, "t")
		for name, set := range map[string]func(*mysql.Config){"directly": func(*mysql.Config) {}, "through database/sql": compressed} {
			for _, kill := range []string{"KILL ?", "KILL QUERY ?"} {
				s.settings = []func(*mysql.Config){set}
				reader := New(s.pool(t, s.box.User(), s.box.Password()))
				reader.db.SetMaxOpenConns(1)
				var session int64
				require.NoError(t, reader.db.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&session))
				stream, err := reader.Stream(t.Context(), engine.Select{Table: table, Exprs: columns(table)})
				require.NoError(t, err)
				_, err = stream.Next()
				require.NoError(t, err)
				_, err = s.db.ExecContext(t.Context(), kill, session)
				require.NoError(t, err)
				rows := 1
				for ; err == nil; rows++ {
					_, err = stream.Next()
				}
				require.NotErrorIs(t, err, io.EOF, "%s, %s, after %d rows", name, kill, rows)
				class, known := Classify(err)
				require.True(t, known, "%v", err)
				require.Equal(t, task.Transient, class, "%v", err)
				_ = stream.Close() // its error is the one that Next has returned
				require.NoError(t, reader.db.PingContext(t.Context()))
			}
		}
	})
}

func TestAStreamEndsWithItsContext(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		table := s.numbered(t, "id int PRIMARY KEY, x char(200)", "n, REPEAT('x', 200)")
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := s.Stream(ctx, engine.Select{Table: table, Exprs: columns(table)})
		require.NoError(t, err)
		cancel()
		for err == nil {
			_, err = stream.Next()
		}
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, stream.Close())
		_, err = s.Stream(ctx, engine.Select{Table: table, Exprs: columns(table)})
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestStreamsCanBeReadSideBySide(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		table := s.numbered(t, "id int PRIMARY KEY, x char(20)", "n, n")
		results := make(chan error)
		for range 4 {
			go func() {
				results <- func() error {
					stream, err := s.Stream(t.Context(), engine.Select{Table: table, Exprs: columns(table), Ordered: true})
					if err != nil {
						return err
					}
					for n := 0; ; n++ {
						row, err := stream.Next()
						if err == io.EOF && n == splitRows {
							return stream.Close()
						}
						if err != nil || string(row[0]) != fmt.Sprint(n) || string(row[0]) != string(row[1]) {
							return errors.Join(fmt.Errorf("row %d is %q", n, row), err)
						}
					}
				}()
			}()
		}
		for range 4 {
			require.NoError(t, <-results)
		}
	})
}

func TestAMissingPrivilegeIsNamed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		user := "reader_" + s.database
		s.exec(t, "CREATE TABLE open (a int)", "CREATE TABLE closed (a int)", "CREATE TABLE half (a int, secret int)",
			"CREATE USER "+user+" IDENTIFIED BY 'p'", "GRANT SELECT ON open TO "+user, "GRANT SELECT (a) ON half TO "+user, "GRANT INSERT ON closed TO "+user)
		t.Cleanup(func() { require.NoError(t, s.box.Exec(context.Background(), "", "DROP USER "+user)) })
		reader := New(s.pool(t, user, "p"))
		require.NoError(t, reader.CheckRead(t.Context(), []engine.Name{s.name("open")}))
		err := reader.CheckRead(t.Context(), []engine.Name{s.name("open"), s.name("closed"), s.name("half")})
		require.ErrorContains(t, err, fmt.Sprintf("may not read %s.closed, %s.half: run GRANT SELECT ON `%s`.`closed` TO '%s'@'%%';", s.database, s.database, s.database, user))
		require.Equal(t, task.Config, fault.Of(err).Class)

		require.NoError(t, s.CheckRead(t.Context(), []engine.Name{s.name("open"), s.name("closed"), s.name("half")}))
		err = s.CheckRead(t.Context(), []engine.Name{s.name("nowhere")})
		require.ErrorIs(t, err, engine.ErrNoTable)
		require.ErrorContains(t, err, "nowhere")
	})
}

// cpu is the processor time that this process has used, in seconds.
func cpu() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(syscall.TimevalToNsec(u.Utime) + syscall.TimevalToNsec(u.Stime)).Seconds()
}

// BenchmarkStream reads a table of rows of 200 bytes as a copy does, and as the
// server's own client does to throw them away.
func BenchmarkStream(b *testing.B) {
	for _, kind := range []sandbox.Kind{sandbox.MariaDB, sandbox.MySQL} {
		s := start(b, kind)
		s.exec(b, `CREATE TABLE orders (id bigint unsigned PRIMARY KEY, customer_id int NOT NULL, status enum('new','paid','sent') NOT NULL, total decimal(12,2) NOT NULL,
				qty int NOT NULL, email varchar(100) NOT NULL, note varchar(200), created_at datetime(6) NOT NULL, updated_at timestamp NULL, flag tinyint(1) NOT NULL, weight double)`,
			"INSERT INTO orders WITH RECURSIVE s AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 999) SELECT n, n * 7919 % 1000, 1 + n % 3, n / 7, n % 10, "+
				"CONCAT('customer', n, '@example.com'), RPAD(CONCAT('note 订单 ', n), 95, 'lorem ipsum '), '2020-01-01' + INTERVAL n * 37 MICROSECOND, IF(n % 5 = 0, NULL, '2021-01-01'), n % 2, n / 3.7e0 FROM s",
			"INSERT INTO orders SELECT a.id * 1000 + b.id + 1000, b.customer_id, b.status, b.total, b.qty, b.email, b.note, b.created_at, b.updated_at, b.flag, b.weight FROM orders a, orders b",
			"ANALYZE TABLE orders")
		table, err := s.Table(b.Context(), s.name("orders"))
		require.NoError(b, err)
		s.settings = []func(*mysql.Config){compressed}
		indirect := New(s.pool(b, s.box.User(), s.box.Password()))
		b.Run(string(kind)+"/direct", func(b *testing.B) { benchmarkStream(b, s.Server, table) })
		b.Run(string(kind)+"/compressed", func(b *testing.B) { benchmarkStream(b, indirect, table) })
		b.Run(string(kind)+"/client", func(b *testing.B) {
			for range b.N {
				require.NoError(b, s.box.Client("--quick", "-B", s.database, "-e", "SELECT * FROM orders").Run())
			}
		})
	}
}

func benchmarkStream(b *testing.B, s *Server, table *engine.Table) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	used, rows, size := cpu(), 0, 0
	for range b.N {
		stream, err := s.Stream(b.Context(), engine.Select{Table: table, Exprs: columns(table)})
		require.NoError(b, err)
		for {
			row, err := stream.Next()
			if err == io.EOF {
				break
			}
			require.NoError(b, err)
			rows++
			for _, value := range row {
				size += len(value)
			}
		}
		require.NoError(b, stream.Close())
	}
	runtime.ReadMemStats(&after)
	seconds := b.Elapsed().Seconds()
	b.ReportMetric(float64(rows)/seconds, "rows/s")
	b.ReportMetric(float64(size)/seconds/1e6, "MB/s")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(rows), "allocs/row")
	b.ReportMetric((cpu()-used)*1e6/float64(rows), "cpu-s/Mrows")
}

var _ engine.Stream = (*mysqlwire.Rows)(nil)

func TestLiteralsMeanTheSameUnderEverySQLMode(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		for _, mode := range []string{"", "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "PIPES_AS_CONCAT,ANSI"} {
			_, err := s.db.ExecContext(t.Context(), "SET GLOBAL sql_mode = ''")
			require.NoError(t, err)
			s.settings = []func(*mysql.Config){func(c *mysql.Config) { c.Params["sql_mode"] = "'" + mode + "'" }}
			db := s.pool(t, s.box.User(), s.box.Password())
			for _, text := range []string{"", "it's", `a\b`, `\`, `\'`, "''", "nul\x00", "\x1a", "文😀", "new\nline", `"`, "`", "%_", strings.Repeat(`'\`, 50)} {
				var got string
				require.NoError(t, db.QueryRowContext(t.Context(), "SELECT "+quoteText(text)).Scan(&got))
				require.Equal(t, text, got, mode)
				require.NoError(t, db.QueryRowContext(t.Context(), "SELECT "+quoteBytes(text)).Scan(&got))
				require.Equal(t, text, got, mode)
				require.NoError(t, db.QueryRowContext(t.Context(), "SELECT 1 AS "+Quote("a`b")).Scan(&got))
			}
		}
	})
}
