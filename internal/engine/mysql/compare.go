package mysql

import (
	"context"
	"database/sql"
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
	if r.Forward.Apart {
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

// copiesQuery counts the shadow's rows of the same keys. Where that compares keys
// in another way, it has others between the same bounds: then it counts, once,
// the copies of no row.
func (c comparison) copiesQuery() (string, error) {
	if c.r.Forward.Apart {
		from, err := c.extra()
		if err != nil || from == "" {
			return "", err
		}
		return "SELECT COUNT(*) FROM " + from, nil
	}
	t := c.copyTable()
	condition, err := c.condition(t)
	return "SELECT COUNT(*) FROM " + QuoteName(t.Name) + " FORCE INDEX (" + Quote(t.KeyName) + ") WHERE " + condition, err
}

// copyTable describes the shadow as a table whose key has the values of the old
// one, and the order of these: that of an enum may be another one by now.
func (c comparison) copyTable() *engine.Table {
	t := c.r.Forward.KeyTable()
	t.Columns = slices.Clone(t.Columns)
	for i, name := range t.Key {
		t.Column(name).Type = c.r.Table.Column(c.r.Table.Key[i]).Type
	}
	return t
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

// extra writes the copies, as x, of no row; nothing where they are looked for
// with another part: where the part's bounds say nothing of the copies, it is
// done with the part that has the first row, and leaves out what is noted.
func (c comparison) extra() (string, error) {
	p, t, name := c.r.Forward, c.copyTable(), QuoteName(c.r.Table.Name)
	unbounded := p.Apart && c.part.Keys == nil
	condition, noted := "TRUE", ""
	switch {
	case unbounded && c.part.Within.After != nil:
		return "", nil
	case unbounded:
		noted = " AND NOT EXISTS (SELECT 1 FROM " + QuoteName(c.r.Capture.Log) + " AS l WHERE " + c.asBefore("l.", c.r.Capture.LogKey, false) + ")"
	default:
		var err error
		if condition, err = c.condition(t); err != nil {
			return "", err
		}
	}
	var list []string
	for i, column := range p.Key {
		list = append(list, fmt.Sprintf("%s AS k%d", Quote(column), i))
	}
	old := func(column string) string { return column }
	return "(SELECT " + strings.Join(list, ", ") + " FROM " + QuoteName(t.Name) + " FORCE INDEX (" + Quote(t.KeyName) + ") WHERE " + condition + ") AS x LEFT JOIN " + name +
		" FORCE INDEX (" + Quote(c.r.Table.KeyName) + ") ON " + c.asBefore(name+".", old, p.Apart) + " WHERE " + name + "." + Quote(c.r.Table.Key[0]) + " IS NULL" + noted, nil
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
	t := c.copyTable()
	condition, err := c.condition(t)
	if err != nil {
		return "", err
	}
	list := strings.Join(keyExprs(t), ", ")
	return "SELECT " + list + " FROM " + QuoteName(t.Name) + " FORCE INDEX (" + Quote(t.KeyName) + ") WHERE " + condition + " GROUP BY " + list + " HAVING COUNT(*) > 1", nil
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
