package kind

import (
	"context"

	"godwit/internal/capture"
	"godwit/internal/connection"
	"godwit/internal/engine"
	"godwit/internal/engine/mysql"
	"godwit/internal/engine/postgres"
)

// Database is a database whose tables are changed in place, of any engine.
type Database interface {
	// Changes of its tables can be captured.
	capture.Database
	// Its tables can be written anew beside the ones in use.
	Reshaper
	// Its indexes can be built beside the writers.
	Indexer
	// Session takes a session for the caller alone.
	Session(ctx context.Context) (engine.Session, error)
	Identity(ctx context.Context) (engine.Identity, error)
	// RepeatsStatements reports whether replicas repeat statements that write no
	// rows, and are behind for as long as that takes.
	RepeatsStatements(ctx context.Context) (bool, error)
	Table(ctx context.Context, name engine.Name) (*engine.Table, error)

	// CheckRewrite finds out whether the user may change the table's rows;
	// saved says that a table for their old values is made.
	CheckRewrite(ctx context.Context, table engine.Name, saved bool) error
	// Transactional makes sure that a change and its checkpoint are one transaction.
	Transactional(ctx context.Context, table engine.Name) error
	// CheckWhere and CheckExpr try a condition, or an expression for a column,
	// of the user's without reading a row.
	CheckWhere(ctx context.Context, table engine.Name, where string) error
	CheckExpr(ctx context.Context, table engine.Name, column, expr string) error
	// ExplainRange makes sure that a range of the key is read by its index.
	ExplainRange(ctx context.Context, sel engine.Select) error
	// ExplainStatement warns of a statement that reads a table in full.
	ExplainStatement(ctx context.Context, statement string) (warning string, err error)

	// Bound, First, Last and Split find keys: the upper bound of a chunk, the first
	// and the last row of a range, and the inner bounds of shards.
	Bound(ctx context.Context, sel engine.Select, rows int64) (engine.Key, bool, error)
	First(ctx context.Context, sel engine.Select) (engine.Key, bool, error)
	Last(ctx context.Context, sel engine.Select) (engine.Key, bool, error)
	Split(ctx context.Context, sel engine.Select, rows int64) ([]engine.Key, error)

	// The statements of a Rewrite.
	CreateSaved(r *engine.Rewrite) []string
	DropSaved(r *engine.Rewrite) string
	Save(r *engine.Rewrite, pass int, within engine.Range) (string, error)
	Apply(r *engine.Rewrite, pass int, within engine.Range) (string, error)
	Reread(r *engine.Rewrite, pass int, within engine.Range) (string, error)
	Change(r *engine.Rewrite, within engine.Range) (string, error)
	Matching(r *engine.Rewrite, pass int, within engine.Range, any bool) (string, error)
	Sample(r *engine.Rewrite, rows int) string
	Restore(r *engine.Rewrite, pass int, within engine.Range) (string, error)
	Forget(r *engine.Rewrite, pass int, within engine.Range) (string, error)
	Left(r *engine.Rewrite, limit int) string
	// Attempt writes the statement that checks the parts of a Rewrite together
	// and reads no row.
	Attempt(r *engine.Rewrite) string

	// Alter plans an ALTER TABLE by trying it on an empty clone of the table, and
	// SweepClones drops those that were left; build allows what the server builds
	// beside the writers in one long statement.
	Alter(ctx context.Context, t *engine.Table, alter string, build bool) (*engine.Alteration, error)
	SweepClones(ctx context.Context) error
	// Blockers are those who have a lock on a table, or wait for one; EndBlocker
	// ends one of them. Uncertain says what cannot be seen of them.
	Blockers(ctx context.Context, table engine.Name) ([]engine.Blocker, error)
	// WaitsFor are those that a session is waiting for just now.
	WaitsFor(ctx context.Context, session string, table engine.Name) ([]engine.Blocker, error)
	EndBlocker(ctx context.Context, b engine.Blocker) error
	Uncertain(ctx context.Context, table engine.Name) (string, error)

	// RangeConditions and Literal write ranges and keys into a statement of the user's.
	RangeConditions(t *engine.Table, alias string, r engine.Range) ([]string, error)
	Literal(t *engine.Table, column string, v engine.KeyValue) (string, error)
	// QuoteName quotes a table's name.
	QuoteName(n engine.Name) string
	// Impatient writes the statements that make a session give up waiting for
	// locks, in seconds: of rows, and of tables.
	Impatient(rows, tables float64) []string
	// In writes the statements that make names without a schema those of a
	// schema, for the rest of a session; none where they are the connection's.
	In(schema string) []string
	// Definition is the table's definition as the server writes it, where a
	// change of it is no part of a transaction; empty where it is.
	Definition(ctx context.Context, name engine.Name) (string, error)
}

// OpenDatabase is the database of a connection.
func OpenDatabase(ctx context.Context, c *connection.Connection) (Database, error) {
	if c.Engine == connection.PostgresEngine {
		pool, err := c.Postgres(ctx)
		if err != nil {
			return nil, err
		}
		return postgresDatabase{postgres.New(pool)}, nil
	}
	db, err := c.MySQL(ctx)
	if err != nil {
		return nil, err
	}
	return mysqlDatabase{mysql.New(db)}, nil
}

type postgresDatabase struct{ *postgres.Server }

func (d postgresDatabase) Session(ctx context.Context) (engine.Session, error) {
	c, err := d.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return postgresSession{c}, nil
}

type postgresSession struct{ *postgres.Conn }

func (s postgresSession) ID() string { return s.Session() }

func (s postgresSession) Begin(ctx context.Context) (engine.Tx, error) {
	tx, err := s.Conn.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return tx, nil
}

type mysqlDatabase struct{ *mysql.Server }

func (d mysqlDatabase) Session(ctx context.Context) (engine.Session, error) {
	c, err := d.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return mysqlSession{c}, nil
}

type mysqlSession struct{ *mysql.Conn }

func (s mysqlSession) ID() string { return s.Session() }

func (s mysqlSession) Begin(ctx context.Context) (engine.Tx, error) {
	tx, err := s.Conn.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return tx, nil
}
