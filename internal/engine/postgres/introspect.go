package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// SchemaExists reports whether there is a schema of that name.
func (s *Server) SchemaExists(ctx context.Context, schema string) (exists bool, err error) {
	err = s.on.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`, schema).Scan(&exists)
	return exists, err
}

// TableExists reports whether there is a table of that name, partitioned ones
// included. A view, sequence or index of that name, with which there cannot be
// a table, is an error.
func (s *Server) TableExists(ctx context.Context, name engine.Name) (bool, error) {
	_, err := tableOID(ctx, s.on, name)
	if errors.Is(err, engine.ErrNoTable) {
		return false, nil
	}
	return err == nil, err
}

// Tables lists the tables of a schema by name, a partitioned table as one.
func (s *Server) Tables(ctx context.Context, schema string) ([]engine.Name, error) {
	rows, err := s.on.Query(ctx, `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname COLLATE "C"`, schema)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (engine.Name, error) {
		name := engine.Name{Schema: schema}
		err := row.Scan(&name.Table)
		return name, err
	})
}

// Table describes a table.
func (s *Server) Table(ctx context.Context, name engine.Name) (*engine.Table, error) {
	var t *engine.Table
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) (err error) {
		t, err = describeTable(ctx, tx, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	if t.Rows, err = s.estimateRows(ctx, t); err != nil {
		return nil, fmt.Errorf("cannot estimate the rows of table %s: %w", name, err)
	}
	return t, nil
}

func describeTable(ctx context.Context, on executor, name engine.Name) (*engine.Table, error) {
	oid, err := tableOID(ctx, on, name)
	if err != nil {
		return nil, err
	}
	t := &engine.Table{Name: name}
	err = on.QueryRow(ctx, partsCTE+`SELECT c.relkind = 'p', coalesce(obj_description(c.oid, 'pg_class'), ''),
			coalesce((SELECT sum(greatest(p.reltuples, 0)) FROM parts JOIN pg_class p USING (oid) WHERE p.relkind = 'r'), 0)::bigint,
			coalesce((SELECT sum(pg_table_size(oid)) FROM parts), 0)::bigint,
			ARRAY(SELECT g.tgname::text FROM pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal ORDER BY g.tgname)
		FROM pg_class c WHERE c.oid = $1`, oid).Scan(&t.Partitioned, &t.Comment, &t.Rows, &t.Bytes, &t.Triggers)
	if err != nil {
		return nil, fmt.Errorf("cannot read the definition of table %s: %w", name, err)
	}
	if t.Columns, err = columns(ctx, on, oid); err != nil {
		return nil, fmt.Errorf("cannot read the columns of table %s: %w", name, err)
	}
	if t.Indexes, err = indexes(ctx, on, oid); err != nil {
		return nil, fmt.Errorf("cannot read the indexes of table %s: %w", name, err)
	}
	if err = constraints(ctx, on, oid, t); err != nil {
		return nil, fmt.Errorf("cannot read the constraints of table %s: %w", name, err)
	}
	if err = findKey(ctx, on, oid, t); err != nil {
		return nil, fmt.Errorf("cannot read the keys of table %s: %w", name, err)
	}
	for _, c := range t.Columns {
		if c.Identity {
			if t.NextIdentity, err = nextIdentity(ctx, on, name, c.Name); err != nil {
				return nil, err
			}
			break
		}
	}
	return t, nil
}

// tableOID finds a table. The error for one that is not there wraps
// engine.ErrNoTable.
func tableOID(ctx context.Context, on executor, name engine.Name) (oid uint32, err error) {
	return relationOID(ctx, on, name, "rp")
}

// indexedOID is tableOID for what may have indexes: a materialized view, too.
func indexedOID(ctx context.Context, on executor, name engine.Name) (oid uint32, err error) {
	return relationOID(ctx, on, name, "rpm")
}

func relationOID(ctx context.Context, on executor, name engine.Name, kinds string) (oid uint32, err error) {
	var kind string
	err = on.QueryRow(ctx, `SELECT c.oid, c.relkind::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = $2`, name.Schema, name.Table).Scan(&oid, &kind)
	switch {
	case noRows(err):
		return 0, fault.About(name.String(), task.Config, "table %s: %w", name, engine.ErrNoTable)
	case err != nil:
		return 0, fmt.Errorf("cannot look for table %s: %w", name, err)
	case !strings.Contains(kinds, kind):
		return 0, fault.About(name.String(), task.Config, "%s is a %s, not a table", name, relationKinds[kind])
	}
	return oid, nil
}

// relationKinds are what else than a table can have a table's name.
var relationKinds = map[string]string{
	"v": "view", "m": "materialized view", "f": "foreign table", "S": "sequence", "i": "index", "I": "partitioned index",
	"c": "composite type", "t": "TOAST table",
}

// HasRows reports whether a table has at least one row.
func (s *Server) HasRows(ctx context.Context, name engine.Name) (has bool, err error) {
	err = s.on.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+QuoteName(name)+")").Scan(&has)
	return has, err
}

// countedBytes is the size up to which a table is counted, not estimated: the
// planner takes no table for smaller than ten blocks until it is analysed.
const countedBytes = 8 << 20

// estimateRows asks the planner, which measures a table that has grown since
// it was last analysed, or never was, by its size. Without the right to read
// the table the count of the last ANALYZE has to do.
func (s *Server) estimateRows(ctx context.Context, t *engine.Table) (rows int64, err error) {
	if t.Bytes <= countedBytes {
		err = s.on.QueryRow(ctx, "SELECT count(*) FROM "+QuoteName(t.Name)).Scan(&rows)
	} else {
		rows, err = s.plannedRows(ctx, t.Name)
	}
	if sqlState(err) == insufficientPrivilege {
		return t.Rows, nil
	}
	return rows, err
}

func (s *Server) plannedRows(ctx context.Context, name engine.Name) (int64, error) {
	plans, err := s.plans(ctx, "", "SELECT FROM "+QuoteName(name))
	if err != nil || len(plans) == 0 {
		return 0, err
	}
	return int64(plans[0].Rows), nil
}
