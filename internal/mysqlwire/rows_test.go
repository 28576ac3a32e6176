package mysqlwire

import (
	"bytes"
	"context"
	"crypto/tls"
	"database/sql"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
)

func TestValuesComeAsTheServerWritesThem(t *testing.T) {
	onBoth(t, func(t *testing.T, s *sandbox.Server) {
		db := open(t, s)
		rows, err := query(t, db, `SELECT 42, 18446744073709551615, 1.50, 1e300, -0.0e0, 'text 文 😀', '', NULL, X'00ff',
			CAST('2024-02-29 12:34:56.000001' AS DATETIME(6)), CAST('-838:59:59' AS TIME), REPEAT('x', 250), REPEAT('y', 251), REPEAT('z', 70000), NULL`)
		require.NoError(t, err)
		got, err := read(rows)
		require.NoError(t, err)
		require.Equal(t, [][]string{{"42", "18446744073709551615", "1.50", "1e300", got[0][4], "text 文 😀", "", "NULL", "\x00\xff",
			"2024-02-29 12:34:56.000001", "-838:59:59", strings.Repeat("x", 250), strings.Repeat("y", 251), strings.Repeat("z", 70000), "NULL"}}, got)
		require.Contains(t, []string{"0", "-0"}, got[0][4])
	})
}

func TestRowsOfAnySizeAreReadWhole(t *testing.T) {
	onBoth(t, func(t *testing.T, s *sandbox.Server) {
		// The first value decides how a row begins; 16 MiB is where packets are cut.
		for _, size := range []int{1, bufferSize - 5, bufferSize, maxPayload - 6, maxPayload - 5, maxPayload, 2*maxPayload + 7} {
			conn, err := open(t, s).Conn(t.Context())
			require.NoError(t, err)
			_, err = conn.ExecContext(t.Context(), "CREATE TEMPORARY TABLE big (n int, b longblob)")
			require.NoError(t, err)
			_, err = conn.ExecContext(t.Context(), "INSERT INTO big VALUES (1, REPEAT('a', ?)), (2, 'short'), (3, REPEAT('b', ?))", size, size)
			require.NoError(t, err)
			rows, err := Query(t.Context(), conn, "SELECT b, n FROM big ORDER BY n")
			require.NoError(t, err)
			for i, want := range [][]byte{bytes.Repeat([]byte("a"), size), []byte("short"), bytes.Repeat([]byte("b"), size)} {
				row, err := rows.Next()
				require.NoError(t, err)
				require.True(t, bytes.Equal(want, row[0]), "%d bytes: row %d has %d bytes", size, i, len(row[0]))
				require.Equal(t, string(rune('1'+i)), string(row[1]))
			}
			_, err = rows.Next()
			require.Equal(t, io.EOF, err)
			require.NoError(t, rows.Close())
		}
	})
}

func TestAResultThatWasReadToItsEndLeavesTheConnectionUsable(t *testing.T) {
	onBoth(t, func(t *testing.T, s *sandbox.Server) {
		db := open(t, s)
		db.SetMaxOpenConns(1)
		before := sessionID(t, db)
		for range 3 {
			rows, err := query(t, db, "SELECT 1 UNION SELECT 2 UNION SELECT 3")
			require.NoError(t, err)
			got, err := read(rows)
			require.NoError(t, err)
			require.Len(t, got, 3)
			_, err = rows.Next()
			require.Equal(t, io.EOF, err)
			require.Equal(t, before, sessionID(t, db))
		}
		rows, err := query(t, db, "SELECT 1 FROM DUAL WHERE FALSE")
		require.NoError(t, err)
		got, err := read(rows)
		require.NoError(t, err)
		require.Empty(t, got)
		require.Equal(t, before, sessionID(t, db))
	})
}

func TestAResultThatIsLeftEarlyGivesTheConnectionUp(t *testing.T) {
	onBoth(t, func(t *testing.T, s *sandbox.Server) {
		db := open(t, s)
		db.SetMaxOpenConns(1)
		before := sessionID(t, db)
		rows, err := query(t, db, "SELECT 1 UNION SELECT 2")
		require.NoError(t, err)
		_, err = rows.Next()
		require.NoError(t, err)
		require.NoError(t, rows.Close())
		require.NoError(t, rows.Close())
		_, err = rows.Next()
		require.Error(t, err)
		require.NotEqual(t, io.EOF, err)
		require.NotEqual(t, before, sessionID(t, db))
	})
}

// manyRows is a result that no buffer of a socket holds.
const manyRows = "SELECT REPEAT('x', 1000) FROM information_schema.COLLATIONS a, information_schema.COLLATIONS b LIMIT 50000"

func TestAKilledSessionIsAnErrorAndNotTheEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, s *sandbox.Server) {
		for _, kill := range []string{"KILL ?", "KILL QUERY ?"} {
			db := open(t, s)
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			var id int64
			require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id))
			rows, err := Query(t.Context(), conn, manyRows)
			require.NoError(t, err)
			_, err = rows.Next()
			require.NoError(t, err)
			killer := open(t, s, func(c *mysql.Config) { c.InterpolateParams = true })
			_, err = killer.ExecContext(t.Context(), kill, id)
			require.NoError(t, err)
			got, err := read(rows)
			require.Error(t, err, "%s, after %d rows", kill, len(got))
			require.NotErrorIs(t, err, io.EOF)
			require.Less(t, len(got), 50000)
		}
	})
}

func TestTheServersErrorsAreTheDriversErrors(t *testing.T) {
	onBoth(t, func(t *testing.T, s *sandbox.Server) {
		_, err := query(t, open(t, s), "SELECT * FROM nowhere")
		var server *mysql.MySQLError
		require.ErrorAs(t, err, &server)
		require.Equal(t, uint16(1146), server.Number)
		require.Equal(t, "42S02", string(server.SQLState[:]))
		require.Contains(t, server.Message, "nowhere")
	})
}

func TestAnErrorAmongTheRowsIsReported(t *testing.T) {
	onBoth(t, func(t *testing.T, s *sandbox.Server) {
		rows, err := query(t, open(t, s), "SELECT IF(n = 2, (SELECT 1 UNION SELECT n), n) FROM (SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3) AS x")
		if err == nil {
			_, err = read(rows)
		}
		var server *mysql.MySQLError
		require.ErrorAs(t, err, &server)
		require.Equal(t, uint16(1242), server.Number)
	})
}

func TestAStatementWithoutAResultIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, s *sandbox.Server) {
		db := open(t, s)
		_, err := query(t, db, "SET @x = 1")
		require.ErrorContains(t, err, "has no result")
		require.NoError(t, db.PingContext(t.Context()))
	})
}

func TestTheEndOfTheContextEndsTheResult(t *testing.T) {
	onBoth(t, func(t *testing.T, s *sandbox.Server) {
		db := open(t, s)
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		began := time.Now()
		rows, err := Query(ctx, conn, "SELECT SLEEP(60)")
		if err == nil { // the server may send the columns before the row
			_, err = read(rows)
		}
		require.ErrorIs(t, err, context.Canceled)
		require.Less(t, time.Since(began), 10*time.Second)
		require.NoError(t, db.PingContext(t.Context()))

		ctx, cancel = context.WithCancel(t.Context())
		conn, err = db.Conn(t.Context())
		require.NoError(t, err)
		rows, err = Query(ctx, conn, manyRows)
		require.NoError(t, err)
		cancel()
		_, err = read(rows)
		require.ErrorIs(t, err, context.Canceled)

		conn, err = db.Conn(t.Context())
		require.NoError(t, err)
		_, err = Query(ctx, conn, "SELECT 1")
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestAReadTimeoutIsKept(t *testing.T) {
	onBoth(t, func(t *testing.T, s *sandbox.Server) {
		db := open(t, s, func(c *mysql.Config) { c.ReadTimeout = 300 * time.Millisecond })
		_, err := query(t, db, "SELECT SLEEP(60)")
		require.ErrorIs(t, err, mysql.ErrInvalidConn)
		rows, err := query(t, db, "SELECT 1")
		require.NoError(t, err)
		_, err = read(rows)
		require.NoError(t, err)
		time.Sleep(400 * time.Millisecond)
		require.NoError(t, db.PingContext(t.Context()), "no deadline of the last result is left")
	})
}

func TestAnEncryptedConnectionIsNotReadDirectly(t *testing.T) {
	s := server(t, sandbox.MySQL)
	db := open(t, s, func(c *mysql.Config) { c.TLS = &tls.Config{InsecureSkipVerify: true} })
	_, err := query(t, db, "SELECT 1")
	require.ErrorIs(t, err, ErrIndirect)
	var name, cipher string
	require.NoError(t, db.QueryRowContext(t.Context(), "SHOW STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher))
	require.NotEmpty(t, cipher)
}

func TestAConnectionThatFellBackToPlainTextIsReadDirectly(t *testing.T) {
	s := server(t, sandbox.MariaDB) // without a certificate
	db := open(t, s, func(c *mysql.Config) {
		c.TLS, c.AllowFallbackToPlaintext = &tls.Config{InsecureSkipVerify: true}, true
	})
	rows, err := query(t, db, "SELECT 1")
	require.NoError(t, err)
	_, err = read(rows)
	require.NoError(t, err)
}

func TestACompressedConnectionIsNotReadDirectly(t *testing.T) {
	onBoth(t, func(t *testing.T, s *sandbox.Server) {
		db := open(t, s, func(c *mysql.Config) { require.NoError(t, c.Apply(mysql.EnableCompression(true))) })
		_, err := query(t, db, "SELECT 1")
		require.ErrorIs(t, err, ErrIndirect)
		require.NoError(t, db.PingContext(t.Context()))
	})
}

func TestAPoolOfTheDriverAloneIsNotReadDirectly(t *testing.T) {
	s := server(t, sandbox.MariaDB)
	config := mysql.NewConfig()
	config.Net, config.Addr, config.User, config.Passwd = "tcp", s.Addr(), s.User(), s.Password()
	connector, err := mysql.NewConnector(config)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	defer db.Close()
	_, err = query(t, db, "SELECT 1")
	require.ErrorIs(t, err, ErrIndirect)
}
