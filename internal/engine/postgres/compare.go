package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"godwit/internal/engine"
)

// Steady writes the statements by which all that a transaction reads is of one moment.
func (s *Server) Steady() []string {
	return []string{"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ"}
}

// comparison is a part of the table that is compared with its copies.
type comparison struct {
	r    *engine.Reshaping
	part engine.Part
	but  []engine.Key
}

// Compare compares a part of the table with the shadow, value by value, in one
// statement.
func (s *Server) Compare(ctx context.Context, q engine.Querier, r *engine.Reshaping, part engine.Part, but []engine.Key) (engine.Compared, error) {
	var found engine.Compared
	c := comparison{r: r, part: part, but: but}
	joined, err := c.joined()
	if err != nil {
		return found, err
	}
	query := "SELECT count(s.here), count(x.here), count(*) FILTER (WHERE s.here AND (x.here IS NULL OR NOT (" + strings.Join(c.same(), " AND ") + "))) FROM " + joined
	if err := readOne(ctx, q, query, &found.Rows, &found.Copies, &found.Wrong); err != nil {
		return found, fmt.Errorf("compare %s with %s: %w", r.Table.Name, r.Shadow, err)
	}
	if !c.apart() { // a row with two copies has been counted twice
		rows, err := c.condition(r.Table)
		if err != nil {
			return found, err
		}
		if err := readOne(ctx, q, "SELECT count(*) FROM "+QuoteName(r.Table.Name)+" WHERE "+rows, &found.Rows); err != nil {
			return found, fmt.Errorf("count the rows of %s: %w", r.Table.Name, err)
		}
	}
	if c.extraApart() {
		var extra int64
		if err := readOne(ctx, q, "SELECT count(*) FROM "+c.extra(), &extra); err != nil {
			return found, fmt.Errorf("look for rows of %s that are not in %s: %w", r.Shadow, r.Table.Name, err)
		}
		found.Copies += extra
	}
	return found, nil
}

// readOne reads the one row of a query.
func readOne(ctx context.Context, q engine.Querier, query string, into ...any) error {
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

// ordered reports whether the shadow's rows of a range of the old key are those
// between the same bounds of its own.
func (c comparison) ordered() bool {
	for i, column := range c.r.Table.Key {
		from, into := c.r.Table.Column(column).Type, c.r.Forward.Into.Column(c.r.Forward.Key[i]).Type
		if from.Collation != into.Collation || orderOf(from) != orderOf(into) || orderOf(from) == from.Full && from.Full != into.Full {
			return false
		}
		if expr, _ := c.r.Forward.Expr(c.r.Forward.Key[i]); expr != Quote(column) {
			return false
		}
	}
	return true
}

// orderOf names what values of a type are ordered as.
func orderOf(t engine.Type) string {
	switch t.Base {
	case "int2", "int4", "int8", "numeric":
		return "number"
	case "text", "varchar":
		return "text"
	case "date", "timestamp", "uuid", "bytea", "bool", "timestamptz", "bpchar", "inet":
		return t.Base
	}
	return t.Full
}

// joined writes the rows, as s, each beside its copy, as x.
func (c comparison) joined() (string, error) {
	p := c.r.Forward
	rows, err := c.condition(c.r.Table)
	if err != nil {
		return "", err
	}
	wanted, copies, on := []string{"TRUE AS here"}, []string{"TRUE AS here"}, make([]string, len(p.Key))
	for i, column := range c.r.Table.Key {
		wanted = append(wanted, fmt.Sprintf("%s AS k%d", Quote(column), i))
		copies = append(copies, fmt.Sprintf("%s AS k%d", Quote(p.Key[i]), i))
		on[i] = c.keyAs(fmt.Sprintf("s.k%d", i), i) + fmt.Sprintf(" = x.k%d", i)
	}
	for i, a := range p.Columns {
		wanted = append(wanted, fmt.Sprintf("%s AS v%d", c.value(a), i))
		copies = append(copies, fmt.Sprintf("%s AS v%d", Quote(a.Column), i))
	}
	text := "(SELECT " + strings.Join(wanted, ", ") + " FROM " + QuoteName(c.r.Table.Name) + " WHERE " + rows + ") AS s "
	join := "LEFT JOIN (SELECT " + strings.Join(copies, ", ") + " FROM " + QuoteName(p.Into.Name)
	if c.part.Keys != nil || c.ordered() {
		join = "FULL" + strings.TrimPrefix(join, "LEFT")
		copies, err := c.condition(p.KeyTable())
		if err != nil {
			return "", err
		}
		join += " WHERE " + copies
	}
	return text + join + ") AS x ON " + strings.Join(on, " AND "), nil
}

// value writes what a column of the copy should be, as a value of its type.
func (c comparison) value(a engine.Assignment) string {
	into := c.r.Forward.Into.Column(a.Column).Type
	for i := range c.r.Table.Columns {
		if from := &c.r.Table.Columns[i]; a.Expr == Quote(from.Name) && from.Type.Full == into.Full {
			return a.Expr
		}
	}
	return "CAST(" + closed(a.Expr) + " AS " + into.Full + ")"
}

// keyAs writes a value of the old key so that it is compared as the copy's.
func (c comparison) keyAs(name string, i int) string {
	from, into := c.r.Table.Column(c.r.Table.Key[i]).Type, c.r.Forward.Into.Column(c.r.Forward.Key[i]).Type
	if from.Full == into.Full && from.Collation == into.Collation {
		return name
	}
	return compared(into, name)
}

// condition writes that a row of a table with the key is in the part.
func (c comparison) condition(t *engine.Table) (string, error) {
	condition, err := partCondition(t, c.part)
	if err != nil || len(c.but) == 0 {
		return condition, err
	}
	but, err := c.notAmong(t)
	return condition + " AND " + but, err
}

// notAmong writes that a row has none of the keys that are left out: in a form
// that is looked up in a hash table, however many they are.
func (c comparison) notAmong(t *engine.Table) (string, error) {
	if len(t.Key) == 1 {
		among, err := keysCondition(t, c.but)
		return "NOT (" + among + ")", err
	}
	rows := make([]string, len(c.but))
	for i, key := range c.but {
		literals := make([]string, len(key))
		for j, value := range key {
			literal, err := Literal(t, t.Key[j], value)
			if err != nil {
				return "", err
			}
			literals[j] = compared(t.Column(t.Key[j]).Type, literal)
		}
		rows[i] = "(" + strings.Join(literals, ", ") + ")"
	}
	on, names := make([]string, len(t.Key)), make([]string, len(t.Key))
	for j, column := range t.Key {
		names[j] = fmt.Sprintf("b%d", j)
		on[j] = "left_out." + names[j] + " = " + Quote(t.Name.Table) + "." + Quote(column)
	}
	return "NOT EXISTS (SELECT FROM (VALUES " + strings.Join(rows, ", ") + ") AS left_out (" + strings.Join(names, ", ") + ") WHERE " + strings.Join(on, " AND ") + ")", nil
}

// same writes that the values of a row and of its copy are the same.
func (c comparison) same() []string {
	list := []string{"TRUE"}
	for i, a := range c.r.Forward.Columns {
		list = append(list, sameValue(c.r.Forward.Into.Column(a.Column).Type, fmt.Sprintf("s.v%d", i), fmt.Sprintf("x.v%d", i)))
	}
	return list
}

// sameValue writes that two values of a type are the same in every respect. A
// numeric of a fixed scale has no two forms of a number.
func sameValue(t engine.Type, a, b string) string {
	if t.Base == "numeric" && t.Precision > 0 {
		return a + " IS NOT DISTINCT FROM " + b
	}
	return same(t, a, b)
}

// apart reports whether the shadow can have no two copies of a row.
func (c comparison) apart() bool {
	key := c.r.Forward.Key
	return slices.ContainsFunc(c.r.Forward.Into.Indexes, func(x engine.Index) bool {
		return x.Unique && x.Predicate == "" && !slices.ContainsFunc(x.Parts, func(part engine.IndexPart) bool { return !slices.Contains(key, part.Column) })
	})
}

// extraApart reports whether copies of no row have to be looked for by
// themselves: where the part's bounds say nothing of the copies. It is done once,
// with the part that has the first row.
func (c comparison) extraApart() bool {
	return c.part.Keys == nil && !c.ordered() && c.part.Within.After == nil
}

// extra writes the copies, as x, of no row, that are not noted as changed.
func (c comparison) extra() string {
	p := c.r.Forward
	rows, notes := make([]string, len(p.Key)), make([]string, len(p.Key))
	for i, column := range c.r.Table.Key {
		name := "x." + Quote(p.Key[i])
		rows[i] = c.keyAs("t."+Quote(column), i) + " = " + name
		notes[i] = c.keyAs("l."+Quote(c.r.Capture.LogKey(column)), i) + " = " + name
	}
	return QuoteName(p.Into.Name) + " AS x WHERE NOT EXISTS (SELECT FROM " + QuoteName(c.r.Table.Name) + " AS t WHERE " + strings.Join(rows, " AND ") +
		") AND NOT EXISTS (SELECT FROM " + QuoteName(c.r.Capture.Log) + " AS l WHERE " + strings.Join(notes, " AND ") + ")"
}

// Disagreements lists rows of a part that differ, and copies of no row.
func (s *Server) Disagreements(ctx context.Context, q engine.Querier, r *engine.Reshaping, part engine.Part, but []engine.Key, limit int) ([]engine.Disagreement, error) {
	c := comparison{r: r, part: part, but: but}
	found, err := c.list(ctx, q, limit)
	if err != nil {
		return nil, fmt.Errorf("list the rows of %s that differ from %s: %w", r.Table.Name, r.Shadow, err)
	}
	if !c.apart() && len(found) < limit {
		twice, err := c.listTwice(ctx, q, limit-len(found))
		if err != nil {
			return nil, fmt.Errorf("list the rows of %s that are more than once in %s: %w", r.Table.Name, r.Shadow, err)
		}
		found = append(found, twice...)
	}
	if c.extraApart() && len(found) < limit {
		extra, err := c.listExtra(ctx, q, limit-len(found))
		if err != nil {
			return nil, fmt.Errorf("list the rows of %s that are not in %s: %w", r.Shadow, r.Table.Name, err)
		}
		found = append(found, extra...)
	}
	return found, nil
}

// list lists rows that have no copy or another one, and copies of no row.
func (c comparison) list(ctx context.Context, q engine.Querier, limit int) ([]engine.Disagreement, error) {
	joined, err := c.joined()
	if err != nil {
		return nil, err
	}
	same := c.same()
	list := []string{"coalesce(s.here, FALSE)", "coalesce(x.here, FALSE)"}
	for i := range c.r.Table.Key {
		list = append(list, fmt.Sprintf("coalesce(s.k%d::text, x.k%d::text)", i, i))
	}
	for i := range c.r.Forward.Columns {
		list = append(list, same[i+1], fmt.Sprintf("s.v%d::text", i), fmt.Sprintf("x.v%d::text", i))
	}
	query := fmt.Sprintf("SELECT %s FROM %s WHERE s.here IS NULL OR x.here IS NULL OR NOT (%s) LIMIT %d", strings.Join(list, ", "), joined, strings.Join(same, " AND "), limit)
	rows, err := q.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var found []engine.Disagreement
	for rows.Next() {
		d, err := c.scan(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, d)
	}
	return found, rows.Err()
}

// scan reads a row of list.
func (c comparison) scan(rows engine.Rows) (d engine.Disagreement, err error) {
	n := len(c.r.Forward.Columns)
	var row, made bool
	key, scan := texts(len(c.r.Table.Key))
	equal := make([]bool, n)
	values, into := texts(2 * n)
	scan = slices.Concat([]any{&row, &made}, scan)
	for i := range n {
		scan = append(scan, &equal[i], into[2*i], into[2*i+1])
	}
	if err := rows.Scan(scan...); err != nil {
		return d, err
	}
	if d.Key, err = keyOf(c.r.Table, key); err != nil {
		return d, err
	}
	switch {
	case !made:
		d.What = "missing"
	case !row:
		d.What = "extra"
	default:
		d.What = "different"
		for i, a := range c.r.Forward.Columns {
			if !equal[i] {
				d.Columns = append(d.Columns, engine.Unlike{Column: a.Column, Want: orNull(values[2*i]), Have: orNull(values[2*i+1])})
			}
		}
	}
	return d, nil
}

func orNull(text *string) string {
	if text == nil {
		return "NULL"
	}
	return *text
}

// listTwice lists rows that have more than one copy.
func (c comparison) listTwice(ctx context.Context, q engine.Querier, limit int) ([]engine.Disagreement, error) {
	joined, err := c.joined()
	if err != nil {
		return nil, err
	}
	list, by := make([]string, len(c.r.Table.Key)), make([]string, len(c.r.Table.Key))
	for i := range c.r.Table.Key {
		by[i] = fmt.Sprintf("s.k%d", i)
		list[i] = by[i] + "::text"
	}
	return c.extras(ctx, q, fmt.Sprintf("SELECT %s FROM %s WHERE s.here AND x.here GROUP BY %s HAVING count(*) > 1 LIMIT %d", strings.Join(list, ", "), joined, strings.Join(by, ", "), limit))
}

// listExtra lists copies of no row.
func (c comparison) listExtra(ctx context.Context, q engine.Querier, limit int) ([]engine.Disagreement, error) {
	list := make([]string, len(c.r.Forward.Key))
	for i, column := range c.r.Forward.Key {
		list[i] = "x." + Quote(column) + "::text"
	}
	return c.extras(ctx, q, fmt.Sprintf("SELECT %s FROM %s LIMIT %d", strings.Join(list, ", "), c.extra(), limit))
}

// extras reads the keys of copies that there should not be.
func (c comparison) extras(ctx context.Context, q engine.Querier, query string) ([]engine.Disagreement, error) {
	rows, err := q.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var found []engine.Disagreement
	for rows.Next() {
		values, into := texts(len(c.r.Table.Key))
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		key, err := keyOf(c.r.Table, values)
		if err != nil {
			return nil, err
		}
		found = append(found, engine.Disagreement{Key: key, What: "extra"})
	}
	return found, rows.Err()
}
