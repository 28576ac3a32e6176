package mysql

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"godwit/internal/engine"
)

// clashes are the numbers of a value that is there already and has to be unique.
var clashes = []uint16{1022, 1062, 1169, 1586, 1859}

// IsClash reports whether a statement failed because of a value that has to be
// unique.
func (s *Server) IsClash(err error) bool { return slices.Contains(clashes, number(err)) }

// Clashes finds rows of a part that cannot be written because others of the
// other table have values of theirs. What the expressions make of a row is
// compared before it is a value of the other table: where that loses something
// (1.001 as a decimal(5,2)), a clash may not be found.
func (s *Server) Clashes(ctx context.Context, q engine.Querier, c *engine.Capture, p *engine.Projection, part engine.Part) ([]engine.Clash, error) {
	condition, err := partCondition(c.Table, part)
	if err != nil {
		return nil, err
	}
	var found []engine.Clash
	for _, index := range p.Rivals() {
		more, err := readClashes(ctx, q, c, p, index.Name, clashQuery(c, p, &index, condition))
		if err != nil {
			return nil, fmt.Errorf("look for rows that clash in %s of %s: %w", index.Name, p.Into.Name, err)
		}
		found = append(found, more...)
	}
	return found, nil
}

func clashQuery(c *engine.Capture, p *engine.Projection, index *engine.Index, condition string) string {
	var list, on, wanted []string
	for i, column := range c.Table.Key {
		wanted = append(wanted, fmt.Sprintf("%s AS k%d", Quote(column), i))
		list = append(list, keyExpr(c.Table.Column(column).Type, fmt.Sprintf("s.k%d", i)))
	}
	for i, column := range p.Key {
		list = append(list, keyExpr(c.Table.Column(c.Table.Key[i]).Type, "x."+Quote(column)))
	}
	for i, part := range index.Parts {
		expr, _ := p.Expr(part.Column)
		wanted = append(wanted, fmt.Sprintf("%s AS u%d", closed(expr), i))
		left, right := "x."+Quote(part.Column), compared(p.Into.Column(part.Column).Type, fmt.Sprintf("s.u%d", i))
		if part.Prefix > 0 {
			left, right = fmt.Sprintf("LEFT(%s, %d)", left, part.Prefix), fmt.Sprintf("LEFT(%s, %d)", right, part.Prefix)
		}
		on = append(on, left+" = "+right)
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM (SELECT " + strings.Join(wanted, ", ") + " FROM " + QuoteName(c.Table.Name) + " FORCE INDEX (" + Quote(c.Table.KeyName) +
		") WHERE " + condition + ") AS s STRAIGHT_JOIN " + QuoteName(p.Into.Name) + " AS x FORCE INDEX (" + Quote(index.Name) + ") ON " + strings.Join(on, " AND ") +
		" WHERE NOT (" + sameKey(c, p, "x.", func(i int) string { return fmt.Sprintf("s.k%d", i) }) + ")"
}

// compared writes a value so that it is compared as a column of the type compares.
func compared(t engine.Type, expr string) string {
	if t.Charset == "" {
		return expr
	}
	return "CONVERT(" + expr + " USING " + t.Charset + ") COLLATE " + t.Collation
}

func readClashes(ctx context.Context, q engine.Querier, c *engine.Capture, p *engine.Projection, index, query string) ([]engine.Clash, error) {
	rows, err := q.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var found []engine.Clash
	for rows.Next() {
		row, into := newKey(c.Table)
		rival, also := newKey(c.Table)
		if err := rows.Scan(append(into, also...)...); err != nil {
			return nil, err
		}
		found = append(found, engine.Clash{Index: index, Row: row, Rival: rival})
	}
	return found, rows.Err()
}

// sinceEpoch is a time of so many seconds since 1970.
func sinceEpoch(seconds float64) time.Time {
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*1e9)).UTC()
}
