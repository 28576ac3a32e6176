package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"godwit/internal/document"
	"godwit/internal/engine"
	"godwit/internal/task"
)

// follow finds out what becomes of each column: it keeps its name, is renamed,
// or is dropped, and each of these the ALTER and the spec have to say alike.
func (p *reshapePlan) follow(context.Context, *clone) error {
	for _, old := range slices.Sorted(maps.Keys(p.want.Renames)) {
		switch name := p.want.Renames[old]; {
		case p.table.Column(old) == nil:
			return p.fault("renames: there is no column %s; %s", old, document.Suggest(old, columnNames(p.table)))
		case p.names[old] == old || p.names[old] == "":
			return p.fault("renames: %s becomes %s, but the ALTER does not say so: add RENAME COLUMN %s TO %s", old, name, Quote(old), Quote(name))
		case p.names[old] != name:
			return p.fault("renames: %s becomes %s, but the ALTER says %s", old, name, p.names[old])
		}
	}
	p.from = map[string]string{}
	for _, old := range columnNames(p.table) {
		name, kept := p.names[old]
		switch {
		case !kept:
		case name != old && p.want.Renames[old] == "":
			return p.fault("alter: it gives column %s the name %s: say so with `renames: {%s: %s}`, so that its values go there", old, name, old, name)
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
		using := p.usings[old]
		var err error
		switch {
		case given:
			if expr, err = p.userValue(ctx, c, "columns", column, expr); err != nil {
				return err
			}
		case old != "" && using != "":
			if expr, err = p.userValue(ctx, c, "alter: USING", column, using); err != nil {
				return err
			}
		case old != "":
			if expr, err = p.plainValue(ctx, c, p.table.Column(old), c.name, column, slices.Contains(p.table.Key, old)); err != nil {
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
		if p.given(name) {
			return p.fault("column %s is of the key (%s), by which rows are told apart: it cannot get another value", k, strings.Join(p.table.Key, ", "))
		}
		if err := p.tellsApart(ctx, c, name); err != nil {
			return err
		}
		f.Key = append(f.Key, name)
	}
	p.out.Forward = f
	return nil
}

// tellsApart refuses a form of a key's column to which different keys are the
// same: the copy of one would be taken for that of another.
func (p *reshapePlan) tellsApart(ctx context.Context, c *clone, column string) error {
	alike, err := ask[bool](ctx, c.tx, `SELECT NOT coalesce(co.collisdeterministic, true) OR b.typtype <> 'e' AND b.typnamespace <> 'pg_catalog'::regnamespace
		FROM pg_attribute a LEFT JOIN pg_collation co ON co.oid = a.attcollation CROSS JOIN LATERAL (
			WITH RECURSIVE made (oid) AS (SELECT a.atttypid UNION ALL SELECT d.typbasetype FROM made JOIN pg_type d USING (oid) WHERE d.typtype = 'd')
			SELECT t.typtype, t.typnamespace FROM made JOIN pg_type t USING (oid) WHERE t.typtype <> 'd') b
		WHERE a.attrelid = $1 AND a.attname = $2`, c.oid, column)
	if err == nil && alike {
		return p.fault("column %s is of the key, by which rows are told apart, and to its new type or collation different values may be the same: keep one that compares exactly", column)
	}
	return err
}

// plainValue is a column as a value of another one, with a cast where the server
// does not make it by itself. What it would round or cut is an error; of a key,
// whose rows are looked for by it, there may be no such value.
func (p *reshapePlan) plainValue(ctx context.Context, c *clone, from *engine.Column, table engine.Name, into *engine.Column, key bool) (string, error) {
	if from.Type.Full == into.Type.Full {
		return Quote(from.Name), nil
	}
	zones := []string{"date", "time", "timetz", "timestamp", "timestamptz"}
	if slices.Contains(zones, from.Type.Base) && slices.Contains(zones, into.Type.Base) && zoned(from.Type) != zoned(into.Type) {
		return "", p.fault("alter: column %s becomes a %s from a %s, and that depends on the time zone of whoever does it: say with USING %s AT TIME ZONE '…' which one it is", into.Name, into.Type.Full, from.Type.Full, Quote(from.Name))
	}
	expr := Quote(from.Name)
	refusal, err := c.prepare(ctx, table, into.Name, "CAST(NULL AS "+from.Type.Full+")")
	if err != nil {
		return "", err
	}
	if refusal != nil {
		expr = "CAST(" + expr + " AS " + into.Type.Full + ")"
		if refusal, err = c.prepare(ctx, table, into.Name, "CAST(CAST(NULL AS "+from.Type.Full+") AS "+into.Type.Full+")"); err != nil {
			return "", err
		}
	}
	if refusal != nil {
		return "", p.fault("column %s cannot be made of a %s: %w; say with USING, or with `columns`, how", into.Name, from.Type.Full, refusal)
	}
	lost, _, err := c.lost(ctx, from, into.Type)
	switch {
	case err != nil:
		return "", err
	case key && lost != "" && quiet(from.Type, into.Type) && !slices.Contains(texting, into.Type.Base):
		return "", p.fault("column %s is of the key, by which rows are told apart, and a %s of a %s would be rounded: keep its digits", from.Name, into.Type.Full, from.Type.Full)
	}
	return exactly(from, into.Type, lost, expr), nil
}

// zoned reports whether values of a type are of a time zone.
func zoned(t engine.Type) bool { return t.Base == "timestamptz" || t.Base == "timetz" }

// prepare lets the server read, and not run, a statement that gives a column of
// a table a value. The refusal is what it has against it.
func (c *clone) prepare(ctx context.Context, table engine.Name, column, selected string) (refusal, err error) {
	return c.refuses(ctx, "PREPARE godwit_value AS INSERT INTO "+QuoteName(table)+" ("+Quote(column)+") OVERRIDING SYSTEM VALUE SELECT "+selected+"; DEALLOCATE godwit_value")
}

// refuses tries a statement and takes it back. What is no judgement of the
// statement is an error.
func (c *clone) refuses(ctx context.Context, statement string) (refusal, err error) {
	if _, err := c.tx.Exec(ctx, "SAVEPOINT tried"); err != nil {
		return nil, err
	}
	_, refusal = c.tx.Exec(ctx, statement)
	if class, known := Classify(refusal); refusal != nil && (!known || class != task.Config && class != task.Data) {
		return nil, refusal
	}
	_, err = c.tx.Exec(ctx, "ROLLBACK TO SAVEPOINT tried")
	return refusal, err
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
		_, using := p.usings[old.Name]
		switch {
		case name != "" && !given && !using && made.Column(name).Generated == "":
			expr, err := p.plainValue(ctx, c, made.Column(name), p.table.Name, old, slices.Contains(made.Key, name))
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
	p.out.Back.Derived = true
	return nil
}

// unique reports whether a unique index has the column.
func (p *reshapePlan) unique(column string) bool {
	return slices.ContainsFunc(p.table.Indexes, func(x engine.Index) bool {
		return x.Unique && slices.ContainsFunc(x.Parts, func(part engine.IndexPart) bool { return part.Column == column })
	})
}
