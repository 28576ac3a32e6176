package engine

import (
	"context"
	"errors"
)

// ErrNoRows is returned by Row.Scan-like calls when a query has no row.
var ErrNoRows = errors.New("no rows")

// Rows is the result of a query, one row at a time.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close() error
}

// Querier runs statements, in a transaction or outside of one. Placeholders
// are those of the engine: see Dialect.
type Querier interface {
	// Exec returns the number of rows that the statement found; one that was
	// already as an UPDATE makes it counts as well.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	Query(ctx context.Context, query string, args ...any) (Rows, error)
	Dialect() Dialect
}

// Tx is a transaction. A statement that fails ends it: then only Rollback is of
// any use. Rollback after Commit does nothing, and works with a done context.
type Tx interface {
	Querier
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}

// DB is a database in which Godwit keeps a ledger.
type DB interface {
	Querier
	Begin(ctx context.Context) (Tx, error)
	// KillSession ends a server session by the id that Session gave, if it is
	// still the same session. A session that is gone is no error.
	KillSession(ctx context.Context, session string) error
	// Lock takes a server-wide lock of that name for the transaction's or
	// session's life, so that two workers do not upgrade the ledger at once.
	WithLock(ctx context.Context, name string, f func(ctx context.Context) error) error
}

// Session is one server session for the caller alone, for work that goes on
// over many transactions, and for statements that can be in none.
type Session interface {
	Querier
	// ID names the session for KillSession.
	ID() string
	Begin(ctx context.Context) (Tx, error)
	// Release gives the session back; Destroy closes it, whatever it is doing.
	Release()
	Destroy()
}

// Dialect names the SQL dialect of an engine.
type Dialect string

// The dialects.
const (
	PostgresDialect Dialect = "postgres" // $1, "quoted"
	MySQLDialect    Dialect = "mysql"    // ?, `quoted`
)

// Stream hands over rows as the server wrote them, in its text form.
type Stream interface {
	// Next returns the next row, a nil column for NULL. The slices are valid
	// until the next call. After the last row it returns io.EOF; any other
	// error is never the end of the data.
	Next() ([][]byte, error)
	Close() error
}

// Select says what to read of a table.
type Select struct {
	Table *Table
	// Exprs are the SELECT list, in the dialect of the server.
	Exprs []string
	// Range to read, in key order when Ordered.
	Range Range
	// Where is a further condition in the dialect of the server; empty for none.
	Where   string
	Ordered bool
	// Limit and Offset count rows; 0 for none.
	Limit, Offset int64
}
