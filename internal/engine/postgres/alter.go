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

// Alter plans an ALTER TABLE: each action is tried on an empty clone of the
// table, which is rolled back, and what reads or writes all rows under a lock
// that keeps others out is put in a form that does not, or refused. What is
// wrong with the ALTER is a fault of class config. There is no choice of how
// much may be built under a lock here: nothing is.
func (s *Server) Alter(ctx context.Context, t *engine.Table, alter string, _ bool) (*engine.Alteration, error) {
	p := &alterPlan{server: s, table: t}
	if err := p.read(alter); err != nil {
		return nil, err
	}
	if err := s.withClone(ctx, t, func(c *clone) error {
		if err := c.within(ctx, func() error { return p.tryEach(ctx, c) }); err != nil {
			return err
		}
		if err := p.verdict(); err != nil {
			return err
		}
		if err := p.sequence(ctx); err != nil {
			return err
		}
		return p.rehearse(ctx, c)
	}); err != nil {
		return nil, err
	}
	if err := p.lookAround(ctx); err != nil {
		return nil, err
	}
	p.out.Way = p.way()
	return &p.out, nil
}

// alterPlan is what is known of an ALTER TABLE.
type alterPlan struct {
	server   *Server
	table    *engine.Table
	actions  []alterAction
	refusals []string
	checks   map[int]string // the conditions of the checks that are added, by action
	about    map[int][]string
	drafts   []draft
	out      engine.Alteration
}

// read splits the ALTER and reads its actions.
func (p *alterPlan) read(alter string) error {
	tokens, err := engine.Tokens(alter, engine.PostgresDialect)
	if err != nil {
		return fault.About(p.table.Name.String(), task.Config, "alter: %w", err)
	}
	for _, part := range engine.Actions(tokens) {
		a := parseAction(alter, part, p.table)
		if a.refusal != "" {
			return fault.About(p.table.Name.String(), task.Config, "alter: %s %s", a.text, a.refusal)
		}
		p.actions = append(p.actions, a)
	}
	return nil
}

func (p *alterPlan) refuse(a alterAction, why string) {
	p.refusals = append(p.refusals, strings.TrimSpace(a.text)+" "+why)
}

// verdict is nil when everything can be done directly.
func (p *alterPlan) verdict() error {
	if len(p.refusals) == 0 {
		return nil
	}
	return engine.NotDirect(p.table.Name, p.refusals)
}

// serverRefuses is a fault of what the server has against an action.
func (p *alterPlan) serverRefuses(text string, err error) error {
	if class, known := Classify(err); known && (class == task.Config || class == task.Data) {
		return fault.About(p.table.Name.String(), task.Config, "alter: the server refuses %q: %w", text, err)
	}
	return err
}

// tryEach tries the actions one after the other, and finds out what each would
// do to the rows and which names the server chooses.
func (p *alterPlan) tryEach(ctx context.Context, c *clone) error {
	p.checks, p.about = map[int]string{}, map[int][]string{}
	for _, i := range dropsFirst(p.actions) {
		a := &p.actions[i]
		if a.kind == untriedAction || a.kind == foreignAction || a.kind == validAction {
			continue
		}
		before, err := c.describe(ctx)
		if err != nil {
			return err
		}
		doing, err := c.run(ctx, "ALTER TABLE "+QuoteName(c.name)+" "+a.text)
		if err != nil {
			return p.serverRefuses(a.text, err)
		}
		after, err := c.describe(ctx)
		if err != nil {
			return err
		}
		switch a.kind {
		case plainAction:
			switch was, is := before.Column(a.column), after.Column(a.column); {
			case doing != "":
				p.refuse(*a, doing+" under a lock that keeps everybody out")
			case a.retypes && zoned(was.Type) != zoned(is.Type):
				p.refuse(*a, "depends on the time zone of whoever does it")
			}
		case checkAction:
			if err := p.newCheck(ctx, c, i, before, after); err != nil {
				return err
			}
		case uniqueAction, primaryAction:
			a.chosen, a.name = a.name == "", newIndex(before, after)
		}
	}
	return nil
}

// dropsFirst is the order in which the server carries actions out, as far as it
// matters here: what is dropped is not in the way of what is added.
func dropsFirst(actions []alterAction) []int {
	var drops, others []int
	for i := range actions {
		if a := &actions[i]; len(a.text) > 4 && strings.EqualFold(a.text[:4], "DROP") {
			drops = append(drops, i)
		} else {
			others = append(others, i)
		}
	}
	return append(drops, others...)
}

// newCheck notes the name and the condition of a check that has been added.
func (p *alterPlan) newCheck(ctx context.Context, c *clone, at int, before, after *engine.Table) error {
	for _, check := range after.Checks {
		if slices.ContainsFunc(before.Checks, func(old engine.Check) bool { return old.Name == check.Name }) {
			continue
		}
		p.actions[at].name, p.checks[at] = check.Name, check.Expression
		var about []string
		err := c.tx.QueryRow(ctx, `SELECT ARRAY(SELECT a.attname::text FROM unnest(k.conkey) n JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = n ORDER BY 1)
			FROM pg_constraint k WHERE k.conrelid = $1 AND k.conname = $2`, c.oid, check.Name).Scan(&about)
		p.about[at] = about
		return err
	}
	return fault.About(p.table.Name.String(), task.Internal, "alter: %q adds no check", p.actions[at].text)
}

func newIndex(before, after *engine.Table) string {
	for _, index := range after.Indexes {
		if !slices.ContainsFunc(before.Indexes, func(old engine.Index) bool { return old.Name == index.Name }) {
			return index.Name
		}
	}
	return ""
}

// way says in words how it is done.
func (p *alterPlan) way() string {
	prepared := 0
	for _, step := range p.out.Steps {
		if !step.Final {
			prepared++
		}
	}
	switch {
	case prepared == 0:
		return "a change of the catalog alone"
	case prepared == len(p.out.Steps):
		return fmt.Sprintf("%d steps, of which none keeps others out while rows are read", prepared)
	}
	return fmt.Sprintf("a change of the catalog, after %d steps of which none keeps others out while rows are read", prepared)
}

// lookAround refuses what stands in the way in the database itself: views of
// columns that are dropped or get another type, and what is missing for the user.
func (p *alterPlan) lookAround(ctx context.Context) error {
	c := &privilegeCheck{on: p.server.on}
	c.server(ctx)
	c.own(ctx, p.table.Name)
	c.ledger(ctx, false)
	if err := c.verdict(); err != nil {
		return err
	}
	oid, err := tableOID(ctx, p.server.on, p.table.Name)
	if err != nil {
		return err
	}
	for _, a := range p.actions {
		if a.column == "" || !a.drops && !a.retypes {
			continue
		}
		var views []string
		err := p.server.on.QueryRow(ctx, `SELECT ARRAY(SELECT DISTINCT n.nspname || '.' || v.relname FROM pg_depend d
			JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
			JOIN pg_class v ON v.oid = r.ev_class JOIN pg_namespace n ON n.oid = v.relnamespace
			JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
			WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = $1 AND a.attname = $2 ORDER BY 1)`, oid, a.column).Scan(&views)
		if err != nil {
			return err
		}
		switch list := strings.Join(views, ", "); {
		case len(views) == 0:
		case a.cascades:
			p.out.Notes = append(p.out.Notes, a.text+" drops with it: "+list)
		default:
			return fault.About(p.table.Name.String(), task.Config, "alter: the server will refuse %q, because of %s: change or drop that first", a.text, list)
		}
	}
	return nil
}
