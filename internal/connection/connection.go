package connection

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// The engines of connections. MariaDB is spoken to as MySQL.
const (
	MySQLEngine    = "mysql"
	PostgresEngine = "postgres"
)

// openLimit bounds the making of one session: reaching the server, logging in
// and setting it up.
const openLimit = 10 * time.Second

// maxIdle is how long a session that nobody uses is kept. It is short, so that
// the sessions at a server follow what runs there, whichever worker does it.
const maxIdle = 15 * time.Second

// Connection is a named database and the way into it. It is safe for use by
// many goroutines.
type Connection struct {
	Name   string `json:"name"`
	Engine string `json:"engine"` // mysql or postgres
	Pool   int    `json:"pool"`   // sessions at once
	// Limits are what may run on it at once, over all workers.
	Limits task.Limits `json:"limits"`

	address  address
	tls      tlsSettings
	password password
	origin   string

	// opening has room for the one goroutine that opens, or closes, the pool.
	opening  chan struct{}
	closed   bool
	mysql    *sql.DB
	postgres *pgxpool.Pool
}

// password gives the password at the moment; a function, so that nothing that
// prints a struct prints a password.
type password func() (string, error)

// Host is the server's name or address, empty for one that is reached by a socket.
func (c *Connection) Host() string { return c.address.host }

// Port is the server's TCP port.
func (c *Connection) Port() int { return c.address.port }

// User is the database user.
func (c *Connection) User() string { return c.address.user }

// Database is the database that sessions begin in; on MySQL it may be empty.
func (c *Connection) Database() string { return c.address.database }

// Origin tells where the connection was defined, and whether that hides
// another definition.
func (c *Connection) Origin() string { return c.origin }

// String is host:port/database as user, for people.
func (c *Connection) String() string { return c.address.String() }

// GoString is the same for %#v.
func (c *Connection) GoString() string { return "connection " + c.Name + " to " + c.String() }

// LogValue is what logs show of a connection.
func (c *Connection) LogValue() slog.Value {
	return slog.GroupValue(slog.String("name", c.Name), slog.String("engine", c.Engine), slog.String("to", c.String()))
}

// MySQL is the pool of a MySQL or MariaDB connection. The first call that
// succeeds opens it; it stays open until the Registry is closed.
func (c *Connection) MySQL(ctx context.Context) (*sql.DB, error) {
	release, err := c.enter(ctx, MySQLEngine)
	if err != nil {
		return nil, err
	}
	defer release()
	if c.mysql == nil {
		pool, err := c.openMySQL(ctx)
		if err != nil {
			return nil, c.refusal(ctx, err)
		}
		c.mysql = pool
	}
	return c.mysql, nil
}

// Postgres is the pool of a PostgreSQL connection. The first call that succeeds
// opens it; it stays open until the Registry is closed.
func (c *Connection) Postgres(ctx context.Context) (*pgxpool.Pool, error) {
	release, err := c.enter(ctx, PostgresEngine)
	if err != nil {
		return nil, err
	}
	defer release()
	if c.postgres == nil {
		pool, err := c.openPostgres(ctx)
		if err != nil {
			return nil, c.refusal(ctx, err)
		}
		c.postgres = pool
	}
	return c.postgres, nil
}

// enter waits for its turn to look at the pool.
func (c *Connection) enter(ctx context.Context, engine string) (release func(), err error) {
	if c.Engine != engine {
		return nil, fault.New(task.Config, "connection %q is a %s connection, and a %s one is needed", c.Name, c.Engine, engine)
	}
	select {
	case c.opening <- struct{}{}:
	case <-ctx.Done():
		return nil, fault.New(task.Transient, "connection %q: %w", c.Name, context.Cause(ctx))
	}
	if c.closed {
		<-c.opening
		return nil, fault.New(task.Stopping, "connection %q is closed: the worker is stopping", c.Name)
	}
	return func() { <-c.opening }, nil
}

func (c *Connection) close() {
	c.opening <- struct{}{}
	defer func() { <-c.opening }()
	c.closed = true
	if c.mysql != nil {
		_ = c.mysql.Close() // says only that a session's end was not polite
	}
	if c.postgres != nil {
		c.postgres.Close()
	}
}
