package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/mysqlwire"
	"godwit/internal/task"
)

// endTimeout bounds how long ending something (a rollback, an unlock, a
// session) may take after its context is done.
const endTimeout = 5 * time.Second

var _ engine.DB = (*Server)(nil)

// Exec runs a statement in a transaction of its own and returns the number of
// rows that it found, also of those that were already as it makes them: the
// pool is set up so.
func (s *Server) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	n, err := execute(ctx, s.db, query, args)
	if isDenied(err) {
		s.renew()
	}
	return n, err
}

// Query runs a query. Its connection is in use until the rows are read or closed.
func (s *Server) Query(ctx context.Context, query string, args ...any) (engine.Rows, error) {
	r, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		if isDenied(err) {
			s.renew()
		}
		return nil, err
	}
	return &rows{Rows: r}, nil
}

// renew makes the pool use none of its sessions again. A session goes by the
// privileges on databases as they were when it began, so one that is refused
// something will not hear of the grant by which that is mended.
func (s *Server) renew() { mysqlwire.Renew(s.db) }

// Dialect is that of MySQL and MariaDB.
func (s *Server) Dialect() engine.Dialect { return engine.MySQLDialect }

// executor is what a pool and one of its connections have in common.
type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func execute(ctx context.Context, on executor, query string, args []any) (int64, error) {
	result, err := on.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// session is one connection of the pool, which does one thing at a time.
type session struct {
	conn *sql.Conn
	rows *rows // of the last query, and perhaps still open
}

// Exec runs a statement and returns the number of rows that it found.
func (s *session) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return execute(ctx, s.conn, query, args)
}

// Query runs a query, whose rows have to be read or closed before the next statement.
func (s *session) Query(ctx context.Context, query string, args ...any) (engine.Rows, error) {
	return s.query(ctx, query, args, nil)
}

func (s *session) query(ctx context.Context, query string, args []any, failed func(error)) (engine.Rows, error) {
	ctx, cancel := context.WithCancel(ctx)
	r, err := s.conn.QueryContext(ctx, query, args...)
	if err != nil {
		cancel()
		return nil, err
	}
	s.rows = &rows{Rows: r, cancel: cancel, failed: failed}
	return s.rows, nil
}

// Dialect is that of MySQL and MariaDB.
func (s *session) Dialect() engine.Dialect { return engine.MySQLDialect }

// settle closes what a query has left open; what is not read of it is given up
// together with the connection, because it may be any amount.
func (s *session) settle() {
	if s.rows != nil {
		s.rows.abandon()
		s.rows = nil
	}
}

// sound reports whether the connection can go on: a statement whose context
// ended has closed it, and so has a lost server.
func (s *session) sound() bool {
	valid := false
	err := s.conn.Raw(func(c any) error {
		v, ok := c.(driver.Validator)
		valid = !ok || v.IsValid()
		return nil
	})
	return err == nil && valid
}

// giveBack hands the connection back to the pool, which takes none that is broken.
func (s *session) giveBack() {
	s.settle()
	_ = s.conn.Close() // says only that it is closed already
}

// cut makes the pool close the connection, whatever it is doing.
func (s *session) cut() {
	s.settle()
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
}

// Conn is one server session, held by a shard for as long as it works.
type Conn struct {
	session
	server   *Server
	name     string
	lock     string // see sessionLock
	tx       *Tx    // the last one
	returned bool
}

// Acquire takes a session for the caller alone, and a name for it that ends
// with Release.
func (s *Server) Acquire(ctx context.Context) (*Conn, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	token := rand.Text()
	c := &Conn{session: session{conn: conn}, server: s, lock: sessionLock + token}
	var id uint64
	var taken sql.NullInt64
	err = conn.QueryRowContext(ctx, "SELECT CONNECTION_ID(), GET_LOCK(?, 0)", c.lock).Scan(&id, &taken)
	if err == nil && taken.Int64 != 1 {
		err = fault.New(task.Transient, "the server gives session %d no lock to be known by", id)
	}
	if err != nil {
		c.cut() // it may have the lock
		return nil, err
	}
	c.name = sessionName(id, token)
	return c, nil
}

// Session names the session, for KillSession.
func (c *Conn) Session() string { return c.name }

// Begin starts a transaction, with the isolation of the pool's sessions: READ COMMITTED.
func (c *Conn) Begin(ctx context.Context) (*Tx, error) {
	tx, err := c.server.begin(ctx, &c.session, c.forsake)
	if err != nil {
		return nil, err
	}
	c.tx = tx
	return tx, nil
}

// forsake ends a session at the server that is broken here. The server does not
// look whether its client is still there while it runs a statement, and would
// keep the locks until the statement is done.
func (c *Conn) forsake() {
	if c.sound() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	_ = c.server.KillSession(ctx, c.name) // whoever needs its end tries again
}

// Release gives the session back. One that is broken or still in a
// transaction is closed instead.
func (c *Conn) Release() {
	if c.returned {
		return
	}
	c.settle()
	if c.tx != nil && !c.tx.over || !c.unlock() {
		c.Destroy()
		return
	}
	c.returned = true
	c.giveBack()
}

// unlock gives the session's name up.
func (c *Conn) unlock() bool {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	var released sql.NullInt64
	err := c.conn.QueryRowContext(ctx, "SELECT RELEASE_LOCK(?)", c.lock).Scan(&released)
	return err == nil && released.Int64 == 1
}

// Destroy closes the session, whatever it is doing.
func (c *Conn) Destroy() {
	if c.returned {
		return
	}
	c.returned = true
	c.settle()
	c.forsake()
	c.cut()
}
