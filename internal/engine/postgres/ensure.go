package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// defaultLockWaits make a statement step back quickly from a busy table, so
// that nobody queues behind it for long, and grow more patient.
var defaultLockWaits = []time.Duration{
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second,
}

// Bounds of the pause between two tries.
const (
	retryPauseFirst = 100 * time.Millisecond
	retryPauseLast  = 2 * time.Second
)

// change is something that the catalog is to say.
type change struct {
	what  string      // in errors: index "orders_pk" of table public.orders
	table engine.Name // whose lock is needed; no table for none
	// missing looks at the catalog and returns the statements of the next
	// transaction on the way there, none when all is done.
	missing func(ctx context.Context) ([]string, error)
}

// ensure looks, acts and looks again until the catalog says what it should. A
// statement's failure counts only if the catalog, asked again, does not show
// its effect: the connection may have been lost after the commit, or another
// attempt may have done it meanwhile.
func (s *Server) ensure(ctx context.Context, c change) error {
	var tried []string // the transaction that was run last
	var failure error  // what became of it
	for try := 0; ; try++ {
		statements, err := c.missing(ctx)
		if err != nil || len(statements) == 0 {
			return err
		}
		switch {
		case !slices.Equal(statements, tried):
			try, tried = 0, statements
		case failure == nil:
			return fault.About(c.table.String(), task.Internal, "%s: %s had no effect", c.what, strings.Join(statements, "; "))
		case !again(failure) || try == len(s.lockWaits):
			return s.explain(ctx, c, failure)
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
		failure = s.run(ctx, statements, s.lockWaits[try])
		if failure != nil && !again(failure) && !duplicate(failure) {
			return s.explain(ctx, c, failure)
		}
	}
}

// pause waits before a try, longer each time; not at all before the first.
func pause(ctx context.Context, try int) error {
	if try == 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(min(retryPauseFirst<<(try-1), retryPauseLast)):
		return nil
	}
}

// run runs statements in a transaction that gives up a lock after a while.
// The server ends a statement whose client is gone, where it can notice.
func (s *Server) run(ctx context.Context, statements []string, lockWait time.Duration) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', '0', true),
			CASE WHEN current_setting('server_version_num')::int >= 140000 AND version() LIKE '%linux%' THEN set_config('client_connection_check_interval', '5s', true) END`,
			fmt.Sprintf("%dms", lockWait.Milliseconds()))
		for _, statement := range statements {
			if err == nil {
				_, err = tx.Exec(ctx, statement)
			}
		}
		return err
	})
}

// again reports whether an error may not come again.
func again(err error) bool {
	class, known := Classify(err)
	return known && class.Retryable()
}

// duplicate reports whether an error says that something is there already. Two
// that make the same thing at once get a unique violation in the catalog.
func duplicate(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case "42P06", "42P07", "42710", "42P16": // schema, relation, object; a second primary key
		return true
	}
	return e.Code == "23505" && e.SchemaName == "pg_catalog"
}

// explain says what could not be done, with the server's detail, or with those
// who hold the lock.
func (s *Server) explain(ctx context.Context, c change, err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", c.what, err)
	}
	if e.Code == lockNotAvailable {
		return fault.About(c.table.String(), task.Busy, "%s: the lock of the table was not to be had%s: %w", c.what, s.holders(ctx, c.table), err)
	}
	if detail := strings.Join(slices.DeleteFunc([]string{e.Detail, e.Hint}, func(s string) bool { return s == "" }), " "); detail != "" {
		return fmt.Errorf("%s: %w: %s", c.what, err, detail)
	}
	return fmt.Errorf("%s: %w", c.what, err)
}

// holders names the sessions that hold locks of a table.
func (s *Server) holders(ctx context.Context, table engine.Name) string {
	rows, err := s.on.Query(ctx, `SELECT DISTINCT 'session ' || a.pid || ' (' || concat_ws(', ', a.usename, nullif(a.application_name, ''), a.state,
			'in a transaction since ' || to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')) || ')'
		FROM pg_locks l JOIN pg_stat_activity a USING (pid) JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND l.granted AND n.nspname = $1 AND c.relname = $2 AND l.pid <> pg_backend_pid()`, table.Schema, table.Table)
	if err != nil {
		return ""
	}
	sessions, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(sessions) == 0 {
		return ""
	}
	return "; it is held by " + strings.Join(sessions, ", ")
}

// differs is the error for something that exists and is another one.
func differs(table engine.Name, what, difference string) error {
	return fault.About(table.String(), task.Config, "%s exists already and is not the one to be made: %s; remove it or choose another name", what, difference)
}
