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
	return given || p.usings[column] != "" || p.usings[p.from[column]] != ""
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
	from, into := old.Type, p.after.Column(a.Column).Type
	if from.Full == into.Full {
		return nil
	}
	zones := map[string]bool{"timestamp": true, "timestamptz": true}
	if zones[from.Base] && zones[into.Base] && from.Base != into.Base {
		return p.fault("alter: column %s becomes a %s from a %s, and that depends on the time zone of whoever does it: say with USING %s AT TIME ZONE '…' which one it is", a.Column, into.Full, from.Full, Quote(old.Name))
	}
	lost, known := lossy(from, into, Quote(old.Name))
	if !known {
		var err error
		if lost, err = p.roundTrip(ctx, c, old, into); err != nil {
			return err
		}
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

// wholes are the bounds of whole numbers.
var wholes = map[string][2]string{"int2": {"-32768", "32767"}, "int4": {"-2147483648", "2147483647"}, "int8": {"-9223372036854775808", "9223372036854775807"}}

// wholeDigits is how many digits whole numbers have at the most.
var wholeDigits = map[string]int{"int2": 5, "int4": 10, "int8": 19}

// lossy writes the condition of values of a column that are not the same as
// values of another type; empty when all are. Not known: for lack of a rule.
func lossy(from, into engine.Type, x string) (condition string, known bool) {
	bounds, whole := wholes[into.Base]
	_, wasWhole := wholes[from.Base]
	switch {
	case whole && wasWhole:
		if wholeDigits[from.Base] <= wholeDigits[into.Base] {
			return "", true
		}
		return x + " NOT BETWEEN " + bounds[0] + " AND " + bounds[1], true
	case whole && (from.Base == "numeric" || from.Base == "float4" || from.Base == "float8"):
		return "(" + x + " NOT BETWEEN " + bounds[0] + " AND " + bounds[1] + " OR trunc(" + x + ") <> " + x + ")", true
	case into.Base == "numeric" && into.Precision == 0 && (wasWhole || from.Base == "numeric"):
		return "", true
	case into.Base == "numeric" && (wasWhole || from.Base == "numeric"):
		room := into.Precision - into.Scale
		if wasWhole && room >= wholeDigits[from.Base] || from.Precision > 0 && from.Scale <= into.Scale && from.Precision-from.Scale <= room {
			return "", true
		}
		return fmt.Sprintf("(%s = 'NaN' OR abs(%s) >= 1e%d::numeric OR round(%s, %d) <> %s)", numeric(x), numeric(x), room, numeric(x), into.Scale, numeric(x)), true
	case (into.Base == "varchar" || into.Base == "text") && (from.Base == "varchar" || from.Base == "text" || from.Base == "bpchar" && into.Length == 0):
		if into.Length == 0 || from.Length > 0 && from.Length <= into.Length {
			return "", true
		}
		return fmt.Sprintf("char_length(%s) > %d", x, into.Length), true
	case into.Base == "bpchar" && (from.Base == "varchar" || from.Base == "text"):
		return fmt.Sprintf("(char_length(%s) > %d OR rtrim(%s, ' ') <> %s)", x, into.Length, x, x), true
	case into.Base == "bpchar" && from.Base == "bpchar":
		return fmt.Sprintf("char_length(%s) > %d", x, into.Length), from.Length > 0
	case into.Base == "varchar" && into.Length > 0:
		return fmt.Sprintf("char_length(%s::text) > %d", x, into.Length), true
	case into.Base == "text" || into.Base == "varchar":
		return "", true
	case into.Base == from.Base && into.Fraction >= from.Fraction && from.Fraction >= 0:
		return "", true
	case into.Base == "jsonb" && from.Base == "json":
		return "", true // what a json says, and not how it is written
	case into.Base == "float8" && (from.Base == "float4" || from.Base == "int2" || from.Base == "int4"), into.Base == "timestamp" && from.Base == "date", into.Base == "float4" && from.Base == "int2":
		return "", true
	case into.Base == "float8" && from.Base == "int8":
		return x + " NOT BETWEEN -9007199254740992 AND 9007199254740992", true
	case into.Base == "float4" && wasWhole:
		return x + " NOT BETWEEN -16777216 AND 16777216", true
	case into.Base == "float4" && from.Base == "float8":
		return fmt.Sprintf("CASE WHEN %s IN ('NaN', 'Infinity', '-Infinity', 0) THEN FALSE WHEN abs(%s) NOT BETWEEN 1.2e-38 AND 3.4e38 THEN TRUE ELSE %s::float4::float8 <> %s END", x, x, x, x), true
	}
	return "", false
}

func numeric(x string) string { return x + "::numeric" }

// roundTrip writes that a value is another one when it is made one of another
// type and back again; where there is no way back, nothing is known.
func (p *reshapePlan) roundTrip(ctx context.Context, c *clone, old *engine.Column, into engine.Type) (string, error) {
	back := "CAST(CAST(" + Quote(old.Name) + " AS " + into.Full + ") AS " + old.Type.Full + ")"
	text := "(" + back + `)::text COLLATE "C" IS DISTINCT FROM ` + Quote(old.Name) + `::text COLLATE "C"`
	refusal, err := c.refuses(ctx, "SELECT FROM "+QuoteName(p.table.Name)+" WHERE FALSE AND "+text)
	if refusal != nil {
		p.out.Notes = append(p.out.Notes, fmt.Sprintf("whether every %s stays the same as %s cannot be told, since the server has no way back", old.Name, into.Full))
		return "", nil
	}
	return text, err
}

// refuses tries a statement and takes it back.
func (c *clone) refuses(ctx context.Context, statement string) (refusal, err error) {
	if _, err := c.tx.Exec(ctx, "SAVEPOINT tried"); err != nil {
		return nil, err
	}
	_, refusal = c.tx.Exec(ctx, statement)
	_, err = c.tx.Exec(ctx, "ROLLBACK TO SAVEPOINT tried")
	return refusal, err
}
