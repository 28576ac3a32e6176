package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"godwit/internal/document"
	"godwit/internal/engine"
	"godwit/internal/task"
)

// follow finds out what becomes of each column: it keeps its name, is renamed,
// or is dropped, and each of these the ALTER and the spec have to say alike.
func (p *reshapePlan) follow(context.Context, *clone) error {
	p.from = map[string]string{}
	for old, name := range p.renamed {
		said, given := p.want.Renames[old]
		switch {
		case p.table.Column(old) == nil:
			continue
		case !given:
			return p.fault("alter: it gives column %s the name %s: say so with `renames: {%s: %s}`, so that its values go there", old, name, old, name)
		case said != name:
			return p.fault("renames: %s becomes %s, but the ALTER says %s", old, said, name)
		}
	}
	for old, name := range p.want.Renames {
		switch {
		case p.table.Column(old) == nil:
			return p.fault("renames: there is no column %s; %s", old, document.Suggest(old, columnNames(p.table)))
		case p.renamed[old] != name:
			return p.fault("renames: %s becomes %s, but the ALTER does not say so: add RENAME COLUMN %s TO %s", old, name, Quote(old), Quote(name))
		}
	}
	for i := range p.table.Columns {
		old := p.table.Columns[i].Name
		name := old
		if to, moved := p.renamed[old]; moved {
			name = to
		}
		dropped := slices.ContainsFunc(p.actions, func(a alterAction) bool { return a.drops && (a.column == old || a.column == name) })
		switch {
		case dropped:
		case p.after.Column(name) == nil:
			return p.fault("alter: it is not clear what becomes of column %s: write DROP COLUMN, or RENAME COLUMN and `renames`", old)
		default:
			p.from[name] = old
		}
	}
	return nil
}

func columnNames(t *engine.Table) []string {
	list := make([]string, len(t.Columns))
	for i := range t.Columns {
		list[i] = t.Columns[i].Name
	}
	return list
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

// project finds the value of each column of the new form.
func (p *reshapePlan) project(ctx context.Context, c *clone) error {
	f := &engine.Projection{Into: p.out.Made}
	for name := range p.want.Columns {
		switch column := p.out.Made.Column(name); {
		case column == nil:
			return p.fault("columns: there is no column %s in the new form; %s", name, document.Suggest(name, columnNames(p.out.Made)))
		case column.Generated != "":
			return p.fault("columns: %s is generated: the server computes it, and it cannot be given a value", name)
		}
	}
	for i := range p.out.Made.Columns {
		column := &p.out.Made.Columns[i]
		if column.Generated != "" {
			continue
		}
		expr, given := p.want.Columns[column.Name]
		old := p.from[column.Name]
		using := p.usings[column.Name]
		if using == "" {
			using = p.usings[old]
		}
		var err error
		switch {
		case given:
			if err = p.tryValue(ctx, c, "columns", column, expr); err != nil {
				return err
			}
		case old != "" && using != "":
			expr = using
			if err = p.tryValue(ctx, c, "alter: USING", column, expr); err != nil {
				return err
			}
		case old != "":
			if expr, err = p.plainValue(ctx, c, p.table.Column(old), c.name, column); err != nil {
				return err
			}
		case column.Nullable || column.Default != nil || column.Identity:
			continue
		default:
			return p.fault("alter: column %s is new, must not be NULL and has no default: say with `columns: {%s: …}` what the rows that are there get", column.Name, column.Name)
		}
		f.Columns = append(f.Columns, engine.Assignment{Column: column.Name, Expr: expr})
	}
	for _, k := range p.table.Key {
		name := p.to(k)
		if name == "" {
			return p.fault("alter: column %s is of the key (%s), by which rows are told apart: keep it", k, strings.Join(p.table.Key, ", "))
		}
		if expr, _ := f.Expr(name); expr != Quote(k) && !strings.HasPrefix(expr, "CAST("+Quote(k)+" AS ") {
			return p.fault("column %s is of the key (%s), by which rows are told apart: it cannot get another value", k, strings.Join(p.table.Key, ", "))
		}
		f.Key = append(f.Key, name)
	}
	p.out.Forward = f
	return nil
}

// plainValue is a column as a value of another one, with a cast where the server
// does not make it by itself.
func (p *reshapePlan) plainValue(ctx context.Context, c *clone, from *engine.Column, table engine.Name, into *engine.Column) (string, error) {
	if from.Type.Full == into.Type.Full {
		return Quote(from.Name), nil
	}
	refusal, err := c.prepare(ctx, table, into.Name, "CAST(NULL AS "+from.Type.Full+")")
	if err != nil {
		return "", err
	}
	if refusal == nil {
		return Quote(from.Name), nil
	}
	cast := "CAST(" + Quote(from.Name) + " AS " + into.Type.Full + ")"
	if refusal, err = c.prepare(ctx, table, into.Name, "CAST(CAST(NULL AS "+from.Type.Full+") AS "+into.Type.Full+")"); err != nil {
		return "", err
	}
	if refusal != nil {
		return "", p.fault("column %s cannot be made of a %s: %w; say with USING, or with `columns`, how", into.Name, from.Type.Full, refusal)
	}
	return cast, nil
}

// prepare lets the server read, and not run, a statement that gives a column of
// a table a value. The refusal is what it has against it.
func (c *clone) prepare(ctx context.Context, table engine.Name, column, selected string) (refusal, err error) {
	if _, err := c.tx.Exec(ctx, "SAVEPOINT value"); err != nil {
		return nil, err
	}
	_, refusal = c.tx.Exec(ctx, "PREPARE godwit_value AS INSERT INTO "+QuoteName(table)+" ("+Quote(column)+") OVERRIDING SYSTEM VALUE SELECT "+selected)
	if refusal == nil {
		_, err = c.tx.Exec(ctx, "DEALLOCATE godwit_value")
	} else if class, known := Classify(refusal); !known || class != task.Config && class != task.Data {
		return nil, refusal
	}
	if _, back := c.tx.Exec(ctx, "ROLLBACK TO SAVEPOINT value"); back != nil {
		return nil, back
	}
	return refusal, err
}

// tryValue tries an expression of the user's on the table, reading no row.
func (p *reshapePlan) tryValue(ctx context.Context, c *clone, what string, column *engine.Column, expr string) error {
	refusal, err := c.prepare(ctx, c.name, column.Name, closed(expr)+" FROM "+QuoteName(p.table.Name))
	if refusal != nil {
		return p.fault("%s: the server refuses %q as a value of %s: %w", what, expr, column.Name, refusal)
	}
	return err
}

// reverse finds the values of the old form.
func (p *reshapePlan) reverse(ctx context.Context, c *clone) error {
	if !p.want.KeepOld {
		return nil
	}
	made := p.out.Made
	if len(made.Key) == 0 {
		p.out.OneWay = "rows of the new form cannot be told apart: " + made.KeyProblem
		return nil
	}
	into := *p.table
	into.Name = p.out.Old
	r := &engine.Projection{Into: &into}
	for i := range into.Columns {
		old := &into.Columns[i]
		if old.Generated != "" {
			continue
		}
		name := p.to(old.Name)
		_, given := p.want.Columns[name]
		_, using := p.usings[name]
		switch {
		case name != "" && !given && !using && made.Column(name).Generated == "":
			expr, err := p.plainValue(ctx, c, made.Column(name), p.table.Name, old)
			if err != nil {
				p.out.OneWay = err.Error()
				return nil
			}
			r.Columns = append(r.Columns, engine.Assignment{Column: old.Name, Expr: expr})
		case !old.Nullable && old.Default == nil && !old.Identity:
			p.out.OneWay = fmt.Sprintf("rows of the new form have no value for %s, which must not be NULL in the old one and has no default", old.Name)
			return nil
		case p.unique(old.Name) && old.Default != nil:
			p.out.OneWay = fmt.Sprintf("rows of the new form have no value for %s, which has to be unique in the old one", old.Name)
			return nil
		default:
			r.Kept = append(r.Kept, old.Name)
		}
	}
	for _, k := range made.Key {
		old := p.from[k]
		if _, found := r.Expr(old); !found || slices.Contains(r.Kept, old) {
			p.out.OneWay = fmt.Sprintf("column %s, by which rows of the new form are told apart, is not in the old one", k)
			return nil
		}
		r.Key = append(r.Key, old)
	}
	if len(r.Kept) > 0 {
		p.out.Notes = append(p.out.Notes, fmt.Sprintf("a rollback after the cut-over leaves %s of rows as it was; rows that are new by then get the default", strings.Join(r.Kept, ", ")))
	}
	p.out.Back, p.out.Reverse = p.server.CaptureOf(made), r
	return nil
}

// unique reports whether a unique index has the column.
func (p *reshapePlan) unique(column string) bool {
	return slices.ContainsFunc(p.table.Indexes, func(x engine.Index) bool {
		return x.Unique && slices.ContainsFunc(x.Parts, func(part engine.IndexPart) bool { return part.Column == column })
	})
}
