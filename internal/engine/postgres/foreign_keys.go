package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
)

// Constraint is a constraint as the server itself writes it, which keeps all
// of it: what engine.ForeignKey has no word for as well.
type Constraint struct {
	Name       string `json:"name"`
	Definition string `json:"definition"` // FOREIGN KEY (…) REFERENCES … , ending with NOT VALID when it is not
}

const notValid = " NOT VALID"

// ForeignKeys returns a table's own foreign keys.
func (s *Server) ForeignKeys(ctx context.Context, table engine.Name) ([]Constraint, error) {
	oid, err := tableOID(ctx, s.on, table)
	if err != nil {
		return nil, err
	}
	rows, err := s.on.Query(ctx, `SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
		WHERE conrelid = $1 AND contype = 'f' AND conparentid = 0 ORDER BY conname COLLATE "C"`, oid)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Constraint])
}

// ReferredBy returns the other tables that have foreign keys to a table.
func (s *Server) ReferredBy(ctx context.Context, table engine.Name) ([]engine.Name, error) {
	oid, err := tableOID(ctx, s.on, table)
	if err != nil {
		return nil, err
	}
	rows, err := s.on.Query(ctx, `SELECT DISTINCT n.nspname, c.relname FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
		JOIN pg_namespace n ON n.oid = c.relnamespace WHERE k.confrelid = $1 AND k.contype = 'f' AND k.conrelid <> $1`, oid)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[engine.Name])
}

// DropConstraint writes the statement that removes a constraint, if it is there.
func DropConstraint(table engine.Name, name string) string {
	return "ALTER TABLE " + QuoteName(table) + " DROP CONSTRAINT IF EXISTS " + Quote(name)
}

// AddConstraint writes the statement that adds a constraint. With later, the
// rows that are there are not looked at yet: ValidateConstraint does that.
func AddConstraint(table engine.Name, c Constraint, later bool) string {
	definition := c.Definition
	if later && !strings.HasSuffix(definition, notValid) {
		definition += notValid
	}
	return "ALTER TABLE " + QuoteName(table) + " ADD CONSTRAINT " + Quote(c.Name) + " " + definition
}

// EnsureConstraint puts back a constraint that was removed for a while, and
// checks the rows that are there unless it was NOT VALID before.
func (s *Server) EnsureConstraint(ctx context.Context, table engine.Name, c Constraint) error {
	what := fmt.Sprintf("constraint %s of table %s", c.Name, table)
	return s.ensure(ctx, change{what: what, table: table, missing: func(ctx context.Context) ([]string, error) {
		oid, err := tableOID(ctx, s.on, table)
		if err != nil {
			return nil, err
		}
		var existing string
		err = s.on.QueryRow(ctx, "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = $1 AND conname = $2", oid, c.Name).Scan(&existing)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return []string{AddConstraint(table, c, true)}, nil
		case err != nil:
			return nil, err
		case strings.TrimSuffix(existing, notValid) != strings.TrimSuffix(c.Definition, notValid):
			return nil, differs(table, what, fmt.Sprintf("it is %q, wanted is %q", existing, c.Definition))
		case strings.HasSuffix(existing, notValid) && !strings.HasSuffix(c.Definition, notValid):
			return []string{ValidateConstraint(table, c.Name)}, nil
		}
		return nil, nil
	}})
}
