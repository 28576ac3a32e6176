package ledger_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/connection"
	"godwit/internal/engine"
	"godwit/internal/engine/mysql"
	"godwit/internal/engine/postgres"
	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
)

// server is a database with room for a ledger, reached as the worker does.
type server struct {
	engine.DB
	box     *sandbox.Server
	user    *url.Userinfo // nil for the superuser
	acquire func(t *testing.T) conn
}

// conn is a session of its own.
type conn struct {
	session string
	begin   func(context.Context) (engine.Tx, error)
}

func start(t *testing.T, kind sandbox.Kind) *server {
	t.Helper()
	box := &server{box: sandboxtest.Start(t, kind, sandbox.Options{Databases: []string{"ledger", "other"}})}
	return box.connect(t, "ledger")
}

// connect reaches a database of the same server.
func (s *server) connect(t *testing.T, database string) *server {
	t.Helper()
	box := s.box
	address, err := url.Parse(box.URL(database))
	require.NoError(t, err)
	if s.user != nil {
		address.User = s.user
	}
	registry, err := connection.Load("", []string{"GODWIT_CONNECTION_TEST=" + address.String()})
	require.NoError(t, err)
	t.Cleanup(registry.Close)
	named, err := registry.Get("test")
	require.NoError(t, err)
	if box.Kind == sandbox.Postgres {
		return onPostgres(t, box, named)
	}
	pool, err := named.MySQL(t.Context())
	require.NoError(t, err)
	db := mysql.New(pool)
	return &server{DB: db, box: box, acquire: func(t *testing.T) conn {
		c, err := db.Acquire(t.Context())
		require.NoError(t, err)
		t.Cleanup(c.Destroy)
		return conn{c.Session(), func(ctx context.Context) (engine.Tx, error) { return c.Begin(ctx) }}
	}}
}

func onPostgres(t *testing.T, box *sandbox.Server, named *connection.Connection) *server {
	pool, err := named.Postgres(t.Context())
	require.NoError(t, err)
	db := postgres.New(pool)
	return &server{DB: db, box: box, acquire: func(t *testing.T) conn {
		c, err := db.Acquire(t.Context())
		require.NoError(t, err)
		t.Cleanup(c.Destroy)
		return conn{c.Session(), func(ctx context.Context) (engine.Tx, error) { return c.Begin(ctx) }}
	}}
}

// table is the name of one of the ledger's tables.
func (s *server) table(name string) string {
	if s.Dialect() == engine.PostgresDialect {
		return "godwit." + name
	}
	return "_godwit_" + name
}

// running are the statements that wait for a lock, or on MySQL all that run.
func (s *server) running(t *testing.T) string {
	t.Helper()
	query := "select query from pg_stat_activity where wait_event_type = 'Lock'"
	if s.Dialect() == engine.MySQLDialect {
		query = "select coalesce(info, '') from information_schema.processlist where id <> connection_id()"
	}
	return strings.Join(s.list(t, query), "\n")
}

// list reads one column.
func (s *server) list(t *testing.T, query string) []string {
	t.Helper()
	rows, err := s.Query(t.Context(), query)
	require.NoError(t, err, query)
	defer rows.Close() //nolint:errcheck // Err tells
	var values []string
	for rows.Next() {
		var value string
		require.NoError(t, rows.Scan(&value))
		values = append(values, value)
	}
	require.NoError(t, rows.Err())
	return values
}

func (s *server) run(t *testing.T, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := s.Exec(t.Context(), statement)
		require.NoError(t, err, fmt.Sprintf("%.100s", statement))
	}
}
