package mysqlwire

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
)

// servers are started by the first test that needs them.
var servers = struct {
	sync.Mutex
	running map[sandbox.Kind]*sandbox.Server
}{running: map[sandbox.Kind]*sandbox.Server{}}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, server := range servers.running {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func server(t testing.TB, kind sandbox.Kind) *sandbox.Server {
	t.Helper()
	servers.Lock()
	defer servers.Unlock()
	if servers.running[kind] == nil {
		started, err := sandbox.Start(context.Background(), kind, sandbox.Options{
			Databases: []string{"wire"}, Settings: map[string]string{"max_allowed_packet": "64M"},
		})
		require.NoError(t, err, "a test needs a server")
		servers.running[kind] = started
	}
	return servers.running[kind]
}

// onBoth runs a test on MariaDB and on MySQL.
func onBoth(t *testing.T, test func(t *testing.T, s *sandbox.Server)) {
	for _, kind := range []sandbox.Kind{sandbox.MariaDB, sandbox.MySQL} {
		t.Run(string(kind), func(t *testing.T) { test(t, server(t, kind)) })
	}
}

// open makes a pool, with changes to the configuration.
func open(t testing.TB, s *sandbox.Server, changes ...func(*mysql.Config)) *sql.DB {
	t.Helper()
	config := mysql.NewConfig()
	config.Net, config.Addr, config.User, config.Passwd, config.DBName = "tcp", s.Addr(), s.User(), s.Password(), "wire"
	config.Logger = &mysql.NopLogger{}
	config.MaxAllowedPacket = 0
	for _, change := range changes {
		change(config)
	}
	connector, err := NewConnector(config)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func query(t testing.TB, db *sql.DB, text string) (*Rows, error) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	rows, err := Query(t.Context(), conn, text)
	if errors.Is(err, ErrIndirect) {
		require.NoError(t, conn.Close())
	}
	return rows, err
}

// read returns all rows as text, NULL as a word.
func read(rows *Rows) (result [][]string, err error) {
	for {
		row, err := rows.Next()
		if err == io.EOF {
			return result, rows.Close()
		}
		if err != nil {
			return result, errors.Join(err, rows.Close())
		}
		texts := make([]string, len(row))
		for i, value := range row {
			texts[i] = string(value)
			if value == nil {
				texts[i] = "NULL"
			}
		}
		result = append(result, texts)
	}
}

// sessionID returns the id of the session that a pool of one connection has.
func sessionID(t testing.TB, db *sql.DB) (id string) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id))
	return id
}
