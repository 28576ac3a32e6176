package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"godwit/internal/engine"
)

// tests look for rows that the new form has no place for, or would change: first
// values that do not fit, so that those that are computed of them are no errors.
func (p *reshapePlan) tests(ctx context.Context, c *clone) error {
	references := p.out.Tests
	p.out.Tests = nil
	for _, a := range p.out.Forward.Columns {
		if err := p.fits(ctx, c, a); err != nil {
			return err
		}
	}
	for _, a := range p.out.Forward.Columns {
		if p.given(a.Column) { // all of them are computed, and none is found
			value := compared(p.after.Column(a.Column).Type, closed(a.Expr))
			p.out.Tests = append(p.out.Tests, engine.DataTest{What: a.Column + " has to be computed", Columns: p.table.Key, Each: []string{value},
				Rows: "SELECT " + quoteList(p.table.Key) + " FROM " + QuoteName(p.table.Name) + " WHERE CASE WHEN " + value + " IS NULL THEN FALSE ELSE FALSE END"})
		}
	}
	for _, a := range p.out.Forward.Columns {
		old := p.from[a.Column]
		given := p.given(a.Column)
		if column := p.after.Column(a.Column); !column.Nullable && (given || p.table.Column(old).Nullable) {
			p.test(a.Column+" must not be NULL", []string{a.Column}, closed(a.Expr)+" IS NULL", "")
		}
	}
	for _, k := range p.made.checks {
		if p.notValid(k) || p.sameCheck(k) {
			continue
		}
		i := slices.IndexFunc(p.after.Checks, func(check engine.Check) bool { return check.Name == k.name })
		p.test(p.after.Checks[i].Expression, nil, "", "NOT ("+p.after.Checks[i].Expression+")")
	}
	for i := range p.after.Indexes {
		p.uniqueTest(&p.after.Indexes[i])
	}
	p.out.Tests = append(p.out.Tests, references...)
	return nil
}

// given reports whether the spec or the ALTER says what a column's values are.
func (p *reshapePlan) given(column string) bool {
	_, given := p.want.Columns[column]
	old := p.from[column]
	return given || old != "" && p.usings[old] != ""
}

// changed reports whether a column's values may not be what they are now.
func (p *reshapePlan) changed(column string) bool {
	old := p.from[column]
	if old == "" || p.given(column) {
		return true
	}
	from, into := p.table.Column(old).Type, p.after.Column(column).Type
	return from.Full != into.Full || from.Collation != into.Collation
}

// sameCheck reports whether a check was there before and is about values that
// stay what they are.
func (p *reshapePlan) sameCheck(k shapeCheck) bool {
	was := func(check engine.Check) bool { return check.Name == k.name }
	i, j := slices.IndexFunc(p.before.Checks, was), slices.IndexFunc(p.after.Checks, was)
	if i < 0 || p.before.Checks[i].Expression != p.after.Checks[j].Expression {
		return false
	}
	return !slices.ContainsFunc(p.after.Columns, func(c engine.Column) bool { return p.changed(c.Name) && strings.Contains(k.definition, c.Name) })
}

// test adds a test. The condition is about the table's columns, and with about
// those of the new form, as they will be.
func (p *reshapePlan) test(what string, columns []string, condition, with string) {
	f := p.out.Forward
	names := slices.Clone(f.Key)
	for _, column := range columns {
		if !slices.Contains(names, column) {
			names = append(names, column)
		}
	}
	text := "SELECT " + quoteList(names) + " FROM (" + p.becomes(condition) + ") AS becomes"
	if with != "" {
		text += " WHERE " + with
	}
	p.out.Tests = append(p.out.Tests, engine.DataTest{What: what, Columns: names, Rows: text})
}

// becomes writes the rows as they will be.
func (p *reshapePlan) becomes(condition string) string {
	var list []string
	for _, a := range p.out.Forward.Columns {
		list = append(list, p.becoming(a)+" AS "+Quote(a.Column))
	}
	text := "SELECT " + strings.Join(list, ", ") + " FROM " + QuoteName(p.table.Name)
	if condition != "" {
		text = "SELECT " + strings.Join(list, ", ") + " FROM " + QuoteName(p.table.Name) + " WHERE " + condition
	}
	return text
}

// becoming writes a value as it will be.
func (p *reshapePlan) becoming(a engine.Assignment) string {
	if !p.changed(a.Column) {
		return a.Expr
	}
	return compared(p.after.Column(a.Column).Type, closed(a.Expr))
}

// uniqueTest looks for rows of which only one can be there, if that is new.
func (p *reshapePlan) uniqueTest(x *engine.Index) {
	if !x.Unique {
		return
	}
	before := slices.IndexFunc(p.before.Indexes, func(old engine.Index) bool { return old.Name == x.Name && old.Definition == x.Definition })
	fresh := before < 0
	var parts, columns, filled []string
	for _, part := range x.Parts {
		text := Quote(part.Column)
		if part.Expression != "" {
			text = "(" + part.Expression + ")"
			fresh = true
		} else {
			if p.out.Made.Column(part.Column).Generated != "" {
				return // computed by the server: a duplicate is met when the index is built
			}
			if _, found := p.out.Forward.Expr(part.Column); !found {
				return // new, with values of its own
			}
			columns = append(columns, part.Column)
			fresh = fresh || p.changed(part.Column)
		}
		parts, filled = append(parts, text), append(filled, text+" IS NOT NULL")
	}
	if !fresh {
		return
	}
	if x.Predicate != "" {
		filled = append(filled, closed(x.Predicate))
	}
	names := slices.Clone(p.out.Forward.Key)
	for _, column := range columns {
		if !slices.Contains(names, column) {
			names = append(names, column)
		}
	}
	text := "SELECT " + quoteList(names) + " FROM (SELECT *, count(*) OVER (PARTITION BY " + strings.Join(parts, ", ") + ") AS godwit_same FROM (" + p.becomes("") + ") AS becomes WHERE " +
		strings.Join(filled, " AND ") + ") AS counted WHERE godwit_same > 1"
	p.out.Tests = append(p.out.Tests, engine.DataTest{What: strings.Join(parts, ", ") + " must be unique", Columns: names, Rows: text})
}

// fits tests whether a value that is taken over stays what it is.
func (p *reshapePlan) fits(ctx context.Context, c *clone, a engine.Assignment) error {
	if p.given(a.Column) {
		return nil
	}
	old := p.table.Column(p.from[a.Column])
	into := p.after.Column(a.Column).Type
	lost, known, err := c.lost(ctx, old, into)
	if err != nil {
		return err
	}
	if !known {
		p.out.Notes = append(p.out.Notes, fmt.Sprintf("whether every %s stays the same as %s cannot be told, since the server has no way back", old.Name, into.Full))
	}
	if lost == "" {
		return nil
	}
	names := slices.Clone(p.table.Key)
	if !slices.Contains(names, old.Name) {
		names = append(names, old.Name)
	}
	p.out.Tests = append(p.out.Tests, engine.DataTest{What: fmt.Sprintf("%s must stay what it is as %s", old.Name, into.Full), Columns: names,
		Rows: "SELECT " + quoteList(names) + " FROM " + QuoteName(p.table.Name) + " WHERE " + lost})
	return nil
}
