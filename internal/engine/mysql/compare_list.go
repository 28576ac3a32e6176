package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"godwit/internal/engine"
)

// Disagreements lists rows of a part that differ, and then copies of no row.
func (s *Server) Disagreements(ctx context.Context, q engine.Querier, r *engine.Reshaping, part engine.Part, but []engine.Key, limit int) ([]engine.Disagreement, error) {
	flavor, _, err := s.learn(ctx)
	if err != nil {
		return nil, err
	}
	c := comparison{r: r, part: part, but: but, mariadb: flavor == mariadbFlavor}
	found, err := c.listWrong(ctx, q, limit)
	if err != nil {
		return nil, fmt.Errorf("list the rows of %s that differ from %s: %w", r.Table.Name, r.Shadow, err)
	}
	if len(found) >= limit {
		return found, nil
	}
	for _, list := range []func() (string, error){c.extraList, c.doubleList} {
		query, err := list()
		if err != nil {
			return nil, err
		}
		extra, err := c.listExtra(ctx, q, query, limit-len(found))
		if err != nil {
			return nil, fmt.Errorf("list the rows of %s that are not in %s: %w", r.Shadow, r.Table.Name, err)
		}
		found = append(found, extra...)
	}
	return found, nil
}

// listWrong lists rows whose copies are missing or different.
func (c comparison) listWrong(ctx context.Context, q engine.Querier, limit int) ([]engine.Disagreement, error) {
	condition, err := c.condition(c.r.Table)
	if err != nil {
		return nil, err
	}
	p, into := c.r.Forward, QuoteName(c.r.Forward.Into.Name)
	var list []string
	for i, column := range c.r.Table.Key {
		list = append(list, keyExpr(c.r.Table.Column(column).Type, fmt.Sprintf("s.k%d", i)))
	}
	list = append(list, into+"."+Quote(p.Key[0])+" IS NOT NULL")
	for i, a := range p.Columns {
		t := p.Into.Column(a.Column).Type
		want, have := fmt.Sprintf("s.e%d", i), into+"."+Quote(a.Column)
		list = append(list, c.same(t, want, have), shown(t, want), shown(t, have))
	}
	query := fmt.Sprintf("SELECT %s FROM %s WHERE %s LIMIT %d", strings.Join(list, ", "), c.joined(c.wanted(), condition), c.differs(), limit)
	rows, err := q.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var found []engine.Disagreement
	for rows.Next() {
		key, scan := newKey(c.r.Table)
		var there bool
		equal, want, have := make([]bool, len(p.Columns)), make([]sql.NullString, len(p.Columns)), make([]sql.NullString, len(p.Columns))
		scan = append(scan, &there)
		for i := range p.Columns {
			scan = append(scan, &equal[i], &want[i], &have[i])
		}
		if err := rows.Scan(scan...); err != nil {
			return nil, err
		}
		d := engine.Disagreement{Key: key, What: "missing"}
		if there {
			d.What = "different"
			for i, a := range p.Columns {
				if !equal[i] {
					d.Columns = append(d.Columns, engine.Unlike{Column: a.Column, Want: orNull(want[i]), Have: orNull(have[i])})
				}
			}
		}
		found = append(found, d)
	}
	return found, rows.Err()
}

// extraList lists copies of no row.
func (c comparison) extraList() (string, error) {
	from, err := c.extra()
	if err != nil || from == "" {
		return "", err
	}
	var keys []string
	for i, column := range c.r.Table.Key {
		keys = append(keys, keyExpr(c.r.Table.Column(column).Type, fmt.Sprintf("x.k%d", i)))
	}
	return "SELECT " + strings.Join(keys, ", ") + " FROM " + from, nil
}

// doubleList lists rows that have more than one copy; nothing where none can.
func (c comparison) doubleList() (string, error) {
	if c.single() {
		return "", nil
	}
	condition, some, err := c.copies()
	if err != nil || !some {
		return "", err
	}
	list := strings.Join(keyExprs(c.r.Forward.KeyTable()), ", ")
	return "SELECT " + list + " FROM " + c.shadow() + " WHERE " + condition + " GROUP BY " + list + " HAVING COUNT(*) > 1", nil
}

// listExtra lists copies that there should not be, by the key of a query.
func (c comparison) listExtra(ctx context.Context, q engine.Querier, query string, limit int) ([]engine.Disagreement, error) {
	if query == "" || limit <= 0 {
		return nil, nil
	}
	rows, err := q.Query(ctx, fmt.Sprintf("%s LIMIT %d", query, limit))
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var found []engine.Disagreement
	for rows.Next() {
		key, into := newKey(c.r.Table)
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		found = append(found, engine.Disagreement{Key: key, What: "extra"})
	}
	return found, rows.Err()
}

// shown writes a value as text.
func shown(t engine.Type, expr string) string {
	if geometries[t.Base] {
		return "CONCAT('0x', LOWER(HEX(" + expr + ")))"
	}
	switch t.Base {
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "vector":
		return "CONCAT('0x', LOWER(HEX(" + expr + ")))"
	case "bit":
		return "CAST(CAST(" + expr + " AS UNSIGNED) AS CHAR)"
	}
	return "CAST(" + expr + " AS CHAR)"
}

func orNull(v sql.NullString) string {
	if !v.Valid {
		return "NULL"
	}
	return v.String
}
