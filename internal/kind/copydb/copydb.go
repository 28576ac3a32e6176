// Package copydb is the kind of migration that copies tables from one
// database to another: MySQL or MariaDB to PostgreSQL.
//
// It promises that at SUCCESS the target's tables hold exactly the rows of the
// source's, compared value by value, that a copy that was undone has left the
// target as it was, and that a value that the target cannot hold ends the copy
// by its name instead of being changed.
//
// It leaves to others that nobody writes to the source meanwhile: an offline
// copy reads each chunk for itself. Verification finds what changed.
package copydb

import (
	"context"

	"godwit/internal/connection"
	"godwit/internal/engine"
	"godwit/internal/engine/mysql"
	"godwit/internal/engine/postgres"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/task"
)

// Copy implements kind.Kind.
type Copy struct {
	version string
}

// New returns the kind; the version is noted in the ledger.
func New(version string) *Copy { return &Copy{version: version} }

var _ kind.Kind = (*Copy)(nil)

// source is what a copy needs of the database that is read.
type source interface {
	Identity(ctx context.Context) (engine.Identity, error)
	Databases(ctx context.Context) ([]string, error)
	Tables(ctx context.Context, schema string) ([]engine.Name, error)
	Table(ctx context.Context, name engine.Name) (*engine.Table, error)
	CheckRead(ctx context.Context, names []engine.Name) error
	// CheckWhere tries a condition of the spec without reading a row.
	CheckWhere(ctx context.Context, table engine.Name, where string) error
	// Bound returns the key of the row that is so many rows into the
	// selection's range; false when the range has fewer.
	Bound(ctx context.Context, sel engine.Select, rows int64) (engine.Key, bool, error)
	// Split returns the inner bounds of shards of about so many rows.
	Split(ctx context.Context, sel engine.Select, rows int64) ([]engine.Key, error)
	Stream(ctx context.Context, sel engine.Select) (engine.Stream, error)
}

// databases are both sides of a copy.
type databases struct {
	from     source
	fromConn *connection.Connection
	to       *postgres.Server
	toConn   *connection.Connection
	sourceID engine.Identity // known after identify
	targetID engine.Identity
}

// open connects to both sides.
func open(ctx context.Context, run *kind.Run) (*databases, error) {
	s := run.Spec.Copy
	from, err := run.Connections.Get(s.Source)
	if err != nil {
		return nil, err
	}
	if from.Engine != "mysql" {
		return nil, fault.New(task.Config, "source: connection %s is a %s database: this version copies from MySQL and MariaDB only", s.Source, from.Engine)
	}
	to, err := openTarget(ctx, run)
	if err != nil {
		return nil, err
	}
	db, err := from.MySQL(ctx)
	if err != nil {
		return nil, err
	}
	toConn, err := run.Connections.Get(s.Target)
	return &databases{from: mysql.New(db), fromConn: from, to: to, toConn: toConn}, err
}

// openTarget connects to the side that is written: what ends a copy needs no
// source.
func openTarget(ctx context.Context, run *kind.Run) (*postgres.Server, error) {
	to, err := run.Connections.Get(run.Spec.Copy.Target)
	if err != nil {
		return nil, err
	}
	if to.Engine != "postgres" {
		return nil, fault.New(task.Config, "target: connection %s is a %s database: this version copies to PostgreSQL only", to.Name, to.Engine)
	}
	pool, err := to.Postgres(ctx)
	if err != nil {
		return nil, err
	}
	return postgres.New(pool), nil
}

// Tend has nothing to do: an offline copy does not change while it waits.
func (c *Copy) Tend(context.Context, *kind.Run) (task.TendResult, error) {
	return task.TendResult{}, nil
}
