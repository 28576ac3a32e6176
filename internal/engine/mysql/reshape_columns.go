package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"godwit/internal/document"
	"godwit/internal/engine"
)

// follow finds out what becomes of each column: it keeps its name, is renamed,
// or is dropped, and each of these the ALTER and the spec have to say alike.
func (p *reshapePlan) follow(context.Context) error {
	p.from = map[string]string{}
	gone := map[string]string{} // dropped, or renamed to
	for _, a := range p.actions {
		old, name := p.moved(a)
		if old == "" {
			continue
		}
		if p.table.Column(old) == nil {
			continue // IF EXISTS
		}
		gone[old] = name
		if name == "" || name == old {
			continue
		}
		said, given := p.want.Renames[old]
		switch {
		case !given:
			return p.fault("alter: %s gives column %s the name %s: say so with `renames: {%s: %s}`, so that its values go there", p.text(a), old, name, old, name)
		case said != name:
			return p.fault("renames: %s becomes %s, but the ALTER says %s", old, said, name)
		}
	}
	for old, name := range p.want.Renames {
		switch {
		case p.table.Column(old) == nil:
			return p.fault("renames: there is no column %s; %s", old, document.Suggest(old, names(p.table)))
		case gone[old] != name:
			return p.fault("renames: %s becomes %s, but the ALTER does not say so: add RENAME COLUMN %s TO %s", old, name, Quote(old), Quote(name))
		}
	}
	for i := range p.table.Columns {
		old := p.table.Columns[i].Name
		name, moved := gone[old]
		if !moved {
			name = old
		}
		if name == "" {
			continue
		}
		if p.after.Column(name) == nil {
			return p.fault("alter: it is not clear what becomes of column %s: write DROP COLUMN, or RENAME COLUMN and `renames`", old)
		}
		p.from[name] = old
	}
	return nil
}

// moved is the column that an action drops or gives a name, which is empty for
// one that is dropped.
func (p *reshapePlan) moved(a []engine.Token) (old, name string) {
	words := a
	skip := func(list ...string) bool {
		if len(words) > 0 && words[0].Is(list...) {
			words = words[1:]
			return true
		}
		return false
	}
	exact := func(name string) string {
		for i := range p.table.Columns {
			if strings.EqualFold(p.table.Columns[i].Name, name) {
				return p.table.Columns[i].Name
			}
		}
		return name
	}
	made := func(name string) string {
		for i := range p.after.Columns {
			if strings.EqualFold(p.after.Columns[i].Name, name) {
				return p.after.Columns[i].Name
			}
		}
		return name
	}
	switch {
	case begins(a, "DROP"):
		skip("DROP")
		if !skip("COLUMN") && len(words) > 1 { // DROP INDEX x, and the like
			return "", ""
		}
		if skip("IF") {
			skip("EXISTS")
		}
		if len(words) == 0 {
			return "", ""
		}
		return exact(words[0].Text), ""
	case begins(a, "CHANGE"):
		skip("CHANGE")
		skip("COLUMN")
		if skip("IF") {
			skip("EXISTS")
		}
		if len(words) < 2 {
			return "", ""
		}
		return exact(words[0].Text), made(words[1].Text)
	case begins(a, "RENAME", "COLUMN"):
		words = words[2:]
		if skip("IF") {
			skip("EXISTS")
		}
		if len(words) < 3 {
			return "", ""
		}
		return exact(words[0].Text), made(words[2].Text)
	}
	return "", ""
}

func names(t *engine.Table) []string {
	list := make([]string, len(t.Columns))
	for i := range t.Columns {
		list[i] = t.Columns[i].Name
	}
	return list
}

// project finds the value of each column of the new form.
func (p *reshapePlan) project(ctx context.Context) error {
	for name := range p.want.Columns {
		c := p.out.Made.Column(name)
		switch {
		case c == nil:
			return p.fault("columns: there is no column %s in the new form; %s", name, document.Suggest(name, names(p.out.Made)))
		case c.Generated != "":
			return p.fault("columns: %s is a generated column, whose values are the server's", name)
		}
	}
	f := &engine.Projection{Into: p.out.Made}
	for i := range p.out.Made.Columns {
		c := &p.out.Made.Columns[i]
		value, err := p.value(ctx, c)
		if err != nil {
			return err
		}
		if value != nil {
			p.values[c.Name] = *value
			f.Columns = append(f.Columns, engine.Assignment{Column: c.Name, Expr: value.guarded()})
		}
	}
	for _, k := range p.table.Key {
		name, err := p.keyColumn(k)
		if err != nil {
			return err
		}
		f.Key = append(f.Key, name)
		f.Apart = f.Apart || comparedApart(p.table.Column(k).Type, p.out.Made.Column(name).Type)
	}
	p.out.Forward = f
	return nil
}

// value is what a column of the new form gets; nil when that is its default.
func (p *reshapePlan) value(ctx context.Context, c *engine.Column) (*conversion, error) {
	expr, given := p.want.Columns[c.Name]
	old := p.from[c.Name]
	switch {
	case c.Generated != "":
		return nil, nil
	case given:
		fits, err := p.expression(ctx, c, expr)
		return &conversion{expr: fits}, err
	case old != "":
		from := p.table.Column(old)
		value, known := convert(from.Type, c.Type, Quote(old))
		if !known {
			return nil, p.fault("column %s becomes a %s from a %s, which can be done in more than one way%s: say how, with `columns: {%s: …}`", c.Name, c.Type.Full, from.Type.Full, zoned(from.Type, c.Type), c.Name)
		}
		return &value, nil
	case c.Default == nil && !c.Nullable && !c.Identity:
		return nil, p.fault("column %s is new, must not be NULL and has no default: say what its values are, with `columns: {%s: …}`", c.Name, c.Name)
	}
	return nil, nil
}

// zoned adds why times are not converted.
func zoned(from, to engine.Type) string {
	if from.Base == "timestamp" || to.Base == "timestamp" {
		return ", by the time zone of whoever asks"
	}
	return ""
}

// expression tries an expression of the user's, and makes it one of the column's type.
func (p *reshapePlan) expression(ctx context.Context, c *engine.Column, expr string) (string, error) {
	what := "columns: " + c.Name
	repeated := engine.Rewrite{Set: []engine.Assignment{{Column: c.Name, Expr: expr}}}
	if !repeated.Repeatable(engine.MySQLDialect) {
		return "", p.fault("%s: %q has to depend on the row's own values alone, since it is evaluated again when rows are compared: use columns, literals, operators and functions of these", what, expr)
	}
	from := " FROM " + QuoteName(p.table.Name) + " WHERE FALSE"
	if err := collect(ctx, p.server.db, func(*sql.Rows) error { return nil }, "SELECT 1"+from+" AND "+alone(expr)+" IS NULL"); err != nil {
		return "", refusal(err, p.table.Name, what, expr)
	}
	rows, err := p.server.db.QueryContext(ctx, "SELECT "+closed(expr)+" AS value"+from)
	if err != nil {
		return "", refusal(err, p.table.Name, what, expr)
	}
	types, err := rows.ColumnTypes()
	if err := errors.Join(err, rows.Close()); err != nil {
		return "", err
	}
	fits := fitted(c.Type, types[0].DatabaseTypeName(), expr)
	if err := collect(ctx, p.server.db, func(*sql.Rows) error { return nil }, "SELECT "+closed(fits)+from); err != nil {
		return "", refusal(err, p.table.Name, what, expr)
	}
	return fits, nil
}

// keyColumn is the column of the new form that has an old column of the key, by
// which rows are found again.
func (p *reshapePlan) keyColumn(old string) (string, error) {
	name := p.to(old)
	if name == "" {
		return "", p.fault("column %s is in the key that rows are found by, and cannot be dropped", old)
	}
	if _, given := p.want.Columns[name]; given {
		return "", p.fault("columns: %s is in the key that rows are found by, and has to keep its values", name)
	}
	from, to := p.table.Column(old).Type, p.out.Made.Column(name).Type
	if p.out.Made.Column(name).Generated != "" {
		return "", p.fault("column %s is in the key that rows are found by, and has to keep its values", name)
	}
	if !alike(from, to) {
		return "", p.fault("column %s of the key becomes a %s from a %s: rows could not be found again by it", name, to.Full, from.Full)
	}
	return name, nil
}

// alike reports whether values of both types are compared in the same way.
func alike(a, b engine.Type) bool {
	number := func(t engine.Type) bool { return family(t) == "int" || t.Base == "decimal" }
	return family(a) == family(b) || number(a) && number(b)
}

// comparedApart reports whether the characters of two types are compared in
// different ways.
func comparedApart(a, b engine.Type) bool {
	return a.Charset != b.Charset || a.Collation != b.Collation
}

// to is what an old column is called in the new form; empty when it is gone.
func (p *reshapePlan) to(old string) string {
	for name, from := range p.from {
		if from == old {
			return name
		}
	}
	return ""
}

// reverse finds the values of the old form.
func (p *reshapePlan) reverse(context.Context) error {
	if !p.want.KeepOld {
		return nil
	}
	if len(p.out.Made.Key) == 0 {
		p.out.OneWay = "rows of the new form cannot be told apart: " + p.out.Made.KeyProblem
		return nil
	}
	into := *p.table
	into.Name = p.out.Old
	r := &engine.Projection{Into: &into}
	for i := range into.Columns {
		c := &into.Columns[i]
		if c.Generated != "" {
			continue
		}
		if value, known := p.taken(c); known {
			r.Columns = append(r.Columns, engine.Assignment{Column: c.Name, Expr: value.guarded()})
			if len(value.broken) > 0 {
				p.out.Notes = append(p.out.Notes, fmt.Sprintf("a value of %s that the old column has no place for, written after the cut-over, stands in the way of a rollback", c.Name))
			}
			continue
		}
		if !c.Nullable && c.Default == nil && !c.Identity {
			p.out.OneWay = fmt.Sprintf("nothing of the new form gives column %s, which must not be NULL and has no default: rows inserted after the cut-over could not be taken back", c.Name)
			return nil
		}
		r.Kept = append(r.Kept, c.Name)
		p.out.Notes = append(p.out.Notes, fmt.Sprintf("nothing of the new form gives column %s: after a rollback, rows have the value of it that they had at the cut-over, and new rows its default", c.Name))
	}
	for _, k := range p.out.Made.Key {
		old := p.from[k]
		if old == "" || !alike(p.out.Made.Column(k).Type, p.table.Column(old).Type) {
			p.out.OneWay = fmt.Sprintf("column %s of the new key is not in the old form as it is in the new one", k)
			return nil
		}
		r.Key = append(r.Key, old)
		r.Apart = r.Apart || comparedApart(p.out.Made.Column(k).Type, p.table.Column(old).Type)
	}
	if len(r.Kept) > 0 && r.KeyTable().KeyName == "" {
		p.out.OneWay = "rows of the old form are not found by the new key"
		return nil
	}
	for _, x := range into.Indexes {
		for _, part := range x.Parts {
			if x.Unique && slices.Contains(r.Kept, part.Column) && !into.Column(part.Column).Nullable {
				p.out.OneWay = fmt.Sprintf("nothing of the new form gives column %s, which has to be unique in %s and must not be NULL: rows written after the cut-over could not be taken back", part.Column, x.Name)
				return nil
			}
		}
	}
	p.out.Reverse, p.out.Back = r, p.server.CaptureOf(p.out.Made)
	p.out.Back.Derived = true
	return nil
}

// taken is the value of an old column out of the new form; false when that does
// not have it.
func (p *reshapePlan) taken(c *engine.Column) (conversion, bool) {
	name := p.to(c.Name)
	if name == "" {
		return conversion{}, false
	}
	if _, given := p.want.Columns[name]; given {
		return conversion{}, false
	}
	return convert(p.out.Made.Column(name).Type, c.Type, Quote(name))
}
