package mysql

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// creates are the indexes that are to be made.
func (p *indexPlan) creates(ctx context.Context) error {
	for _, statement := range p.want.Create {
		read, err := engine.ReadIndexStatement(statement, engine.MySQLDialect)
		if err != nil {
			return fault.New(task.Config, "create: %q: %w", statement, err)
		}
		if read.Table.Schema == "" {
			if err := p.server.db.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&read.Table.Schema); err != nil {
				return err
			}
			read.Table.Schema = cmp.Or(p.want.Table.Schema, p.want.Schema, read.Table.Schema)
		}
		t, err := p.table(ctx, read.Table)
		if err != nil {
			return err
		}
		has := func(i engine.Index) bool { return strings.EqualFold(i.Name, read.Name) }
		same := func(w engine.IndexWork) bool { return w.Table == read.Table && strings.EqualFold(w.Index, read.Name) }
		switch {
		case slices.ContainsFunc(t.Indexes, has):
			return fault.About(t.Name.String(), task.Config, "create: there is an index %s of %s already", read.Name, t.Name)
		case slices.ContainsFunc(p.out.Works, same):
			return fault.About(t.Name.String(), task.Config, "index %s of %s is named twice", read.Name, t.Name)
		}
		added := strings.TrimSpace(read.Kind+" INDEX ") + " " + Quote(read.Name) + " " + strings.TrimSpace(read.Using+" "+read.Rest)
		write := func(table engine.Name) []engine.IndexStep {
			return []engine.IndexStep{{SQL: []string{"ALTER TABLE " + QuoteName(table) + " ADD " + added + besideWriters}, Builds: true, Locks: true}}
		}
		p.add(engine.IndexWork{Action: engine.CreateIndex, Table: t.Name, Index: read.Name, Definition: write(t.Name)[0].SQL[0], Rows: max(1, t.Rows), Bytes: t.Bytes}, write)
	}
	return nil
}

// rehearse does the works on an empty clone of each table, one after the other:
// so the server itself tells what it does not do beside the writers, and what a
// new index is.
func (p *indexPlan) rehearse(ctx context.Context) error {
	for name, t := range p.known {
		if !slices.ContainsFunc(p.out.Works, func(w engine.IndexWork) bool { return w.Table == name }) {
			continue
		}
		if err := p.server.withClone(ctx, t.Table, func(ctx context.Context, c *clone) error { return p.rehearseOn(ctx, t, c) }); err != nil {
			return err
		}
	}
	return nil
}

func (p *indexPlan) rehearseOn(ctx context.Context, t *indexTable, c *clone) error {
	for i := range p.out.Works {
		w := &p.out.Works[i]
		for _, name := range []string{besideIndex(w.Index), formerIndex(w.Index)} {
			left := func(i engine.Index) bool { return i.Name == name }
			if w.Table != t.Name || !slices.ContainsFunc(t.Indexes, left) {
				continue
			}
			p.note("an earlier rebuild has left %s on %s: removed", name, t.Name)
			if _, err := c.conn.ExecContext(ctx, "ALTER TABLE "+QuoteName(c.name)+" DROP INDEX "+Quote(name)); err != nil {
				return err
			}
		}
	}
	for i := range p.out.Works {
		w := &p.out.Works[i]
		if w.Table != t.Name {
			continue
		}
		for _, step := range p.writes[i](c.name) {
			for _, statement := range step.SQL {
				if _, err := c.conn.ExecContext(ctx, statement); err != nil {
					return rehearsalRefused(w, err)
				}
			}
		}
		if w.Action != engine.CreateIndex {
			continue
		}
		now, err := p.server.Table(ctx, c.name)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(now.Indexes, func(i engine.Index) bool { return i.Name == w.Index })
		if at < 0 {
			return fault.About(w.Table.String(), task.Config, "create: %q makes no index %s", w.Definition, w.Index)
		}
		index := now.Indexes[at]
		w.Shape, w.Unique, w.Keys, w.Method = indexShape(index), index.Unique, indexKeys(index), index.Method
	}
	return nil
}

// rehearsalRefused explains what the server has against a work.
func rehearsalRefused(w *engine.IndexWork, err error) error {
	if class, known := Classify(err); !known || class == task.Busy || class == task.Transient {
		return err
	}
	return fault.About(w.Table.String(), task.Config, "%s %s of %s: the server does not do that beside the writers: %w", w.Action, w.Index, w.Table, err)
}

// remark adds what an operator should know besides.
func (p *indexPlan) remark(ctx context.Context) error {
	if len(p.out.Works) == 0 {
		return nil
	}
	shows, err := p.server.showsStages(ctx)
	if err != nil {
		return err
	}
	if !shows {
		p.note("the server does not show how far a build has come: let it, by UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'events_stages_current'" +
			", and GRANT SELECT ON performance_schema.* to this user")
	}
	unseen, err := p.server.Uncertain(ctx, p.out.Works[0].Table)
	if err == nil && unseen != "" {
		p.note("%s", unseen)
	}
	repeats, failed := p.server.RepeatsStatements(ctx)
	if failed == nil && repeats {
		p.note("replicas repeat each build as one statement, and are behind for as long as it takes")
	}
	if err != nil {
		return err
	}
	return failed
}
