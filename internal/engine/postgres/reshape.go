package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// keylessBytes is the size up to which a table is copied into one without keys,
// which get theirs when the rows are there.
const keylessBytes = 8 << 30

// Reshape plans an online copy of a table: the ALTER is tried on an empty clone
// in a transaction that is rolled back.
func (s *Server) Reshape(ctx context.Context, want *engine.Reshape) (*engine.Reshaping, error) {
	p := s.planOf(want)
	if err := p.do(ctx); err != nil {
		return nil, err
	}
	return p.out, nil
}

func (s *Server) planOf(want *engine.Reshape) *reshapePlan {
	name := want.Table.Name
	return &reshapePlan{server: s, want: want, table: want.Table,
		out: &engine.Reshaping{Table: want.Table, Shadow: Beside(name, shadowSuffix), Old: Beside(name, oldSuffix), Capture: s.CaptureOf(want.Table), Inline: want.Inline}}
}

// do makes the plan.
func (p *reshapePlan) do(ctx context.Context) error {
	if p.table.Partitioned {
		return p.fault("%s is partitioned: alter its partitions one by one", p.table.Name)
	}
	if err := p.read(); err != nil {
		return err
	}
	if err := p.rights(ctx); err != nil {
		return err
	}
	hangs, err := p.server.attached(ctx, p.table.Name)
	if err != nil {
		return err
	}
	p.hangs = hangs
	p.out.Hanging = p.hangs.lines(p.table.Name)
	if err := p.refuseAttached(); err != nil {
		return err
	}
	warnings, err := p.server.CheckCapture(ctx, p.out.Capture)
	if err != nil {
		return err
	}
	p.out.Notes = append(p.out.Notes, warnings...)
	if err := p.server.withClone(ctx, p.table, func(c *clone) error { return p.try(ctx, c) }); err != nil {
		return err
	}
	return p.statements()
}

// reshapePlan is what is known of an online copy.
type reshapePlan struct {
	server  *Server
	want    *engine.Reshape
	table   *engine.Table
	actions []alterAction
	// names are those that the actions leave to old columns. What is dropped has none.
	names  map[string]string
	before *engine.Table // the clone
	after  *engine.Table // and what the ALTER makes of it
	made   *cloneShape   // in all detail
	hangs  *attachments
	// from are the old columns of which those of the new form get their values.
	from   map[string]string
	usings map[string]string // USING expressions, by old column
	// newKeys are foreign keys that the ALTER adds, goneKeys those that it drops.
	newKeys  []foreignKey
	goneKeys []string
	valid    []string // constraints that it validates
	again    bool     // the shadow is there already
	out      *engine.Reshaping
}

func (p *reshapePlan) fault(format string, args ...any) error {
	return fault.About(p.table.Name.String(), task.Config, format, args...)
}

// read cuts the ALTER into its actions and refuses those that are not for here.
func (p *reshapePlan) read() error {
	tokens, err := engine.Tokens(p.want.Alter, engine.PostgresDialect)
	if err != nil {
		return p.fault("alter: %w", err)
	}
	p.names, p.usings = map[string]string{}, map[string]string{}
	for _, name := range columnNames(p.table) {
		p.names[name] = name
	}
	for _, part := range engine.Actions(tokens) {
		a := parseAction(p.want.Alter, part, p.table)
		w := &words{tokens: part}
		switch {
		case a.refusal != "" && !p.buildable(part):
			return p.fault("alter: %s %s", a.text, a.refusal)
		case a.kind == untriedAction && !w.eat("DROP", "CONSTRAINT"), a.kind == foreignAction && w.has("NOT", "VALID"):
			return p.fault("alter: %s is a change of the catalog alone, and not one of the rows: make it a migration of its own", a.text)
		case a.kind == untriedAction:
			w.eat("IF", "EXISTS")
			p.goneKeys = append(p.goneKeys, w.ident())
		case a.kind == validAction:
			p.valid = append(p.valid, a.name)
		case w.eat("RENAME"):
			w.eat("COLUMN")
			if name := w.ident(); w.eat("TO") { // and not CONSTRAINT
				p.rename(name, w.ident())
			}
		case a.drops:
			p.rename(a.column, "")
		case a.retypes:
			if err := p.using(a, part); err != nil {
				return err
			}
		}
		p.actions = append(p.actions, a)
	}
	return nil
}

// buildable reports whether an action that is refused where writers would have
// to wait for it can be done on a table that nobody uses yet.
func (p *reshapePlan) buildable(part []engine.Token) bool {
	w := &words{tokens: part}
	if !w.eat("ADD") {
		return false
	}
	if w.eat("CONSTRAINT") {
		w.ident()
	}
	return w.eat("EXCLUDE") || w.eat("UNIQUE") || w.eat("PRIMARY")
}

// called is the old column that has a name by now; empty for a new one.
func (p *reshapePlan) called(name string) string {
	for old, now := range p.names {
		if now == name {
			return old
		}
	}
	return ""
}

// rename notes that the column of that name, as the actions before have left it,
// gets another one, or none.
func (p *reshapePlan) rename(from, to string) {
	switch old := p.called(from); {
	case old == "":
	case to == "":
		delete(p.names, old)
	default:
		p.names[old] = to
	}
}

// using notes the expression by which a column gets another type. It is computed
// from the table as it is, where names have no other meaning yet.
func (p *reshapePlan) using(a alterAction, part []engine.Token) error {
	for i, t := range part {
		if t.Depth > 0 || !t.Is("USING") || i+1 == len(part) {
			continue
		}
		for old, name := range p.names {
			if old != name {
				return p.fault("alter: %q comes after a RENAME: write it before that, since its expression is about the columns as they are", a.text)
			}
		}
		p.usings[p.called(a.column)] = p.want.Alter[part[i+1].Start:part[len(part)-1].End]
	}
	return nil
}

// rights refuses what the user may not do.
func (p *reshapePlan) rights(ctx context.Context) error {
	c := &privilegeCheck{on: p.server.on}
	c.server(ctx)
	c.own(ctx, p.table.Name)
	c.schema(ctx, p.table.Name.Schema)
	c.ledger(ctx, false)
	if err := c.verdict(); err != nil {
		return err
	}
	var owner string
	var may, secured bool
	if err := p.server.on.QueryRow(ctx, `SELECT pg_get_userbyid(c.relowner), has_schema_privilege(c.relowner, c.relnamespace, 'CREATE') OR c.relowner = u.oid OR u.rolsuper
		FROM pg_class c, pg_roles u WHERE c.oid = $1::text::regclass AND u.rolname = current_user`, QuoteName(p.table.Name)).Scan(&owner, &may); err != nil {
		return err
	}
	if !may {
		return p.fault("the owner of %s may not have the new table, which is in schema %s as well: GRANT CREATE ON SCHEMA %s TO %s", p.table.Name, p.table.Name.Schema, Quote(p.table.Name.Schema), Quote(owner))
	}
	if err := p.server.on.QueryRow(ctx, "SELECT row_security_active($1::text::regclass)", QuoteName(p.table.Name)).Scan(&secured); err != nil {
		return err
	}
	if secured {
		return p.fault("row security of %s applies to this user, who would copy only some rows: ALTER ROLE … BYPASSRLS", p.table.Name)
	}
	return nil
}

// try makes of the clone what the shadow is to be, and plans by it.
func (p *reshapePlan) try(ctx context.Context, c *clone) (err error) {
	if p.before, err = c.describe(ctx); err != nil {
		return err
	}
	for _, statement := range p.hangs.unlike {
		if _, err := c.tx.Exec(ctx, strings.ReplaceAll(statement, tableMark, QuoteName(c.name))); err != nil {
			return fmt.Errorf("make an empty table like %s: %w", c.of, err)
		}
	}
	if err := p.alter(ctx, c); err != nil {
		return err
	}
	if p.after, err = c.describe(ctx); err != nil {
		return err
	}
	made := *p.after
	made.Name, made.Rows, made.Bytes = p.out.Shadow, p.table.Rows, p.table.Bytes
	p.out.Made = &made
	for _, step := range []func(context.Context, *clone) error{p.follow, p.tryAttached, p.foreignKeys} {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	if p.made, err = c.shape(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context, *clone) error{p.project, p.rehearseRow, p.reverse} {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	p.out.Before, p.out.After = engine.ShapeOf(p.before, true), engine.ShapeOf(p.after, true)
	return p.tests(ctx, c)
}

// alter runs the ALTER on the clone, as far as it can be run there: the server
// takes a RENAME by itself only, and no foreign key of a temporary table.
func (p *reshapePlan) alter(ctx context.Context, c *clone) error {
	var group []string
	run := func() error {
		if len(group) == 0 {
			return nil
		}
		statement := strings.Join(group, ", ")
		group = nil
		err := c.asUser(ctx, func() error {
			_, err := c.tx.Exec(ctx, "ALTER TABLE "+QuoteName(c.name)+" "+statement)
			return err
		})
		if err != nil {
			if class, known := Classify(err); known && (class == task.Config || class == task.Data) {
				return p.fault("alter: the server refuses %q: %w", statement, err)
			}
			return err
		}
		return nil
	}
	for _, a := range p.actions {
		switch {
		case a.kind == untriedAction || a.kind == foreignAction || a.kind == validAction && isForeignKey(p.table, a.name):
		case strings.HasPrefix(strings.ToUpper(a.text), "RENAME"):
			if err := run(); err != nil {
				return err
			}
			group = []string{a.text}
			if err := run(); err != nil {
				return err
			}
		default:
			group = append(group, a.text)
		}
	}
	return run()
}

// foreignKeys reads the foreign keys that the ALTER adds.
func (p *reshapePlan) foreignKeys(ctx context.Context, _ *clone) error {
	taken := map[string]bool{}
	for _, k := range p.hangs.outgoing {
		taken[k.name] = true
	}
	for _, check := range p.after.Checks {
		taken[check.Name] = true
	}
	for i := range p.actions {
		a := &p.actions[i]
		if a.kind != foreignAction {
			continue
		}
		ref, err := p.server.Table(ctx, a.ref)
		if err != nil {
			return err
		}
		if a.refColumns == nil {
			a.refColumns = primaryColumns(ref)
		}
		if len(a.refColumns) != len(a.columns) {
			return p.fault("alter: %q: the foreign key has %d columns, and refers to %d", a.text, len(a.columns), len(a.refColumns))
		}
		for _, column := range a.columns {
			if p.after.Column(column) == nil {
				return p.fault("alter: %q: there is no column %s", a.text, column)
			}
		}
		switch {
		case a.name == "":
			a.name = free(p.table.Name.Table+"_"+strings.Join(a.columns, "_")+"_fkey", taken)
		case taken[a.name]:
			return p.fault("alter: %q: the name %q is taken: give the foreign key another one", a.text, a.name)
		}
		taken[a.name] = true
		p.newKeys = append(p.newKeys, foreignKey{name: a.name, table: p.table.Name, columns: a.columns, ref: a.ref, refColumns: a.refColumns, body: a.body, valid: true})
		if known := func(c string) bool { return p.from[c] == c }; !slices.ContainsFunc(a.columns, func(c string) bool { return !known(c) }) {
			p.out.Tests = append(p.out.Tests, quoter.ReferenceTest(p.table, a.columns, a.ref, a.refColumns))
		}
	}
	return nil
}

// ask reads one value from the clone's session.
func ask[T any](ctx context.Context, tx pgx.Tx, query string, args ...any) (v T, err error) {
	err = tx.QueryRow(ctx, query, args...).Scan(&v)
	return v, err
}
