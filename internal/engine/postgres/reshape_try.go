package postgres

import (
	"context"
	"slices"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/task"
)

// tryAttached tries on the clone what hangs on the table: whether it fits the
// new form.
func (p *reshapePlan) tryAttached(ctx context.Context, c *clone) error {
	h := p.hangs
	path, err := ask[string](ctx, c.tx, "SELECT current_setting('search_path')")
	if err != nil {
		return err
	}
	if _, err := c.tx.Exec(ctx, "SELECT set_config('search_path', $1, true)", Quote(p.table.Name.Schema)); err != nil {
		return err
	}
	for _, x := range slices.Concat(h.triggers, h.once, h.publications) {
		if x.tried == "" {
			continue
		}
		if err := p.tryOne(ctx, c, x.name, strings.ReplaceAll(x.tried, tableMark, QuoteName(c.name)), ""); err != nil {
			return err
		}
	}
	for _, v := range h.views {
		if err := p.tryOne(ctx, c, v.name, "CREATE TEMPORARY VIEW godwit_view AS "+v.tried, strings.TrimPrefix(v.name, "view ")); err != nil {
			return err
		}
	}
	var kept []oldStatistics
	for _, x := range h.statistics {
		if p.tryOne(ctx, c, "statistics "+x.name, x.create("godwit_statistics", QuoteName(c.name)), "") == nil {
			kept = append(kept, x)
		} else {
			p.out.Notes = append(p.out.Notes, "the extended statistics "+x.name+" are about columns that change, and go")
		}
	}
	h.statistics = kept
	if _, err := c.tx.Exec(ctx, "SELECT set_config('search_path', $1, true)", path); err != nil {
		return err
	}
	return p.tryReferences(ctx, c)
}

// tryOne tries one thing, and takes it back. A view must have the columns that
// it has.
func (p *reshapePlan) tryOne(ctx context.Context, c *clone, name, statement, view string) error {
	if _, err := c.tx.Exec(ctx, "SAVEPOINT attached"); err != nil {
		return err
	}
	_, refusal := c.tx.Exec(ctx, statement)
	same := true
	if refusal == nil && view != "" {
		var err error
		same, err = ask[bool](ctx, c.tx, `SELECT NOT EXISTS (SELECT FROM (SELECT attnum, attname, atttypid, atttypmod, attcollation FROM pg_attribute WHERE attrelid = 'pg_temp.godwit_view'::regclass AND attnum > 0) a
			FULL JOIN (SELECT attnum, attname, atttypid, atttypmod, attcollation FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0) b USING (attnum)
			WHERE (a.attname, a.atttypid, a.atttypmod, a.attcollation) IS DISTINCT FROM (b.attname, b.atttypid, b.atttypmod, b.attcollation))`, view)
		if err != nil {
			return err
		}
	}
	if _, err := c.tx.Exec(ctx, "ROLLBACK TO SAVEPOINT attached"); err != nil {
		return err
	}
	switch class, known := Classify(refusal); {
	case refusal != nil && known && (class == task.Config || class == task.Data):
		return p.fault("%s of %s does not fit what the ALTER makes of it: change or drop that first: %w", name, p.table.Name, refusal)
	case refusal != nil:
		return refusal
	case !same:
		return p.fault("%s has columns of %s whose type or collation would change, and a view's cannot: drop it first, and make it anew afterwards", name, p.table.Name)
	}
	return nil
}

// tryReferences makes sure that foreign keys can refer to the new form, and that
// those of the table itself go on to compare.
func (p *reshapePlan) tryReferences(ctx context.Context, c *clone) error {
	compare := func(k foreignKey, columns []string, other engine.Name, others []string) error {
		on := make([]string, len(columns))
		for i := range columns {
			on[i] = "a." + Quote(columns[i]) + " = b." + Quote(others[i])
		}
		return p.tryOne(ctx, c, "foreign key "+k.name, "SELECT FROM "+QuoteName(c.name)+" a, "+QuoteName(other)+" b WHERE FALSE AND "+strings.Join(on, " AND "), "")
	}
	for _, k := range p.hangs.incoming {
		columns, found := p.become(k.refColumns)
		if !found || !p.isUnique(columns) {
			return p.fault("foreign key %s of %s refers to (%s) of %s, which would no longer be unique: drop it first", k.name, k.table, strings.Join(k.refColumns, ", "), p.table.Name)
		}
		if err := compare(k, columns, k.table, k.columns); err != nil {
			return err
		}
	}
	for _, k := range p.hangs.outgoing {
		if slices.Contains(p.goneKeys, k.name) {
			continue
		}
		columns, found := p.become(k.columns)
		switch {
		case !found: // it goes with its column
			p.goneKeys = append(p.goneKeys, k.name)
		case k.ref == p.table.Name:
			if refs, found := p.become(k.refColumns); !found || !p.isUnique(refs) {
				return p.fault("foreign key %s refers to (%s) of %s itself, which would no longer be unique: drop it first", k.name, strings.Join(k.refColumns, ", "), p.table.Name)
			}
		default:
			if err := compare(k, columns, k.ref, k.refColumns); err != nil {
				return err
			}
		}
	}
	return nil
}

// become is what old columns are called in the new form; not found when one is gone.
func (p *reshapePlan) become(columns []string) ([]string, bool) {
	list := make([]string, len(columns))
	for i, column := range columns {
		if list[i] = p.to(column); list[i] == "" {
			return nil, false
		}
	}
	return list, true
}

// isUnique reports whether the new form has a unique index of just these columns.
func (p *reshapePlan) isUnique(columns []string) bool {
	return slices.ContainsFunc(p.after.Indexes, func(x engine.Index) bool {
		if !x.Unique || x.Predicate != "" || len(x.Parts) != len(columns) {
			return false
		}
		return !slices.ContainsFunc(x.Parts, func(part engine.IndexPart) bool { return !slices.Contains(columns, part.Column) })
	})
}
