package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
)

// EnsureIndex makes an index from its parts. One of that name that is there
// already has to be the same; what a failed build has left is removed first.
func (s *Server) EnsureIndex(ctx context.Context, table engine.Name, index engine.Index) error {
	what := fmt.Sprintf("index %s of table %s", index.Name, table)
	return s.ensure(ctx, change{what: what, table: table, missing: func(ctx context.Context) ([]string, error) {
		found, err := findIndex(ctx, s.on, table.Schema, index.Name)
		if err != nil {
			return nil, err
		}
		create := []string{CreateIndex(table, index)}
		if index.Comment != "" {
			create = append(create, IndexComment(table, index))
		}
		switch {
		case found == nil:
			return create, nil
		case found.table != table.Table:
			return nil, differs(table, what, found.what())
		case !found.valid:
			return append([]string{DropIndex(table, index.Name)}, create...), nil
		}
		wanted, err := s.indexAsMade(ctx, table, index)
		if err != nil {
			return nil, fmt.Errorf("cannot compare %s with the one to be made: %w", what, err)
		}
		if !sameIndex(found, wanted) {
			return nil, differs(table, what, fmt.Sprintf("it is %s, wanted is %s", found.Definition, CreateIndex(table, index)))
		}
		return nil, nil
	}})
}

// foundIndex is what has an index's name.
type foundIndex struct {
	engine.Index
	table  string // of the index; "" when it is none
	kind   string // what it is, when it is no index
	valid  bool
	traits string // what engine.Index leaves out, in words of the catalog
}

func (f *foundIndex) what() string {
	if f.table == "" {
		return "the name belongs to a " + f.kind
	}
	return "it is one of table " + f.table
}

// findIndex looks a name up; nil when nothing has it.
func findIndex(ctx context.Context, on executor, schema, name string) (*foundIndex, error) {
	f := &foundIndex{}
	var kind string
	// A column that only newer servers have is read through JSON.
	err := on.QueryRow(ctx, `SELECT coalesce(t.relname, ''), c.relkind::text, coalesce(x.indisvalid, false),
			concat_ws(' ', x.indclass, x.indcollation, x.indoption, c.reloptions, to_jsonb(x) ->> 'indnullsnotdistinct',
				ARRAY(SELECT a.attname FROM generate_series(x.indnkeyatts, x.indnatts - 1) k
					JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[k] ORDER BY k))
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		LEFT JOIN pg_index x ON x.indexrelid = c.oid LEFT JOIN pg_class t ON t.oid = x.indrelid WHERE n.nspname = $1 AND c.relname = $2`, schema, name).
		Scan(&f.table, &kind, &f.valid, &f.traits)
	if noRows(err) {
		return nil, nil
	}
	if err != nil || f.table == "" {
		f.kind = relationKinds[kind]
		return f, err
	}
	rows, err := on.Query(ctx, indexColumns+` FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_am am ON am.oid = c.relam
		JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2`, schema, name)
	if err != nil {
		return nil, err
	}
	f.Index, err = pgx.CollectExactlyOneRow(rows, scanIndex)
	return f, err
}

// indexAsMade returns an index as the server describes it once it is made, by
// making it on an empty twin of the table.
func (s *Server) indexAsMade(ctx context.Context, table engine.Name, index engine.Index) (made *foundIndex, err error) {
	err = s.withTwin(ctx, table, func(tx pgx.Tx, twin engine.Name) error {
		index.Name = twin.Table + "_index"
		for _, statement := range []string{"CREATE TABLE " + QuoteName(twin) + " (LIKE " + QuoteName(table) + ")", CreateIndex(twin, index)} {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		made, err = findIndex(ctx, tx, twin.Schema, index.Name)
		return err
	})
	return made, err
}

func sameIndex(a, b *foundIndex) bool {
	return a.Unique == b.Unique && a.Method == b.Method && a.Predicate == b.Predicate && a.traits == b.traits && slices.Equal(a.Parts, b.Parts)
}

// EnsurePrimaryKey makes a table's primary key. One that is there already has
// to have the same columns, whatever its name.
func (s *Server) EnsurePrimaryKey(ctx context.Context, table engine.Name, key engine.Index) error {
	what := fmt.Sprintf("primary key %s of table %s", key.Name, table)
	return s.ensure(ctx, change{what: what, table: table, missing: func(ctx context.Context) ([]string, error) {
		oid, err := tableOID(ctx, s.on, table)
		if err != nil {
			return nil, err
		}
		existing, err := indexes(ctx, s.on, oid)
		if err != nil {
			return nil, err
		}
		if len(existing) == 0 || !existing[0].Primary {
			return []string{AddPrimaryKey(table, key)}, nil
		}
		if !slices.Equal(existing[0].Parts, key.Parts) {
			return nil, differs(table, what, fmt.Sprintf("it is %s (%s), wanted are (%s)", existing[0].Name, indexParts(existing[0]), indexParts(key)))
		}
		return nil, nil
	}})
}

// EnsureForeignKey makes a foreign key and checks the rows that are there. One
// of that name that is there already has to be the same.
func (s *Server) EnsureForeignKey(ctx context.Context, table engine.Name, key engine.ForeignKey) error {
	what := fmt.Sprintf("foreign key %s of table %s", key.Name, table)
	key.OnDelete, key.OnUpdate = action(key.OnDelete), action(key.OnUpdate)
	return s.ensure(ctx, change{what: what, table: table, missing: func(ctx context.Context) ([]string, error) {
		oid, err := tableOID(ctx, s.on, table)
		if err != nil {
			return nil, err
		}
		rows, err := s.on.Query(ctx, foreignKeyColumns+` FROM pg_constraint k JOIN pg_class r ON r.oid = k.confrelid
			JOIN pg_namespace rn ON rn.oid = r.relnamespace WHERE k.conrelid = $1 AND k.conname = $2 AND k.contype = 'f' AND k.conparentid = 0`, oid, key.Name)
		if err != nil {
			return nil, err
		}
		valid := false
		existing, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (fk engine.ForeignKey, err error) {
			fk, valid, err = scanForeignKey(row)
			return fk, err
		})
		switch {
		case noRows(err):
			return []string{AddForeignKey(table, key, true)}, nil
		case err != nil:
			return nil, err
		case !sameForeignKey(existing, key):
			return nil, differs(table, what, fmt.Sprintf("it is made by %q, wanted is %q", AddForeignKey(table, existing, false), AddForeignKey(table, key, false)))
		case !valid:
			return []string{ValidateConstraint(table, key.Name)}, nil
		}
		return nil, nil
	}})
}

func action(name string) string {
	if name == "" {
		return "NO ACTION"
	}
	return name
}

func sameForeignKey(a, b engine.ForeignKey) bool {
	return a.Ref == b.Ref && a.OnDelete == b.OnDelete && a.OnUpdate == b.OnUpdate &&
		slices.Equal(a.Columns, b.Columns) && slices.Equal(a.RefColumns, b.RefColumns)
}
