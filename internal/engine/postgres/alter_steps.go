package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// The locks of the steps, in words.
const (
	everybodyOut = "ACCESS EXCLUSIVE, for a moment"
	writersOut   = "SHARE ROW EXCLUSIVE of both tables, for a moment"
	nobodyOut    = "SHARE UPDATE EXCLUSIVE, while rows are read; readers and writers go on"
)

// draft is a step that can be written for the table and for its clone.
type draft struct {
	step engine.Step
	// sql writes its statements for a table of that name.
	sql func(table engine.Name) []string
	// rehearsed is what takes its place on the clone; nil for sql itself.
	rehearsed func(table engine.Name) []string
	// untried is not to be run on the clone at all.
	untried bool
}

// sequence puts the actions into their steps.
func (p *alterPlan) sequence(ctx context.Context) error {
	names, err := p.server.takenNames(ctx, p.table.Name)
	if err != nil {
		return err
	}
	var final, untried, after []string
	for i := range p.actions {
		switch a := &p.actions[i]; a.kind {
		case plainAction:
			final = append(final, a.text)
		case untriedAction:
			untried = append(untried, a.text)
		case notNullAction:
			after = append(after, p.notNull(a.column, names)...)
			final = append(final, a.text)
		case checkAction:
			p.check(i)
		case foreignAction:
			err = p.foreignKey(ctx, a, names)
		case validAction:
			d := p.validate(a.name, "")
			d.untried = isForeignKey(p.table, a.name)
			p.drafts = append(p.drafts, d)
		case uniqueAction, primaryAction:
			var key string
			key, err = p.key(a, names)
			if a.kind == primaryAction {
				for _, column := range a.columns {
					if c := p.table.Column(column); c != nil && c.Nullable {
						after = append(after, p.notNull(column, names)...)
						final = append(final, "ALTER COLUMN "+Quote(column)+" SET NOT NULL")
					}
				}
			}
			final = append(final, key)
		}
		if err != nil {
			return err
		}
	}
	p.final(final, untried, after)
	return nil
}

// final is the step by which the ALTER comes true.
func (p *alterPlan) final(actions, untried, after []string) {
	if len(actions)+len(untried) == 0 {
		return
	}
	write := func(table engine.Name, lists ...[]string) []string {
		var statements []string
		for _, list := range lists {
			if len(list) > 0 {
				statements = append(statements, "ALTER TABLE "+QuoteName(table)+" "+strings.Join(list, ", "))
			}
		}
		return statements
	}
	p.drafts = append(p.drafts, draft{
		step:      engine.Step{Lock: everybodyOut, Final: true, Brief: true},
		sql:       func(t engine.Name) []string { return write(t, slices.Concat(actions, untried), after) },
		rehearsed: func(t engine.Name) []string { return write(t, actions, after) },
	})
}

// takenNames are the names that a new constraint or index must not have.
func (s *Server) takenNames(ctx context.Context, table engine.Name) (map[string]bool, error) {
	var list []string
	err := s.on.QueryRow(ctx, `SELECT ARRAY(SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1
		UNION SELECT k.conname::text FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = $2)`, table.Schema, table.Table).Scan(&list)
	taken := map[string]bool{}
	for _, name := range list {
		taken[name] = true
	}
	return taken, err
}

func free(base string, taken map[string]bool) string {
	name := UniqueName(base, func(n string) bool { return taken[n] })
	taken[name] = true
	return name
}

// notNull drafts the check that lets SET NOT NULL read no row, and returns how
// it goes again.
func (p *alterPlan) notNull(column string, taken map[string]bool) (after []string) {
	if c := p.table.Column(column); c != nil && !c.Nullable {
		return nil
	}
	name := free(p.table.Name.Table+"_"+column+"_not_null__gw", taken)
	p.addConstraint(name, "CHECK ("+Quote(column)+" IS NOT NULL)", engine.Step{Lock: everybodyOut}, false)
	p.drafts = append(p.drafts, p.validate(name, ""))
	if p.table.Column(column) != nil {
		p.out.Tests = append(p.out.Tests, quoter.NotNullTest(p.table, column))
	}
	return []string{"DROP CONSTRAINT " + Quote(name)}
}

var quoter = engine.Quoter{Ident: Quote, Name: QuoteName}

// addConstraint drafts a constraint that is not valid yet.
func (p *alterPlan) addConstraint(name, body string, step engine.Step, untried bool) {
	step.Brief = true
	step.Undo = "ALTER TABLE " + QuoteName(p.table.Name) + " DROP CONSTRAINT IF EXISTS " + Quote(name)
	step.Look = p.lookForConstraint(name, "'"+engine.StepDone+"'")
	p.drafts = append(p.drafts, draft{step: step, untried: untried,
		sql: func(t engine.Name) []string {
			return []string{"ALTER TABLE " + QuoteName(t) + " ADD CONSTRAINT " + Quote(name) + " " + body + notValid}
		}})
}

// validate drafts the reading of all rows for a constraint.
func (p *alterPlan) validate(name, also string) draft {
	lock := nobodyOut
	if also != "" {
		lock += "; ROW SHARE of " + also
	}
	return draft{untried: also != "",
		step: engine.Step{Lock: lock, Look: p.lookForConstraint(name, "CASE WHEN k.convalidated THEN '"+engine.StepDone+"' ELSE '"+engine.StepAbsent+"' END")},
		sql:  func(t engine.Name) []string { return []string{ValidateConstraint(t, name)} }}
}

func (p *alterPlan) lookForConstraint(name, found string) string {
	return "SELECT coalesce((SELECT " + found + " FROM pg_constraint k WHERE k.conrelid = " + QuoteLiteral(QuoteName(p.table.Name)) + "::regclass AND k.conname = " +
		QuoteLiteral(name) + "), '" + engine.StepAbsent + "')"
}

// check drafts a check of the user's.
func (p *alterPlan) check(at int) {
	a := &p.actions[at]
	p.addConstraint(a.name, a.body, engine.Step{Lock: everybodyOut}, false)
	p.drafts = append(p.drafts, p.validate(a.name, ""))
	known := func(column string) bool { return p.table.Column(column) != nil }
	if !slices.ContainsFunc(p.about[at], func(c string) bool { return !known(c) }) {
		p.out.Tests = append(p.out.Tests, quoter.CheckTest(p.table, p.checks[at], p.about[at]))
	}
}

// foreignKey drafts a foreign key of the user's.
func (p *alterPlan) foreignKey(ctx context.Context, a *alterAction, taken map[string]bool) error {
	if p.table.Partitioned {
		p.refuse(*a, "cannot be added to a partitioned table without reading it under a lock")
		return p.verdict()
	}
	ref, err := p.server.Table(ctx, a.ref)
	if err != nil {
		return p.serverRefuses(a.text, err)
	}
	if a.refColumns == nil {
		a.refColumns = primaryColumns(ref)
	}
	if len(a.refColumns) != len(a.columns) {
		return fault.About(p.table.Name.String(), task.Config, "alter: %q: the foreign key has %d columns, and refers to %d", a.text, len(a.columns), len(a.refColumns))
	}
	switch {
	case a.name == "":
		a.name = free(p.table.Name.Table+"_"+strings.Join(a.columns, "_")+"_fkey", taken)
	case taken[a.name]:
		return fault.About(p.table.Name.String(), task.Config, "alter: %q: the name %q is taken: give the foreign key another one", a.text, a.name)
	}
	taken[a.name] = true
	p.addConstraint(a.name, a.body, engine.Step{Lock: writersOut, Also: a.ref}, true)
	p.drafts = append(p.drafts, p.validate(a.name, a.ref.String()))
	p.out.Tests = append(p.out.Tests, quoter.ReferenceTest(p.table, a.columns, a.ref, a.refColumns))
	return nil
}

func primaryColumns(t *engine.Table) []string {
	var columns []string
	for _, index := range t.Indexes {
		if index.Primary {
			for _, part := range index.Parts {
				columns = append(columns, part.Column)
			}
		}
	}
	return columns
}

// key drafts the index of a unique or primary key, and returns the action that
// makes it one.
func (p *alterPlan) key(a *alterAction, taken map[string]bool) (action string, err error) {
	if p.table.Partitioned {
		p.refuse(*a, "cannot be built beside the writers of a partitioned table")
		return "", p.verdict()
	}
	if a.chosen {
		a.name = free(a.name, taken)
	} else if taken[a.name] {
		return "", fault.About(p.table.Name.String(), task.Config, "alter: %q: the name %q of its index is taken: give the constraint another name", a.text, a.name)
	}
	taken[a.name] = true
	build := func(how string) func(engine.Name) []string {
		return func(t engine.Name) []string {
			return []string{"CREATE UNIQUE INDEX " + how + Quote(a.name) + " ON " + QuoteName(t) + " (" + quoteList(a.columns) + ")" + a.including}
		}
	}
	index := QuoteName(engine.Name{Schema: p.table.Name.Schema, Table: a.name})
	p.drafts = append(p.drafts, draft{sql: build("CONCURRENTLY "), rehearsed: build(""), step: engine.Step{
		Lock: "SHARE UPDATE EXCLUSIVE, while the index is built; readers and writers go on. It waits for every transaction that is older", Alone: true,
		Undo: "DROP INDEX CONCURRENTLY IF EXISTS " + index, Mend: "DROP INDEX CONCURRENTLY IF EXISTS " + index,
		Look: fmt.Sprintf("SELECT coalesce((SELECT CASE WHEN indisvalid THEN '%s' ELSE '%s' END FROM pg_index WHERE indexrelid = to_regclass(%s)), '%s')",
			engine.StepDone, engine.StepHalf, QuoteLiteral(index), engine.StepAbsent)}})
	word := "UNIQUE"
	if a.kind == primaryAction {
		word = "PRIMARY KEY"
	}
	if known := func(c string) bool { return p.table.Column(c) != nil }; !slices.ContainsFunc(a.columns, func(c string) bool { return !known(c) }) {
		p.out.Tests = append(p.out.Tests, quoter.UniqueTest(p.table, a.columns))
	}
	return strings.TrimSpace("ADD CONSTRAINT " + Quote(a.name) + " " + word + " USING INDEX " + Quote(a.name) + " " + a.deferred), nil
}

// rehearse runs the steps on the clone, in their order: so what depends on what
// the same ALTER adds is found, and what the table is like afterwards.
func (p *alterPlan) rehearse(ctx context.Context, c *clone) error {
	before, err := c.describe(ctx)
	if err != nil {
		return err
	}
	for _, d := range p.drafts {
		step := d.step
		step.SQL = d.sql(p.table.Name)
		p.out.Steps = append(p.out.Steps, step)
		if d.untried {
			continue
		}
		write := d.sql
		if d.rehearsed != nil {
			write = d.rehearsed
		}
		for _, statement := range write(c.name) {
			doing, err := c.run(ctx, statement)
			if err != nil {
				return p.misplaced(step, statement, err)
			}
			if step.Final && doing != "" {
				return engine.NotDirect(p.table.Name, []string{strings.Join(step.SQL, "; ") + " " + doing + " under a lock that keeps everybody out"})
			}
		}
	}
	after, err := c.describe(ctx)
	if err != nil {
		return err
	}
	p.out.Before, p.out.After = engine.ShapeOf(before, true), engine.ShapeOf(after, true)
	return nil
}

// misplaced explains what the server has against a step.
func (p *alterPlan) misplaced(step engine.Step, statement string, err error) error {
	if step.Final || !slices.Contains([]string{"42703", "42710", "42P07", "42P16"}, sqlState(err)) {
		return p.serverRefuses(statement, err)
	}
	return fault.About(p.table.Name.String(), task.Config, "alter: %q has to come before the rest, and cannot, because of something that the same ALTER adds or drops: make it another migration, after this one: %w",
		statement, err)
}
