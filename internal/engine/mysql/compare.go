package mysql

import (
	"context"
	"fmt"
	"slices"
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
// some statements, in each of which a table is named once and by its own name.
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
	var matched int64
	if err := readRow(ctx, q, query, &found.Rows, &found.Wrong, &matched); err != nil {
		return found, fmt.Errorf("compare %s with %s: %w", r.Table.Name, r.Shadow, err)
	}
	if !c.single() { // a row with two copies has been counted twice
		if query, err = c.rowsQuery(); err != nil {
			return found, err
		}
		if err := readRow(ctx, q, query, &found.Rows); err != nil {
			return found, fmt.Errorf("count the rows of %s: %w", r.Table.Name, err)
		}
	}
	if query, err = c.copiesQuery(); err != nil {
		return found, err
	}
	if query != "" {
		if err := readRow(ctx, q, query, &found.Copies); err != nil {
			return found, fmt.Errorf("count the rows of %s: %w", r.Shadow, err)
		}
	}
	if !c.bounded() {
		found.Copies += matched
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

// wrongQuery counts the rows, those whose copy is not what it should be, and
// those that have a copy.
func (c comparison) wrongQuery() (string, error) {
	condition, err := c.condition(c.r.Table)
	if err != nil {
		return "", err
	}
	copied := QuoteName(c.r.Forward.Into.Name) + "." + Quote(c.r.Forward.Key[0])
	return "SELECT COUNT(*), COALESCE(SUM(" + c.differs() + "), 0), COUNT(" + copied + ") FROM " + c.joined(c.wanted(), condition), nil
}

// single reports whether the shadow can have no more than one copy of a row.
func (c comparison) single() bool {
	p := c.r.Forward
	return slices.ContainsFunc(p.Into.Indexes, func(x engine.Index) bool {
		return x.Unique && !slices.ContainsFunc(x.Parts, func(part engine.IndexPart) bool { return !slices.Contains(p.Key, part.Column) })
	})
}

// rowsQuery counts the rows.
func (c comparison) rowsQuery() (string, error) {
	condition, err := c.condition(c.r.Table)
	return "SELECT COUNT(*) FROM " + QuoteName(c.r.Table.Name) + " FORCE INDEX (" + Quote(c.r.Table.KeyName) + ") WHERE " + condition, err
}

// bounded reports whether the shadow's rows of a range are those between the
// same bounds in it: not where it compares keys in another way, or puts the
// members of an enum in another order.
func (c comparison) bounded() bool {
	for i, column := range c.r.Table.Key {
		if !comparedAlike(c.r.Table.Column(column).Type, c.r.Forward.Into.Column(c.r.Forward.Key[i]).Type) {
			return false
		}
	}
	return true
}

// copies writes that a row of the shadow is in the part. Where the bounds of a
// range say nothing of it, all are, once: with the part that has the first row.
func (c comparison) copies() (condition string, some bool, err error) {
	switch {
	case c.part.Keys != nil || c.bounded():
		condition, err = c.condition(c.r.Forward.KeyTable())
		return condition, true, err
	case c.part.Within.After != nil:
		return "", false, nil
	}
	return "TRUE", true, nil
}

// copiesQuery counts the shadow's rows of the part; of those that are not in the
// bounds, only the copies of no row.
func (c comparison) copiesQuery() (string, error) {
	if !c.bounded() {
		from, err := c.extra()
		if err != nil || from == "" {
			return "", err
		}
		return "SELECT COUNT(*) FROM " + from, nil
	}
	condition, _, err := c.copies()
	return "SELECT COUNT(*) FROM " + c.shadow() + " WHERE " + condition, err
}

// shadow is the copy, read by its key.
func (c comparison) shadow() string {
	t := c.r.Forward.KeyTable()
	return QuoteName(t.Name) + " FORCE INDEX (" + Quote(t.KeyName) + ")"
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
	if comparedAlike(from, into.Type) {
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

// extra writes the part's copies, as x, of no row; nothing where it has none.
// What is noted as changed is left out.
func (c comparison) extra() (string, error) {
	condition, some, err := c.copies()
	if err != nil || !some {
		return "", err
	}
	var list []string
	for i, column := range c.r.Forward.Key {
		list = append(list, fmt.Sprintf("%s AS k%d", Quote(column), i))
	}
	noted := ""
	if c.part.Keys == nil && !c.bounded() {
		noted = " AND NOT EXISTS (SELECT 1 FROM " + QuoteName(c.r.Capture.Log) + " AS l WHERE " + c.asBefore("l.", c.r.Capture.LogKey, false) + ")"
	}
	name, same := QuoteName(c.r.Table.Name), func(column string) string { return column }
	return "(SELECT " + strings.Join(list, ", ") + " FROM " + c.shadow() + " WHERE " + condition + ") AS x LEFT JOIN " + name + " FORCE INDEX (" + Quote(c.r.Table.KeyName) +
		") ON " + c.asBefore(name+".", same, c.r.Forward.Apart) + " WHERE " + name + "." + Quote(c.r.Table.Key[0]) + " IS NULL" + noted, nil
}

// asBefore writes that columns for the old key, under a prefix, have the values
// of a copy x: compared as the old key is, and byte for byte where that is exact.
func (c comparison) asBefore(prefix string, called func(column string) string, exact bool) string {
	var on []string
	for i, column := range c.r.Table.Key {
		name, value := prefix+Quote(called(column)), fmt.Sprintf("x.k%d", i)
		from, into := c.r.Table.Column(column).Type, c.r.Forward.Into.Column(c.r.Forward.Key[i]).Type
		if comparedAlike(from, into) {
			on = append(on, name+" = "+value)
			continue
		}
		on = append(on, name+" = "+compared(from, value))
		if exact {
			on = append(on, inBytes(name)+" = "+inBytes(value))
		}
	}
	return strings.Join(on, " AND ")
}
