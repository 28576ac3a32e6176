package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"godwit/internal/engine"
)

// endTimeout bounds how long ending something (a rollback, an unlock, a
// connection) may take after its context is done.
const endTimeout = 5 * time.Second

// Server is a PostgreSQL database. It is safe for concurrent use.
type Server struct {
	statements
	pool *pgxpool.Pool
	// lockWaits are the lock timeouts of the tries of a statement that needs a
	// table's lock, one after the other.
	lockWaits []time.Duration
	// lockOrders are the orders in which the locks of a swap are taken, by table.
	lockOrders sync.Map
}

var _ engine.DB = (*Server)(nil)

// New makes a Server of a pool, which stays the caller's to close.
func New(pool *pgxpool.Pool) *Server {
	return &Server{statements: statements{pool}, pool: pool, lockWaits: defaultLockWaits}
}

// executor is what a pool, a connection and a transaction have in common.
type executor interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// statements makes an engine.Querier of an executor.
type statements struct{ on executor }

// Exec runs a statement, or several when there are no arguments, and returns
// the number of rows that the last one changed.
func (s statements) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := s.on.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

// Query runs a query. Outside of a transaction its connection is in use until
// the rows are read or closed.
func (s statements) Query(ctx context.Context, query string, args ...any) (engine.Rows, error) {
	r, err := s.on.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return rows{r}, nil
}

// Dialect is that of PostgreSQL.
func (s statements) Dialect() engine.Dialect { return engine.PostgresDialect }

func noRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// rows makes engine.Rows of pgx's.
type rows struct{ pgx.Rows }

func (r rows) Close() error {
	r.Rows.Close()
	return r.Err()
}

// Conn is one server session, held by a shard for as long as it works.
type Conn struct {
	statements
	conn    *pgxpool.Conn
	session string
}

// Acquire takes a session for the caller alone. Where the user may, messages
// of the server are asked for in English, because Describe reads them.
func (s *Server) Acquire(ctx context.Context) (*Conn, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	c := &Conn{statements: statements{conn}, conn: conn}
	err = conn.QueryRow(ctx, `SELECT `+sessionID+`, set_config('default_transaction_isolation', 'read committed', false),
		CASE WHEN (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN set_config('lc_messages', 'C', false) END
		FROM pg_stat_activity a WHERE a.pid = pg_backend_pid()`).Scan(&c.session, nil, nil)
	if err != nil {
		c.Destroy()
		return nil, err
	}
	return c, nil
}

// Session names the session, for KillSession.
func (c *Conn) Session() string { return c.session }

// Begin starts a transaction, READ COMMITTED whatever the database's default,
// unless the session has been made steady.
func (c *Conn) Begin(ctx context.Context) (*Tx, error) { return begin(ctx, c.conn, "", func() {}) }

// Release gives the session back. One that is broken or still in a
// transaction is closed instead.
func (c *Conn) Release() { c.conn.Release() }

// Destroy closes the session, whatever it is doing.
func (c *Conn) Destroy() { destroy(c.conn) }

func destroy(conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	_ = conn.Conn().Close(ctx) // closed in any case, the error is about the farewell
	conn.Release()
}

// Begin starts a transaction on a session of its own, READ COMMITTED whatever
// the database's default.
func (s *Server) Begin(ctx context.Context) (engine.Tx, error) { return s.begin(ctx) }

func (s *Server) begin(ctx context.Context) (*Tx, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := begin(ctx, conn, pgx.ReadCommitted, conn.Release)
	if err != nil {
		conn.Release()
		return nil, err
	}
	return tx, nil
}

// Tx is a transaction.
type Tx struct {
	statements
	tx      pgx.Tx
	release func() // the session, when it is the transaction's own
}

var _ engine.Tx = (*Tx)(nil)

func begin(ctx context.Context, conn *pgxpool.Conn, level pgx.TxIsoLevel, release func()) (*Tx, error) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
	if err != nil {
		return nil, err
	}
	return &Tx{statements: statements{tx}, tx: tx, release: release}, nil
}

// Commit commits. When it fails because the connection was lost, the outcome
// is unknown.
func (t *Tx) Commit(ctx context.Context) error {
	err := t.tx.Commit(ctx)
	if !errors.Is(err, pgx.ErrTxClosed) {
		t.release()
	}
	return err
}

// Rollback undoes the transaction, also when the context is done. It does
// nothing after Commit or another Rollback.
func (t *Tx) Rollback(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	err := t.tx.Rollback(ctx)
	if errors.Is(err, pgx.ErrTxClosed) {
		return nil
	}
	// A rollback that fails has closed the connection, and without its client
	// the server can only roll back: there is nothing for a caller to do.
	t.release()
	return nil
}
