package postgres

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/connection"
	"godwit/internal/engine"
	"godwit/internal/sandbox"
)

var (
	box       *sandbox.Server
	databases atomic.Int64
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	if box, err = sandbox.Start(ctx, sandbox.Postgres, sandbox.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer box.Stop()
	return m.Run()
}

// newDatabase makes an empty database of its own for a test.
func newDatabase(t testing.TB) string {
	database := fmt.Sprintf("test_%d", databases.Add(1))
	require.NoError(t, box.Exec(t.Context(), "", "CREATE DATABASE "+database))
	return database
}

// open connects to a new database, where it has run the statements.
func open(t testing.TB, statements ...string) *Server {
	s := connect(t, newDatabase(t), "")
	execute(t, s, statements...)
	return s
}

// connect opens a pool as the worker does, as the superuser or another user,
// who then has the password "secret".
func connect(t testing.TB, database, user string) *Server {
	address := box.URL(database)
	if user != "" {
		u, err := url.Parse(address)
		require.NoError(t, err)
		u.User = url.UserPassword(user, "secret")
		address = u.String()
	}
	registry, err := connection.Load("", []string{"GODWIT_CONNECTION_TEST=" + address})
	require.NoError(t, err)
	named, err := registry.Get("test")
	require.NoError(t, err)
	pool, err := named.Postgres(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		closed := make(chan struct{})
		go func() { defer close(closed); registry.Close() }() // waits for connections in use, which a failed test may leave
		select {
		case <-closed:
		case <-time.After(5 * time.Second):
			t.Errorf("%d connections were not given back", pool.Stat().AcquiredConns())
		}
	})
	return New(pool)
}

// newRole makes a role for a test that may log in.
func newRole(t testing.TB, attributes string) string {
	role := fmt.Sprintf("role_%d", databases.Add(1))
	require.NoError(t, box.Exec(t.Context(), "", "CREATE ROLE "+role+" LOGIN PASSWORD 'secret' "+attributes))
	return role
}

func execute(t testing.TB, s *Server, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := s.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

// value reads one value.
func value[T any](t testing.TB, s *Server, query string, args ...any) T {
	t.Helper()
	var v T
	require.NoError(t, s.on.QueryRow(t.Context(), query, args...).Scan(&v), query)
	return v
}

func table(t testing.TB, s *Server, name string) *engine.Table {
	t.Helper()
	described, err := s.Table(t.Context(), engine.ParseName(name))
	require.NoError(t, err)
	return described
}

// load writes rows into a table in a transaction of its own.
func load(t testing.TB, s *Server, name string, columns []string, rows string) (int64, error) {
	t.Helper()
	tx, err := s.begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	n, err := tx.Load(t.Context(), engine.ParseName(name), columns, strings.NewReader(rows))
	if err != nil {
		return n, err
	}
	return n, tx.Commit(t.Context())
}

// requireAllGivenBack waits until no connection is in use: the pool closes
// broken ones in the background.
func requireAllGivenBack(t testing.TB, s *Server) {
	t.Helper()
	require.Eventually(t, func() bool { return s.pool.Stat().AcquiredConns() == 0 }, 30*time.Second, time.Millisecond)
}
