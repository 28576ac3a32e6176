package mysql

import (
	"fmt"
	"slices"
	"strings"

	"godwit/internal/engine"
)

// tests look for rows that the new form has no place for, or would change.
func (p *reshapePlan) tests() []engine.DataTest {
	var tests []engine.DataTest
	for i := range p.out.Made.Columns {
		tests = append(tests, p.columnTests(&p.out.Made.Columns[i])...)
	}
	for i := range p.out.Made.Indexes {
		if test, needed := p.uniqueTest(&p.out.Made.Indexes[i]); needed {
			tests = append(tests, test)
		}
	}
	for _, check := range p.after.Checks {
		if !slices.ContainsFunc(p.before.Checks, func(old engine.Check) bool { return old.Expression == check.Expression }) {
			tests = append(tests, p.checkTest(check))
		}
	}
	return tests
}

// columnTests are those of a column's values.
func (p *reshapePlan) columnTests(c *engine.Column) []engine.DataTest {
	value, given := p.values[c.Name]
	if !given {
		return nil
	}
	var tests []engine.DataTest
	old := p.table.Column(p.from[c.Name])
	_, said := p.want.Columns[c.Name]
	if !c.Nullable && (said || old.Nullable) {
		tests = append(tests, p.test(c.Name+" must not be NULL", c.Name, value.expr, closed(value.expr)+" IS NULL"))
	}
	if len(value.broken) > 0 {
		what := fmt.Sprintf("%s must be as it is as a %s", c.Name, c.Type.Full)
		tests = append(tests, p.test(what, c.Name, Quote(old.Name), value.condition()))
	}
	return tests
}

// test selects rows for which a condition is true, with their key and a value.
func (p *reshapePlan) test(what, name, value, condition string) engine.DataTest {
	list := make([]string, 0, len(p.table.Key)+1)
	for i, column := range p.table.Key {
		list = append(list, fmt.Sprintf("%s AS k%d", Quote(column), i))
	}
	return engine.DataTest{What: what, Columns: append(slices.Clone(p.table.Key), name),
		Rows: "SELECT " + strings.Join(append(list, closed(value)+" AS value"), ", ") + " FROM " + QuoteName(p.table.Name) + " WHERE " + condition}
}

// uniqueTest looks for rows that have the same values in a unique index. One
// that was there before is tested when it tells fewer values apart now.
func (p *reshapePlan) uniqueTest(x *engine.Index) (engine.DataTest, bool) {
	if !x.Unique || p.tellsAsBefore(x) {
		return engine.DataTest{}, false
	}
	columns := slices.Clone(p.table.Key)
	var inner, own, on, not, group []string
	for i, column := range p.table.Key {
		inner, own = append(inner, fmt.Sprintf("%s AS k%d", Quote(column), i)), append(own, fmt.Sprintf("a.k%d", i))
	}
	var values []string
	for i, part := range x.Parts {
		value, given := p.values[part.Column]
		if part.Expression != "" || !given {
			return engine.DataTest{}, false // known when the rows are there
		}
		t := p.out.Made.Column(part.Column).Type
		expr := compared(t, closed(value.expr))
		if part.Prefix > 0 {
			expr = fmt.Sprintf("LEFT(%s, %d)", expr, part.Prefix)
		}
		name := fmt.Sprintf("u%d", i)
		values = append(values, expr+" AS "+name)
		own, columns = append(own, "a."+name), append(columns, part.Column)
		on, not, group = append(on, "a."+name+" = b."+name), append(not, name+" IS NOT NULL"), append(group, name)
	}
	from := " FROM " + QuoteName(p.table.Name)
	return engine.DataTest{What: strings.Join(columns[len(p.table.Key):], ", ") + " must be unique in " + x.Name, Columns: columns,
		Rows: "SELECT " + strings.Join(own, ", ") + " FROM (SELECT " + strings.Join(append(inner, values...), ", ") + from + ") AS a JOIN (SELECT " + strings.Join(group, ", ") +
			" FROM (SELECT " + strings.Join(values, ", ") + from + ") AS g WHERE " + strings.Join(not, " AND ") + " GROUP BY " + strings.Join(group, ", ") +
			" HAVING COUNT(*) > 1) AS b ON " + strings.Join(on, " AND ")}, true
}

// tellsAsBefore reports whether the table has the same unique index, over columns
// that compare in the same way.
func (p *reshapePlan) tellsAsBefore(x *engine.Index) bool {
	for _, part := range x.Parts {
		old, c := p.table.Column(p.from[part.Column]), p.out.Made.Column(part.Column)
		if _, said := p.want.Columns[part.Column]; said || old == nil || c == nil || old.Generated != "" || c.Generated != "" {
			return part.Expression == "" && old != nil && c != nil && old.Generated == c.Generated && old.Generated != "" && old.Type.Full == c.Type.Full
		}
		if old.Type.Charset != c.Type.Charset || old.Type.Collation != c.Type.Collation || family(old.Type) != family(c.Type) || c.Type.Scale < old.Type.Scale || c.Type.Fraction < old.Type.Fraction {
			return false
		}
	}
	return slices.ContainsFunc(p.table.Indexes, func(old engine.Index) bool {
		// As few columns of it, or fewer, had to be unique before.
		return old.Unique && !slices.ContainsFunc(old.Parts, func(was engine.IndexPart) bool {
			return !slices.ContainsFunc(x.Parts, func(is engine.IndexPart) bool {
				return was.Column != "" && p.from[is.Column] == was.Column && (is.Prefix == 0 || was.Prefix != 0 && was.Prefix <= is.Prefix)
			})
		})
	})
}

// checkTest looks for rows for which a new check is false.
func (p *reshapePlan) checkTest(check engine.Check) engine.DataTest {
	var list, own []string
	for i, column := range p.table.Key {
		list, own = append(list, fmt.Sprintf("%s AS k%d", Quote(column), i)), append(own, fmt.Sprintf("p.k%d", i))
	}
	for i := range p.out.Made.Columns {
		c := &p.out.Made.Columns[i]
		expr := "NULL" // that of a default is for the server to judge
		if value, given := p.values[c.Name]; given {
			expr = closed(value.expr)
		}
		list = append(list, expr+" AS "+Quote(c.Name))
	}
	return engine.DataTest{What: check.Expression, Columns: p.table.Key,
		Rows: "SELECT " + strings.Join(own, ", ") + " FROM (SELECT " + strings.Join(list, ", ") + " FROM " + QuoteName(p.table.Name) + ") AS p WHERE NOT (" + check.Expression + ")"}
}
