package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Reshape plans an online copy of a table: the ALTER is tried on an empty clone,
// in the connection's database, which is dropped again.
func (s *Server) Reshape(ctx context.Context, want *engine.Reshape) (*engine.Reshaping, error) {
	p := &reshapePlan{server: s, want: want, table: want.Table, values: map[string]conversion{}}
	p.out = &engine.Reshaping{Table: want.Table, Shadow: Beside(want.Table.Name, shadowSuffix), Old: Beside(want.Table.Name, oldSuffix), Capture: s.CaptureOf(want.Table)}
	var err error
	if p.actions, err = actionsOf(want.Table.Name, want.Alter); err != nil {
		return nil, err
	}
	if err := p.refuse(ctx); err != nil {
		return nil, err
	}
	if err := s.withClone(ctx, want.Table, p.try); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{p.follow, p.viewed, p.project, p.reverse} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	p.statements()
	p.out.Tests = p.tests()
	return p.out, nil
}

// reshapePlan is what is known of an online copy.
type reshapePlan struct {
	server  *Server
	want    *engine.Reshape
	table   *engine.Table
	actions [][]engine.Token
	before  *engine.Table // the clone
	after   *engine.Table // and what the ALTER makes of it
	listing string        // its CREATE TABLE
	// from are the old columns of which those of the new form get their values.
	from map[string]string
	// values are what columns of the new form get, those with a default left out.
	values map[string]conversion
	out    *engine.Reshaping
}

func (p *reshapePlan) fault(format string, args ...any) error {
	return fault.About(p.table.Name.String(), task.Config, format, args...)
}

// text is an action as it is written.
func (p *reshapePlan) text(a []engine.Token) string { return actionText(p.want.Alter, a) }

// try makes of the clone what the shadow is to be.
func (p *reshapePlan) try(ctx context.Context, c *clone) (err error) {
	if _, err := c.conn.ExecContext(ctx, "SET SESSION sql_mode = '"+shadowMode+"'"); err != nil {
		return err
	}
	if p.before, err = p.server.Table(ctx, c.name); err != nil {
		return err
	}
	_, err = c.conn.ExecContext(ctx, "ALTER TABLE "+QuoteName(c.name)+" "+p.alterFor(c.name))
	switch class, _ := Classify(err); {
	case number(err) != 0 && class != task.Busy:
		return p.fault("alter: the server refuses %q: %w", p.want.Alter, err)
	case err != nil:
		return err
	}
	if err := p.server.Transactional(ctx, c.name); err != nil {
		return p.fault("alter: what becomes of the table could not be copied: %w", err)
	}
	if p.after, err = p.server.Table(ctx, c.name); err != nil {
		return err
	}
	var name string
	if err := c.conn.QueryRowContext(ctx, "SHOW CREATE TABLE "+QuoteName(c.name)).Scan(&name, &p.listing); err != nil {
		return err
	}
	made := *p.after
	made.Name = p.out.Shadow
	p.out.Made = &made
	p.out.Before, p.out.After = engine.ShapeOf(p.before, false), engine.ShapeOf(p.after, false)
	return nil
}

// alterFor is the ALTER for a copy of the table of that name: on MySQL its checks
// have names of the server's, by the order of the originals.
func (p *reshapePlan) alterFor(name engine.Name) string {
	if p.server.known() != mysqlFlavor {
		return p.want.Alter
	}
	text := p.want.Alter
	for _, a := range slices.Backward(p.actions) {
		if len(a) < 3 || !begins(a, "DROP", "CHECK") && !begins(a, "DROP", "CONSTRAINT") && !begins(a, "ALTER", "CHECK") {
			continue
		}
		old := slices.IndexFunc(p.table.Checks, func(c engine.Check) bool { return strings.EqualFold(c.Name, a[2].Text) })
		if old < 0 {
			continue
		}
		for _, c := range p.before.Checks {
			if _, number, found := strings.Cut(c.Name, "_chk_"); found && c.Expression == p.table.Checks[old].Expression {
				text = text[:a[2].Start] + Quote(name.Table+"_chk_"+number) + text[a[2].End:]
				break
			}
		}
	}
	return text
}

// statements writes how the shadow is made, and what is built afterwards.
func (p *reshapePlan) statements() {
	name := QuoteName(p.out.Shadow)
	p.out.Create = []string{"CREATE TABLE " + name + " LIKE " + QuoteName(p.table.Name), "ALTER TABLE " + name + " " + p.alterFor(p.out.Shadow)}
	if p.want.Inline {
		return
	}
	var drop, add, names []string
	for _, line := range strings.Split(p.listing, "\n") {
		line = strings.TrimSuffix(strings.TrimSpace(line), ",")
		i := slices.IndexFunc(p.after.Indexes, func(x engine.Index) bool { return strings.HasPrefix(line, "KEY "+Quote(x.Name)+" (") })
		if i >= 0 && p.waits(&p.after.Indexes[i]) {
			drop, add, names = append(drop, "DROP INDEX "+Quote(p.after.Indexes[i].Name)), append(add, "ADD "+line), append(names, p.after.Indexes[i].Name)
		}
	}
	if len(drop) == 0 {
		return
	}
	p.out.Create = append(p.out.Create, "ALTER TABLE "+name+" "+strings.Join(drop, ", "))
	what := "index "
	if len(names) > 1 {
		what = "indexes "
	}
	p.out.Builds = []engine.Build{{Name: what + strings.Join(names, ", "), SQL: fmt.Sprintf("ALTER TABLE %s %s, ALGORITHM=INPLACE, LOCK=NONE", name, strings.Join(add, ", "))}}
}

// waits reports whether an index can be built when the rows are there: rows are
// not found again by it, and it does not serve to count.
func (p *reshapePlan) waits(x *engine.Index) bool {
	if x.Unique || x.Method != "btree" || x.Name == p.out.Forward.KeyTable().KeyName {
		return false
	}
	first := p.after.Column(x.Parts[0].Column)
	return first == nil || !first.Identity
}
