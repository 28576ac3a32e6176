package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"godwit/internal/engine"
)

// Steady writes the statements by which all that a transaction reads is of one moment.
func (s *Server) Steady() []string {
	return []string{"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"}
}

// comparison is a part of the table that is compared with its copies.
type comparison struct {
	r    *engine.Reshaping
	part engine.Part
	but  []engine.Key
	// mariadb is the flavor.
	mariadb bool
}

// Compare compares a part of the table with the shadow, value by value. It is
// two statements, in each of which a table is named once and by its own name.
func (s *Server) Compare(ctx context.Context, q engine.Querier, r *engine.Reshaping, part engine.Part, but []engine.Key) (engine.Compared, error) {
	var found engine.Compared
	flavor, _, err := s.learn(ctx)
	if err != nil {
		return found, err
	}
	c := comparison{r: r, part: part, but: but, mariadb: flavor == mariadbFlavor}
	query, err := c.wrongQuery()
	if err != nil {
		return found, err
	}
	if err := readRow(ctx, q, query, &found.Rows, &found.Wrong); err != nil {
		return found, fmt.Errorf("compare %s with %s: %w", r.Table.Name, r.Shadow, err)
	}
	query, err = c.copiesQuery()
	if err != nil {
		return found, err
	}
	if err := readRow(ctx, q, query, &found.Copies); err != nil {
		return found, fmt.Errorf("count the rows of %s: %w", r.Shadow, err)
	}
	return found, nil
}

// readRow reads the one row of a query.
func readRow(ctx context.Context, q engine.Querier, query string, into ...any) error {
	rows, err := q.Query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
	}
	return rows.Err()
}

// wrongQuery counts the rows, and those whose copy is not what it should be.
func (c comparison) wrongQuery() (string, error) {
	condition, err := c.condition(c.r.Table)
	if err != nil {
		return "", err
	}
	return "SELECT COUNT(*), COALESCE(SUM(" + c.differs() + "), 0) FROM " + c.joined(c.wanted(), condition), nil
}

// copiesQuery counts the shadow's rows of the same keys.
func (c comparison) copiesQuery() (string, error) {
	t := c.r.Forward.KeyTable()
	condition, err := c.condition(t)
	if err != nil {
		return "", err
	}
	return "SELECT COUNT(*) FROM " + QuoteName(c.r.Forward.Into.Name) + " FORCE INDEX (" + Quote(t.KeyName) + ") WHERE " + condition, nil
}

// condition writes that a row of a table with the key is in the part.
func (c comparison) condition(t *engine.Table) (string, error) {
	condition, err := partCondition(t, c.part)
	if err != nil || len(c.but) == 0 {
		return condition, err
	}
	but, err := keysCondition(t, c.but)
	return condition + " AND NOT " + but, err
}

// wanted is the SELECT list of the key and of what the copy should have.
func (c comparison) wanted() []string {
	var list []string
	for i, column := range c.r.Table.Key {
		list = append(list, fmt.Sprintf("%s AS k%d", Quote(column), i))
	}
	for i, a := range c.r.Forward.Columns {
		list = append(list, fmt.Sprintf("%s AS e%d", closed(a.Expr), i))
	}
	return list
}

// joined writes the rows, as s, each with its copy, as the shadow is called.
func (c comparison) joined(list []string, condition string) string {
	p := c.r.Forward
	into := QuoteName(p.Into.Name)
	on := make([]string, len(p.Key))
	for i, column := range p.Key {
		on[i] = into + "." + Quote(column) + " = " + c.keyLike(p.Into.Column(column), i)
	}
	return "(SELECT " + strings.Join(list, ", ") + " FROM " + QuoteName(c.r.Table.Name) + " FORCE INDEX (" + Quote(c.r.Table.KeyName) + ") WHERE " + condition +
		") AS s LEFT JOIN " + into + " FORCE INDEX (" + Quote(p.KeyTable().KeyName) + ") ON " + strings.Join(on, " AND ")
}

// keyLike writes a column of the key so that it is compared as the copy's.
func (c comparison) keyLike(into *engine.Column, i int) string {
	from := c.r.Table.Column(c.r.Table.Key[i]).Type
	name := fmt.Sprintf("s.k%d", i)
	if from.Charset == into.Type.Charset && from.Collation == into.Type.Collation {
		return name
	}
	return compared(into.Type, name)
}

// differs writes that a row's copy is not there or has another value.
func (c comparison) differs() string {
	into := QuoteName(c.r.Forward.Into.Name)
	parts := []string{into + "." + Quote(c.r.Forward.Key[0]) + " IS NOT NULL"}
	for i, a := range c.r.Forward.Columns {
		parts = append(parts, c.same(c.r.Forward.Into.Column(a.Column).Type, fmt.Sprintf("s.e%d", i), into+"."+Quote(a.Column)))
	}
	return "NOT (" + strings.Join(parts, " AND ") + ")"
}

// same writes that two values are the same, byte for byte. MySQL compares by a
// collation that says so in half the time that a conversion to bytes takes.
func (c comparison) same(t engine.Type, a, b string) string {
	switch {
	case !c.mariadb && t.Charset == "utf8mb4":
		return a + " <=> " + b + " COLLATE utf8mb4_0900_bin"
	case geometries[t.Base]:
		return "HEX(" + a + ") <=> HEX(" + b + ")"
	}
	return same(t, a, b)
}

// geometries are the types of shapes.
var geometries = map[string]bool{"geometry": true, "point": true, "linestring": true, "polygon": true, "multipoint": true, "multilinestring": true,
	"multipolygon": true, "geomcollection": true, "geometrycollection": true}

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
	extra, err := c.listExtra(ctx, q, limit-len(found))
	if err != nil {
		return nil, fmt.Errorf("list the rows of %s that are not in %s: %w", r.Shadow, r.Table.Name, err)
	}
	return append(found, extra...), nil
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

// listExtra lists copies of no row.
func (c comparison) listExtra(ctx context.Context, q engine.Querier, limit int) ([]engine.Disagreement, error) {
	p, t := c.r.Forward, c.r.Forward.KeyTable()
	condition, err := c.condition(t)
	if err != nil {
		return nil, err
	}
	name := QuoteName(c.r.Table.Name)
	var list, on, keys []string
	for i, column := range p.Key {
		list = append(list, fmt.Sprintf("%s AS k%d", Quote(column), i))
		old := c.r.Table.Column(c.r.Table.Key[i])
		value := fmt.Sprintf("x.k%d", i)
		keys = append(keys, keyExpr(old.Type, value))
		if into := p.Into.Column(column).Type; into.Charset != old.Type.Charset || into.Collation != old.Type.Collation {
			value = compared(old.Type, value)
		}
		on = append(on, name+"."+Quote(old.Name)+" = "+value)
	}
	query := fmt.Sprintf("SELECT %s FROM (SELECT %s FROM %s FORCE INDEX (%s) WHERE %s) AS x LEFT JOIN %s FORCE INDEX (%s) ON %s WHERE %s IS NULL LIMIT %d", strings.Join(keys, ", "),
		strings.Join(list, ", "), QuoteName(p.Into.Name), Quote(t.KeyName), condition, name, Quote(c.r.Table.KeyName), strings.Join(on, " AND "), name+"."+Quote(c.r.Table.Key[0]), limit)
	rows, err := q.Query(ctx, query)
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
