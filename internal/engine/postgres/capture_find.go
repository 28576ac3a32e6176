package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
)

// foundCapture is what the catalog has of a capture.
type foundCapture struct {
	log, function bool
	triggers      []foundTrigger
	parts         []capturedPart // of the table, itself the first
}

// foundTrigger is a trigger that calls the function, but for those that a
// partition has of its partitioned table.
type foundTrigger struct {
	name  string
	table engine.Name
	every bool // it and its copies fire always
}

// capturedPart is the table or one of its partitions.
type capturedPart struct {
	name engine.Name
	leaf bool // it has rows of its own
}

// findCapture looks for the triggers by their function: they may be on a table
// that has been renamed meanwhile.
func (s *Server) findCapture(ctx context.Context, c *engine.Capture, on engine.Name) (*foundCapture, error) {
	f := &foundCapture{}
	err := s.on.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL, to_regprocedure($1 || '()') IS NOT NULL`, QuoteName(c.Log)).Scan(&f.log, &f.function)
	if err != nil {
		return nil, fmt.Errorf("look for the changelog %s: %w", c.Log, err)
	}
	rows, err := s.on.Query(ctx, `SELECT g.tgname, n.nspname, t.relname, g.tgenabled = 'A' AND NOT EXISTS (
			WITH RECURSIVE copies (oid) AS (SELECT g.oid UNION ALL SELECT d.oid FROM copies JOIN pg_trigger d ON d.tgparentid = copies.oid)
			SELECT FROM copies JOIN pg_trigger d USING (oid) WHERE d.tgenabled <> 'A')
		FROM pg_trigger g JOIN pg_class t ON t.oid = g.tgrelid JOIN pg_namespace n ON n.oid = t.relnamespace
		WHERE g.tgfoid = to_regprocedure($1 || '()') AND g.tgparentid = 0`, QuoteName(c.Log))
	if err != nil {
		return nil, err
	}
	f.triggers, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t foundTrigger, err error) {
		err = row.Scan(&t.name, &t.table.Schema, &t.table.Table, &t.every)
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("look for the triggers of %s: %w", c.Table.Name, err)
	}
	rows, err = s.on.Query(ctx, `WITH RECURSIVE parts (oid) AS (SELECT to_regclass($1)::oid UNION ALL
			SELECT i.inhrelid FROM parts JOIN pg_inherits i ON i.inhparent = parts.oid JOIN pg_class c ON c.oid = i.inhrelid AND c.relispartition)
		SELECT n.nspname, c.relname, c.relkind = 'r' FROM parts JOIN pg_class c USING (oid) JOIN pg_namespace n ON n.oid = c.relnamespace
		ORDER BY c.oid <> to_regclass($1)::oid, 1, 2`, QuoteName(on))
	if err != nil {
		return nil, err
	}
	f.parts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p capturedPart, err error) {
		err = row.Scan(&p.name.Schema, &p.name.Table, &p.leaf)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("look for the partitions of %s: %w", c.Table.Name, err)
	}
	return f, nil
}

// complete reports whether everything is there, on that table.
func (f *foundCapture) complete(on engine.Name) bool {
	has := func(name string, table engine.Name) bool {
		return slices.Contains(f.triggers, foundTrigger{name: name, table: table, every: true})
	}
	if !f.log || !f.function || !has(rowTrigger, on) || !has(movedTrigger, on) {
		return false
	}
	for i, p := range f.parts {
		table := p.name
		if i == 0 {
			table = on
		}
		if p.leaf && !has(emptyTrigger, table) {
			return false
		}
	}
	return true
}
