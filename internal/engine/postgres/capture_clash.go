package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"godwit/internal/engine"
)

// The SQLSTATEs of a value that is there already and has to be unique, or that
// excludes another one.
const (
	uniqueViolation    = "23505"
	exclusionViolation = "23P01"
)

// IsClash reports whether a statement failed because of a value that has to be
// unique.
func (s *Server) IsClash(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == uniqueViolation || e.Code == exclusionViolation)
}

// Clashes finds rows of a part that cannot be written because others of the
// other table have values of theirs.
func (s *Server) Clashes(ctx context.Context, q engine.Querier, c *engine.Capture, p *engine.Projection, part engine.Part) ([]engine.Clash, error) {
	condition, err := partCondition(c.Table, part)
	if err != nil {
		return nil, err
	}
	var found []engine.Clash
	for _, index := range p.Rivals() {
		more, err := readClashes(ctx, q, c, index.Name, clashQuery(c, p, &index, condition))
		if err != nil {
			return nil, fmt.Errorf("look for rows that clash in %s of %s: %w", index.Name, p.Into.Name, err)
		}
		found = append(found, more...)
	}
	return found, nil
}

func clashQuery(c *engine.Capture, p *engine.Projection, index *engine.Index, condition string) string {
	var list, on, same, wanted []string
	for i, column := range c.Table.Key {
		wanted = append(wanted, fmt.Sprintf("%s AS k%d", Quote(column), i))
		name := fmt.Sprintf("s.k%d", i)
		list = append(list, name+"::text")
		same = append(same, "x."+Quote(p.Key[i])+" = "+compared(p.Into.Column(p.Key[i]).Type, name))
	}
	for _, column := range p.Key {
		list = append(list, "x."+Quote(column)+"::text")
	}
	for i, part := range index.Parts {
		expr, _ := p.Expr(part.Column)
		wanted = append(wanted, fmt.Sprintf("%s AS u%d", closed(expr), i))
		on = append(on, "x."+Quote(part.Column)+" = "+compared(p.Into.Column(part.Column).Type, fmt.Sprintf("s.u%d", i)))
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM (SELECT " + strings.Join(wanted, ", ") + " FROM " + QuoteName(c.Table.Name) +
		" WHERE " + condition + ") AS s JOIN " + QuoteName(p.Into.Name) + " AS x ON " + strings.Join(on, " AND ") +
		" WHERE NOT (" + strings.Join(same, " AND ") + ")"
}

func readClashes(ctx context.Context, q engine.Querier, c *engine.Capture, index, query string) ([]engine.Clash, error) {
	rows, err := q.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var found []engine.Clash
	n := len(c.Table.Key)
	for rows.Next() {
		values, into := texts(2 * n)
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		clash := engine.Clash{Index: index}
		if clash.Row, err = keyOf(c.Table, values[:n]); err != nil {
			return nil, err
		}
		if clash.Rival, err = keyOf(c.Table, values[n:]); err != nil {
			return nil, err
		}
		found = append(found, clash)
	}
	return found, rows.Err()
}
