package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"godwit/internal/engine"
)

// Tx is a transaction. As on PostgreSQL, a statement that fails ends it: after
// a deadlock, for one, the server has rolled it back and would run what follows
// outside of any transaction. From then on everything but Rollback returns
// that error.
type Tx struct {
	server  *Server
	session *session
	failure error
	over    bool
	ended   func() // gives the session back, when it is the transaction's own
}

var _ engine.Tx = (*Tx)(nil)

// Begin starts a transaction on a session of its own, with the isolation of
// the pool's sessions: READ COMMITTED.
func (s *Server) Begin(ctx context.Context) (engine.Tx, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	own := &session{conn: conn}
	tx, err := s.begin(ctx, own, own.giveBack)
	if err != nil {
		own.cut()
		return nil, err
	}
	return tx, nil
}

// idleLimit ends the transaction of a worker that is frozen, with its locks, also
// when there is no other worker to end its session.
const idleLimit = time.Minute

// The limit is one of the session, which may otherwise be idle for longer.
const (
	limitIdle   = "SET @godwit_wait_timeout = @@SESSION.wait_timeout, SESSION wait_timeout = "
	unlimitIdle = "SET SESSION wait_timeout = @godwit_wait_timeout"
)

func (s *Server) begin(ctx context.Context, on *session, ended func()) (*Tx, error) {
	if _, err := on.Exec(ctx, limitIdle+strconv.Itoa(int(s.idle/time.Second))); err != nil {
		return nil, err
	}
	if _, err := on.Exec(ctx, "START TRANSACTION"); err != nil {
		on.cut() // it would keep the limit
		return nil, err
	}
	return &Tx{server: s, session: on, ended: ended}, nil
}

// usable returns why nothing more can be done in the transaction.
func (t *Tx) usable() error {
	switch {
	case t.over:
		return sql.ErrTxDone
	case t.failure != nil:
		return fmt.Errorf("a statement before in the transaction failed: %w", t.failure)
	}
	return nil
}

func (t *Tx) fail(err error) {
	if t.failure == nil {
		t.failure = err
	}
	if isDenied(err) {
		t.server.renew()
	}
}

// Exec runs a statement and returns the number of rows that it found.
func (t *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if err := t.usable(); err != nil {
		return 0, err
	}
	n, err := t.session.Exec(ctx, query, args...)
	if err != nil {
		t.fail(err)
	}
	return n, err
}

// Query runs a query, whose rows have to be read or closed before the next statement.
func (t *Tx) Query(ctx context.Context, query string, args ...any) (engine.Rows, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	r, err := t.session.query(ctx, query, args, t.fail)
	if err != nil {
		t.fail(err)
	}
	return r, err
}

// Dialect is that of MySQL and MariaDB.
func (t *Tx) Dialect() engine.Dialect { return engine.MySQLDialect }

// Commit commits. When it fails because the connection was lost, the outcome
// is unknown.
func (t *Tx) Commit(ctx context.Context) error {
	if err := t.usable(); err != nil {
		return err
	}
	if r := t.session.rows; r != nil {
		if err := r.Close(); err != nil {
			t.fail(err)
			return err
		}
	}
	if _, err := t.session.Exec(ctx, "COMMIT"); err != nil {
		t.undo(ctx)
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	t.end(ctx)
	return nil
}

// Rollback undoes the transaction, also when the context is done. It does
// nothing after Commit or another Rollback.
func (t *Tx) Rollback(ctx context.Context) error {
	if !t.over {
		t.undo(ctx)
	}
	return nil
}

// undo rolls back. When that fails the connection is closed, and without its
// client the server can only roll back: there is nothing for a caller to do.
func (t *Tx) undo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	t.session.settle()
	if _, err := t.session.Exec(ctx, "ROLLBACK"); err != nil {
		t.session.cut()
	}
	t.end(ctx)
}

func (t *Tx) end(ctx context.Context) {
	t.session.rows = nil
	if _, err := t.session.Exec(ctx, unlimitIdle); err != nil {
		t.session.cut()
	}
	t.over = true
	t.ended()
}
