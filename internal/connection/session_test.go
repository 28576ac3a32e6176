package connection

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/mysqlwire"
	"godwit/internal/sandbox"
)

func mysqlPool(t testing.TB, kind sandbox.Kind) *sql.DB {
	t.Helper()
	pool, err := connect(t, server(t, kind).URL("shop")).MySQL(t.Context())
	require.NoError(t, err)
	return pool
}

func mysqlValue(t testing.TB, on interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, query string, args ...any) string {
	t.Helper()
	var value string
	require.NoError(t, on.QueryRowContext(t.Context(), query, args...).Scan(&value), query)
	return value
}

func TestEveryMySQLSessionIsSetUpWhateverTheServerSays(t *testing.T) {
	for _, kind := range mysqlFamily {
		t.Run(string(kind), func(t *testing.T) {
			pool := mysqlPool(t, kind)
			isolation, limit := "transaction_isolation", "max_execution_time"
			if kind == sandbox.MariaDB {
				isolation, limit = "tx_isolation", "max_statement_time"
			}
			// Two at once, so that they are not the same session.
			for range 2 {
				session, err := pool.Conn(t.Context())
				require.NoError(t, err)
				defer session.Close()
				for name, want := range map[string]string{
					"time_zone": "+00:00", isolation: "READ-COMMITTED", "autocommit": "1", "innodb_lock_wait_timeout": "5",
					"lock_wait_timeout": "60", "wait_timeout": "3600", "net_read_timeout": "3600", "net_write_timeout": "3600",
					"character_set_client": "utf8mb4", "character_set_results": "utf8mb4", "collation_connection": "utf8mb4_bin",
					"sql_mode":         "STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION",
					"sql_select_limit": "18446744073709551615", "group_concat_max_len": "1073741824",
				} {
					got := mysqlValue(t, session, "SELECT @@SESSION."+name)
					if name == "sql_mode" {
						require.ElementsMatch(t, strings.Split(want, ","), strings.Split(got, ","))
						continue
					}
					require.Equal(t, want, got, name)
				}
				require.Contains(t, []string{"0", "0.000000"}, mysqlValue(t, session, "SELECT @@SESSION."+limit))
			}
		})
	}
}

func TestMySQLValuesComeAndGoAsTheyAre(t *testing.T) {
	for _, kind := range mysqlFamily {
		t.Run(string(kind), func(t *testing.T) {
			pool, ctx := mysqlPool(t, kind), t.Context()
			run := func(statement string, args ...any) error {
				_, err := pool.ExecContext(ctx, statement, args...)
				return err
			}
			require.NoError(t, run("DROP TABLE IF EXISTS v"))
			require.NoError(t, run("CREATE TABLE v (id int AUTO_INCREMENT PRIMARY KEY, d date, ts timestamp NULL, c char(5), "+
				"t varchar(20) CHARACTER SET utf8mb4, n tinyint)"))
			require.NoError(t, run("INSERT INTO v VALUES (0, '0000-00-00', '2024-07-01 12:00:00', 'ab', ?, 1)", "鸟🐦'\\\""))
			require.Equal(t, "0|0000-00-00|2024-07-01 12:00:00|ab|鸟🐦'\\\"",
				mysqlValue(t, pool, "SELECT concat_ws('|', id, d, ts, c, t) FROM v WHERE d = '0000-00-00' AND t = ?", "鸟🐦'\\\""))
			require.NoError(t, run("INSERT INTO v (id, d) VALUES (7, '2024-00-10')"), "partial dates can be handled, too")
			require.ErrorContains(t, run("INSERT INTO v (n) VALUES (1000)"), "Out of range")
			require.ErrorContains(t, run("INSERT INTO v (c) VALUES ('too long')"), "Data too long")
			require.ErrorContains(t, run("SELECT 1; SELECT 2"), "syntax", "one statement at a time")
			require.NoError(t, run("DROP TABLE v"))
		})
	}
}

func TestAMySQLUpdateCountsTheRowsThatItFinds(t *testing.T) {
	for _, kind := range mysqlFamily {
		t.Run(string(kind), func(t *testing.T) {
			pool, ctx := mysqlPool(t, kind), t.Context()
			for _, step := range []struct {
				statement string
				found     int64
			}{
				{"CREATE TABLE found (a int)", 0},
				{"INSERT INTO found VALUES (1), (2), (3)", 3},
				{"UPDATE found SET a = 1", 3}, // one of them is so already
				{"UPDATE found SET a = 1", 3},
				{"UPDATE found SET a = 1 WHERE a = 7", 0},
				{"DROP TABLE found", 0},
			} {
				result, err := pool.ExecContext(ctx, step.statement)
				require.NoError(t, err)
				found, err := result.RowsAffected()
				require.NoError(t, err)
				require.Equal(t, step.found, found, step.statement)
			}
		})
	}
}

func TestAMySQLPoolCanBeReadDirectly(t *testing.T) {
	for _, kind := range mysqlFamily {
		session, err := mysqlPool(t, kind).Conn(t.Context())
		require.NoError(t, err)
		require.NoError(t, session.Raw(func(conn any) error {
			require.IsType(t, &mysqlwire.Conn{}, conn)
			return nil
		}))
		require.NoError(t, session.Close())
	}
}

func TestASessionThatCannotBeSetUpIsNotUsed(t *testing.T) {
	c := connect(t, server(t, sandbox.MariaDB).URL("shop"))
	config, err := c.mysqlConfig()
	require.NoError(t, err)
	inner, err := mysqlwire.NewConnector(config)
	require.NoError(t, err)
	var connector driver.Connector = &preparedConnector{Connector: inner, statements: []string{"SET no_such_variable = 1"}}
	_, err = connector.Connect(t.Context())
	require.ErrorContains(t, err, "no_such_variable")
}

func TestEveryPostgresSessionIsSetUpWhateverTheServerSays(t *testing.T) {
	pool, err := connect(t, server(t, sandbox.Postgres).URL("shop")).Postgres(t.Context())
	require.NoError(t, err)
	for range 2 {
		session, err := pool.Acquire(t.Context())
		require.NoError(t, err)
		defer session.Release()
		for name, want := range map[string]string{
			"TimeZone": "UTC", "DateStyle": "ISO, YMD", "IntervalStyle": "postgres", "extra_float_digits": "3", "bytea_output": "hex",
			"search_path": `""`, "client_encoding": "UTF8", "application_name": "godwit", "statement_timeout": "0", "lock_timeout": "10s",
			"idle_in_transaction_session_timeout": "1min", "row_security": "off", "default_transaction_isolation": "read committed",
			"tcp_keepalives_idle": "15", "tcp_user_timeout": "45000", "client_connection_check_interval": "10s", "idle_session_timeout": "0",
		} {
			var got string
			require.NoError(t, session.QueryRow(t.Context(), "SHOW "+name).Scan(&got))
			require.Equal(t, want, got, name)
		}
	}
	var text string
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT concat_ws('|', '2024-02-01'::date, '2024-07-01 12:00+00'::timestamptz,
		'-838:59:59.5'::interval, 0.1::float8 + 0.2::float8, '\x00ff'::bytea, '鸟🐦')`).Scan(&text))
	require.Equal(t, `2024-02-01|2024-07-01 12:00:00+00|-838:59:59.5|0.30000000000000004|\x00ff|鸟🐦`, text)
}

func TestThePGVariablesOfTheWorkerHaveNoPart(t *testing.T) {
	s := server(t, sandbox.Postgres)
	for name, value := range map[string]string{
		"PGHOST": "192.0.2.1", "PGPORT": "1", "PGUSER": "other", "PGPASSWORD": "other", "PGDATABASE": "other", "PGSSLMODE": "require",
		"PGAPPNAME": "other", "PGOPTIONS": "-c statement_timeout=1", "PGTARGETSESSIONATTRS": "standby", "PGSSLNEGOTIATION": "direct",
		"PGPASSFILE": "/not/there", "PGCONNECT_TIMEOUT": "1",
	} {
		t.Setenv(name, value)
	}
	require.NoError(t, open(t.Context(), connect(t, s.URL("shop"))))
	requireRefusal(t, urlOf(s, "godwit", "", "shop"), "config", "does not let user")
}

func TestAPoolIsOpenedOnceAndBounded(t *testing.T) {
	for _, kind := range sandbox.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			separator := "?"
			if kind == sandbox.Postgres {
				separator = "&"
			}
			c := connect(t, server(t, kind).URL("shop")+separator+"pool=3")
			pools := make(chan any, 8)
			for range cap(pools) {
				go func() {
					if kind == sandbox.Postgres {
						pool, _ := c.Postgres(t.Context())
						pools <- pool
						return
					}
					pool, _ := c.MySQL(t.Context())
					pools <- pool
				}()
			}
			first := <-pools
			require.NotNil(t, first)
			for range cap(pools) - 1 {
				require.Same(t, first, <-pools)
			}
			if kind == sandbox.Postgres {
				require.EqualValues(t, 3, c.postgres.Stat().MaxConns())
				return
			}
			require.Equal(t, 3, c.mysql.Stats().MaxOpenConnections)
		})
	}
}

func TestARotatedPasswordIsUsedByTheNextSession(t *testing.T) {
	for _, kind := range sandbox.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			s := server(t, kind)
			newUser(t, s, "rotated_user", "first")
			file := writeFile(t, "password", "first\n")
			c := get(t, load(t, fmt.Sprintf("shop: {url: '%s', password_file: %s}\n", withoutPassword(s, "rotated_user"), file)), "shop")
			require.NoError(t, open(t.Context(), c))
			require.NoError(t, os.WriteFile(file, []byte("second\r\n"), 0o600))
			alter := "ALTER ROLE rotated_user PASSWORD 'second'"
			if kind != sandbox.Postgres {
				alter = "ALTER USER rotated_user IDENTIFIED BY 'second'"
			}
			require.NoError(t, s.Exec(t.Context(), "", alter))
			if kind == sandbox.Postgres {
				c.postgres.Reset()
				require.NoError(t, c.postgres.Ping(t.Context()))
				return
			}
			busy, err := c.mysql.Conn(t.Context())
			require.NoError(t, err)
			defer busy.Close()
			require.NoError(t, c.mysql.Ping(), "a second session")
		})
	}
}

func withoutPassword(s *sandbox.Server, user string) string {
	scheme := "mysql"
	if s.Kind == sandbox.Postgres {
		scheme = "postgres"
	}
	return scheme + "://" + user + "@" + s.Addr() + "/shop"
}

func TestASessionThatTheServerEndedIsReplaced(t *testing.T) {
	for _, kind := range mysqlFamily {
		pool := mysqlPool(t, kind)
		id := mysqlValue(t, pool, "SELECT CONNECTION_ID()")
		require.NoError(t, server(t, kind).Exec(t.Context(), "", "KILL "+id))
		require.Eventually(t, func() bool {
			return pool.PingContext(t.Context()) == nil && mysqlValue(t, pool, "SELECT CONNECTION_ID()") != id
		}, 30*time.Second, 20*time.Millisecond)
	}
}
