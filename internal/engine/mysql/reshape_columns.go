package mysql

import (
	"context"
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
	f := &engine.Projection{Into: p.out.Made}
	for name := range p.want.Columns {
		if p.out.Made.Column(name) == nil {
			return p.fault("columns: there is no column %s in the new form; %s", name, document.Suggest(name, names(p.out.Made)))
		}
	}
	for i := range p.out.Made.Columns {
		c := &p.out.Made.Columns[i]
		expr, given := p.want.Columns[c.Name]
		old := p.from[c.Name]
		switch {
		case c.Generated != "":
		case given:
			f.Columns = append(f.Columns, engine.Assignment{Column: c.Name, Expr: expr})
		case old != "":
			f.Columns = append(f.Columns, engine.Assignment{Column: c.Name, Expr: Quote(old)})
		}
	}
	for _, k := range p.table.Key {
		f.Key = append(f.Key, p.to(k))
	}
	p.out.Forward = f
	return nil
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
	p.out.Back = p.server.CaptureOf(p.out.Made)
	r := &engine.Projection{Into: &into}
	for i := range into.Columns {
		c := &into.Columns[i]
		if name := p.to(c.Name); name != "" && c.Generated == "" && p.out.Made.Column(name).Generated == "" {
			r.Columns = append(r.Columns, engine.Assignment{Column: c.Name, Expr: Quote(name)})
		}
	}
	for _, k := range p.out.Made.Key {
		r.Key = append(r.Key, p.from[k])
	}
	p.out.Reverse = r
	return nil
}
