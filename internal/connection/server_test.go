package connection

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
)

// servers are started when a test first needs them, and serve all tests.
var servers = struct {
	sync.Mutex
	running map[sandbox.Kind]*sandbox.Server
}{running: map[sandbox.Kind]*sandbox.Server{}}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, s := range servers.running {
		if err := s.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// server is a server with the database shop. Its settings are such that a
// session which is not set up would show it.
func server(t testing.TB, kind sandbox.Kind) *sandbox.Server {
	t.Helper()
	servers.Lock()
	defer servers.Unlock()
	if s := servers.running[kind]; s != nil {
		return s
	}
	settings := map[string]string{
		"default_time_zone": "+05:00", "sql_mode": "ANSI_QUOTES,NO_ZERO_DATE,NO_ZERO_IN_DATE,PAD_CHAR_TO_FULL_LENGTH",
		"transaction_isolation": "SERIALIZABLE", "character_set_server": "latin1", "autocommit": "OFF", "wait_timeout": "30",
	}
	if kind == sandbox.Postgres {
		settings = map[string]string{
			"timezone": "Asia/Shanghai", "datestyle": "German", "intervalstyle": "sql_standard", "extra_float_digits": "-10",
			"bytea_output": "escape", "statement_timeout": "60s", "default_transaction_isolation": "serializable",
		}
	}
	s, err := sandbox.Start(context.Background(), kind, sandbox.Options{Databases: []string{"shop"}, Settings: settings})
	require.NoError(t, err)
	servers.running[kind] = s
	return s
}

// mysqlFamily are the servers that a mysql:// URL leads to.
var mysqlFamily = []sandbox.Kind{sandbox.MariaDB, sandbox.MySQL}

// urlOf is the address of a server for another user, with whatever password.
func urlOf(s *sandbox.Server, user, password, database string) string {
	scheme := "mysql"
	if s.Kind == sandbox.Postgres {
		scheme = "postgres"
	}
	u := url.URL{Scheme: scheme, User: url.UserPassword(user, password), Host: s.Addr(), Path: "/" + database}
	return u.String()
}

// connect is the connection shop with this URL.
func connect(t testing.TB, url string) *Connection {
	t.Helper()
	return get(t, load(t, "", "GODWIT_CONNECTION_SHOP="+url), "shop")
}

// open opens whatever pool the connection has.
func open(ctx context.Context, c *Connection) error {
	if c.Engine == MySQLEngine {
		_, err := c.MySQL(ctx)
		return err
	}
	_, err := c.Postgres(ctx)
	return err
}

// newUser makes a user that may use the database shop.
func newUser(t testing.TB, s *sandbox.Server, name, password string) {
	t.Helper()
	quoted := "'" + strings.NewReplacer(`'`, `''`).Replace(password) + "'"
	statements := fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD %s", name, quoted)
	drop := "DROP ROLE IF EXISTS " + name
	if s.Kind != sandbox.Postgres {
		quoted = "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(password) + "'"
		statements = fmt.Sprintf("CREATE USER %[1]s IDENTIFIED BY %[2]s; GRANT SELECT ON shop.* TO %[1]s", name, quoted)
		drop = "DROP USER IF EXISTS " + name
	}
	require.NoError(t, s.Exec(t.Context(), "", drop))
	require.NoError(t, s.Exec(t.Context(), "", statements))
}
