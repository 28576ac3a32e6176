package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// EnsureSchema makes a schema that is not there.
func (s *Server) EnsureSchema(ctx context.Context, schema string) error {
	return s.ensure(ctx, change{what: "schema " + schema, missing: func(ctx context.Context) ([]string, error) {
		exists, err := s.SchemaExists(ctx, schema)
		if err != nil || exists {
			return nil, err
		}
		return []string{CreateSchema(schema)}, nil
	}})
}

// EnsureTable makes a table with its columns, checks and comments. One of that
// name that is there already has to have the same columns, in any order, and
// the same checks.
func (s *Server) EnsureTable(ctx context.Context, t *engine.Table) error {
	return s.ensure(ctx, change{what: "table " + t.Name.String(), table: t.Name, missing: func(ctx context.Context) ([]string, error) {
		exists, err := s.TableExists(ctx, t.Name)
		if err != nil {
			return nil, err
		}
		if !exists {
			return CreateStatements(t), nil
		}
		difference, err := s.compareTable(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("cannot compare table %s with the one to be made: %w", t.Name, err)
		}
		if difference != "" {
			return nil, differs(t.Name, "table "+t.Name.String(), difference)
		}
		return nil, nil
	}})
}

// EnsureMoved gives a table another schema or name. It is done when only the
// new name is there.
func (s *Server) EnsureMoved(ctx context.Context, from, to engine.Name) error {
	what := fmt.Sprintf("move of table %s to %s", from, to)
	return s.ensure(ctx, change{what: what, table: from, missing: func(ctx context.Context) ([]string, error) {
		before, err := s.TableExists(ctx, from)
		if err != nil {
			return nil, err
		}
		after, err := s.TableExists(ctx, to)
		switch {
		case err != nil:
			return nil, err
		case before && after:
			return nil, fault.About(from.String(), task.Config, "%s: there is a table %s already; remove it or choose another name", what, to)
		case before:
			return MoveTable(from, to), nil
		case after:
			return nil, nil
		}
		return nil, fault.About(from.String(), task.Config, "%s: neither is there: %w", what, engine.ErrNoTable)
	}})
}

// EnsureDropped removes a table, unless something depends on it.
func (s *Server) EnsureDropped(ctx context.Context, name engine.Name) error {
	return s.ensure(ctx, change{what: "removal of table " + name.String(), table: name, missing: func(ctx context.Context) ([]string, error) {
		exists, err := s.TableExists(ctx, name)
		if err != nil || !exists {
			return nil, err
		}
		return []string{DropTable(name)}, nil
	}})
}

// compareTable says in words how an existing table differs from the one that
// CreateTable would make; "" when it does not. Only the server knows that
// varchar(16) and character varying(16) are the same, and what it makes of an
// expression, so it is asked to make the table, and it is undone again.
func (s *Server) compareTable(ctx context.Context, t *engine.Table) (difference string, err error) {
	err = s.withTwin(ctx, t.Name, func(tx pgx.Tx, twin engine.Name) error {
		wanted := *t
		wanted.Name = twin
		for _, statement := range CreateStatements(&wanted) {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		want, err := definition(ctx, tx, twin)
		if err != nil {
			return err
		}
		have, err := definition(ctx, tx, t.Name)
		if err != nil {
			return err
		}
		difference = compareDefinitions(want, have)
		return nil
	})
	return difference, err
}

// withTwin runs f in a transaction in which a table next to the named one can
// be made, and undoes it.
func (s *Server) withTwin(ctx context.Context, name engine.Name, f func(tx pgx.Tx, twin engine.Name) error) error {
	tx, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx) //nolint:errcheck // it never fails
	if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '5s'"); err != nil {
		return err
	}
	// A twin's name is never seen by anybody else, but two at once would wait
	// for each other, and a real table's name be refused.
	return f(tx.tx, engine.Name{Schema: name.Schema, Table: "godwit_twin_" + strings.ToLower(rand.Text())})
}

// part is a column or check of a table and its definition as the server has it.
type part struct{ what, definition string }

func definition(ctx context.Context, on executor, name engine.Name) ([]part, error) {
	oid, err := tableOID(ctx, on, name)
	if err != nil {
		return nil, err
	}
	t := &engine.Table{}
	if t.Columns, err = columns(ctx, on, oid); err != nil {
		return nil, err
	}
	if err := constraints(ctx, on, oid, t); err != nil {
		return nil, err
	}
	var parts []part
	for _, c := range t.Columns {
		parts = append(parts, part{"column " + c.Name, columnDefinition(engine.Name{}, c)})
	}
	for _, c := range t.Checks {
		parts = append(parts, part{"check " + c.Name, c.Expression})
	}
	return parts, nil
}

func compareDefinitions(want, have []part) string {
	var differences []string
	existing := make(map[string]string, len(have))
	for _, p := range have {
		existing[p.what] = p.definition
	}
	for _, p := range want {
		definition, found := existing[p.what]
		delete(existing, p.what)
		switch {
		case !found:
			differences = append(differences, p.what+" is not there")
		case definition != p.definition:
			differences = append(differences, fmt.Sprintf("%s is %s, wanted is %s", p.what, definition, p.definition))
		}
	}
	for _, p := range have {
		if _, left := existing[p.what]; left {
			differences = append(differences, p.what+" is not wanted")
		}
	}
	return strings.Join(differences, "; ")
}
