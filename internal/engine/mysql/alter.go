package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Alter plans an ALTER TABLE: it is tried on an empty clone of the table, in the
// connection's database, to find out how the server would do it; the clone is
// dropped again. What only the catalog hears of is done directly. With build,
// so is what the server can build beside the writers; what it would do with
// the table locked is refused. What is wrong with the ALTER is a fault of class
// config.
func (s *Server) Alter(ctx context.Context, t *engine.Table, alter string, build bool) (*engine.Alteration, error) {
	p := &alterPlan{server: s, table: t, alter: alter}
	if err := p.read(); err != nil {
		return nil, err
	}
	if err := s.mayAlter(ctx, t); err != nil {
		return nil, err
	}
	if p.keysOnly {
		return p.dropForeignKeys()
	}
	if err := s.withClone(ctx, t, p.try); err != nil {
		return nil, err
	}
	return p.conclude(ctx, build)
}

// alterPlan is what is known of an ALTER TABLE.
type alterPlan struct {
	server  *Server
	table   *engine.Table
	alter   string
	actions [][]engine.Token
	// keysOnly says that nothing is done but to drop foreign keys, which a clone
	// does not have.
	keysOnly      bool
	algorithm     string
	builds        string // what is built; empty for nothing
	refusal       string // the server's, of anything but a copy
	before, after *engine.Table
}

// notCarriedOut are the actions that are refused as such, and why.
var notCarriedOut = []struct {
	words []string
	why   string
}{
	{[]string{"ALGORITHM"}, "is for Godwit to say: leave it out"},
	{[]string{"LOCK"}, "is for Godwit to say: leave it out"},
	{[]string{"WAIT"}, "is for Godwit to say: give cutover.timeout"},
	{[]string{"NOWAIT"}, "is for Godwit to say: give cutover.timeout"},
	{[]string{"DISCARD"}, "throws rows away"},
	{[]string{"IMPORT"}, "puts other rows in the table's place"},
	{[]string{"DROP", "PARTITION"}, "throws rows away"},
	{[]string{"TRUNCATE", "PARTITION"}, "throws rows away"},
	{[]string{"EXCHANGE", "PARTITION"}, "is about another table"},
	{[]string{"CONVERT", "PARTITION"}, "is about another table"},
	{[]string{"CONVERT", "TABLE"}, "is about another table"},
}

// actionsOf cuts an ALTER of a table into its actions and refuses those that are
// not for here.
func actionsOf(table engine.Name, alter string) ([][]engine.Token, error) {
	tokens, err := engine.Tokens(alter, engine.MySQLDialect)
	if err != nil {
		return nil, fault.About(table.String(), task.Config, "alter: %w", err)
	}
	actions := engine.Actions(tokens)
	for _, a := range actions {
		if len(a) == 0 {
			return nil, fault.About(table.String(), task.Config, "alter: an action is empty: there is a comma too many")
		}
		for _, r := range notCarriedOut {
			if begins(a, r.words...) {
				return nil, fault.About(table.String(), task.Config, "alter: %s %s", actionText(alter, a), r.why)
			}
		}
		if begins(a, "RENAME") && !begins(a, "RENAME", "COLUMN") && !begins(a, "RENAME", "INDEX") && !begins(a, "RENAME", "KEY") {
			return nil, fault.About(table.String(), task.Config, "alter: %s gives the table another name: that is one short statement, which needs nobody who looks after it", actionText(alter, a))
		}
	}
	return actions, nil
}

// actionText is an action as it is written.
func actionText(alter string, a []engine.Token) string { return alter[a[0].Start:a[len(a)-1].End] }

// read cuts the ALTER into its actions and refuses those that cannot be done directly.
func (p *alterPlan) read() (err error) {
	if p.actions, err = actionsOf(p.table.Name, p.alter); err != nil {
		return err
	}
	p.keysOnly = true
	for _, a := range p.actions {
		key := p.droppedKey(a)
		p.keysOnly = p.keysOnly && key != ""
		if key != "" && !p.keysOnly || key == "" && begins(a, "ADD", "FOREIGN") || key == "" && begins(a, "ADD", "CONSTRAINT") && has(a, "FOREIGN") {
			return engine.NotDirect(p.table.Name, []string{p.text(a) + " cannot be tried on an empty clone, which has no foreign keys; dropping some, and nothing else, can be done directly"})
		}
		if (begins(a, "DROP", "CHECK") || begins(a, "DROP", "CONSTRAINT")) && key == "" && p.named(a) {
			return engine.NotDirect(p.table.Name, []string{p.text(a) + " cannot be tried on an empty clone, whose checks have other names"})
		}
	}
	if p.keysOnly {
		return nil
	}
	for _, a := range p.actions {
		if p.droppedKey(a) != "" {
			return engine.NotDirect(p.table.Name, []string{p.text(a) + " can be done directly by itself only: make it another migration"})
		}
	}
	return nil
}

func (p *alterPlan) text(a []engine.Token) string { return actionText(p.alter, a) }

func begins(a []engine.Token, words ...string) bool {
	if len(a) < len(words) {
		return false
	}
	for i, w := range words {
		if !a[i].Is(w) {
			return false
		}
	}
	return true
}

func has(a []engine.Token, word string) bool {
	return slices.ContainsFunc(a, func(t engine.Token) bool { return t.Depth == 0 && t.Is(word) })
}

// droppedKey is the foreign key that an action drops.
func (p *alterPlan) droppedKey(a []engine.Token) string {
	if !begins(a, "DROP", "FOREIGN", "KEY") && !begins(a, "DROP", "CONSTRAINT") {
		return ""
	}
	name := a[len(a)-1].Text
	for _, key := range p.table.ForeignKeys {
		if strings.EqualFold(key.Name, name) {
			return key.Name
		}
	}
	return ""
}

// named reports whether an action ends with the name of one of the table's
// checks, where a clone gives them other names.
func (p *alterPlan) named(a []engine.Token) bool {
	return p.server.known() == mysqlFlavor && slices.ContainsFunc(p.table.Checks, func(c engine.Check) bool { return strings.EqualFold(c.Name, a[len(a)-1].Text) })
}

// known is the flavor, once it was asked for.
func (s *Server) known() string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.flavor
}

// neverThere is the name of a column that no table has.
const neverThere = "`_godwit_never_there`"

// mayAlter finds out whether the user may alter a table, by an ALTER of which
// nothing comes.
func (s *Server) mayAlter(ctx context.Context, t *engine.Table) error {
	err := s.impatiently(ctx, func(conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, "ALTER TABLE "+QuoteName(t.Name)+" DROP COLUMN "+neverThere)
		return err
	})
	if number(err) == cannotDrop {
		return nil
	}
	if isDenied(err) {
		return fault.About(t.Name.String(), task.Config, "this user may not alter %s: GRANT ALTER, CREATE, INSERT, DROP ON %s to it: %w", t.Name, QuoteName(t.Name), err)
	}
	return err
}

// cannotDrop is the error for something that is not there to be dropped.
const cannotDrop = 1091

// dropForeignKeys is the plan of an ALTER that only drops foreign keys: the
// server hears of it in its catalog alone.
func (p *alterPlan) dropForeignKeys() (*engine.Alteration, error) {
	after := *p.table
	after.ForeignKeys = nil
	for _, key := range p.table.ForeignKeys {
		if !slices.ContainsFunc(p.actions, func(a []engine.Token) bool { return p.droppedKey(a) == key.Name }) {
			after.ForeignKeys = append(after.ForeignKeys, key)
		}
	}
	p.before, p.after, p.algorithm = p.table, &after, "INPLACE, LOCK=NONE"
	return p.alteration("a change of the catalog alone"), nil
}

// conclude judges what the clone has shown.
func (p *alterPlan) conclude(ctx context.Context, build bool) (*engine.Alteration, error) {
	switch {
	case p.algorithm == "":
		return nil, engine.NotDirect(p.table.Name, []string{"the server would copy the table with its writers locked out (" + p.refusal + ")"})
	case p.builds != "" && !build:
		return nil, engine.NotDirect(p.table.Name, []string{"the server " + p.builds + ", in one statement that cannot be held, and that replicas repeat as one; `strategy: direct` allows it all the same"})
	}
	if err := p.versionsLeft(ctx); err != nil {
		return nil, err
	}
	if p.builds == "" {
		return p.alteration("a change of the catalog alone: ALGORITHM=" + p.algorithm), nil
	}
	out := p.alteration("the server " + p.builds + ": ALGORITHM=" + p.algorithm)
	out.Notes = append(out.Notes, "it is one statement that cannot be held or paused, and replicas are behind for as long as they repeat it",
		"at its end it needs the table's lock once more: where it does not get it within cutover.timeout, everything is built again")
	out.Tests = p.tests()
	return out, nil
}

// alteration writes the one step.
func (p *alterPlan) alteration(way string) *engine.Alteration {
	// The line break ends a comment.
	statement := "ALTER TABLE " + QuoteName(p.table.Name) + " " + p.alter + "\n, ALGORITHM=" + p.algorithm
	if !strings.Contains(p.alter, "--") && !strings.Contains(p.alter, "#") {
		statement = strings.Replace(statement, "\n, ALGORITHM", ", ALGORITHM", 1)
	}
	lock := "exclusive, for a moment"
	if p.builds != "" {
		lock = "exclusive, for a moment at its beginning and at its end; readers and writers go on in between"
	}
	return &engine.Alteration{Way: way, Before: engine.ShapeOf(p.before, false), After: engine.ShapeOf(p.after, false),
		Steps: []engine.Step{{SQL: []string{statement}, Lock: lock, Final: true, Brief: true, Alone: true}}}
}

// tests look for rows that what is built has no place for.
func (p *alterPlan) tests() []engine.DataTest {
	quoter := engine.Quoter{Ident: Quote, Name: QuoteName}
	var tests []engine.DataTest
	for i := range p.after.Columns {
		c := &p.after.Columns[i]
		if old := p.table.Column(c.Name); old != nil && old.Nullable && !c.Nullable {
			tests = append(tests, quoter.NotNullTest(p.table, c.Name))
		}
	}
	for _, index := range p.after.Indexes {
		columns := plainColumns(p.table, index)
		if index.Unique && columns != nil && !slices.ContainsFunc(p.before.Indexes, func(old engine.Index) bool { return old.Name == index.Name }) {
			tests = append(tests, quoter.UniqueTest(p.table, columns))
		}
	}
	return tests
}

// plainColumns are the columns of an index; nil when it is of anything else.
func plainColumns(t *engine.Table, index engine.Index) []string {
	var columns []string
	for _, part := range index.Parts {
		if part.Column == "" || part.Prefix > 0 || t.Column(part.Column) == nil {
			return nil
		}
		columns = append(columns, part.Column)
	}
	return columns
}

// mostVersions is how often rows can change their form without being written
// anew, on MySQL.
const mostVersions = 64

// versionsLeft refuses an INSTANT change of a table that has had so many of them
// that the server makes no more.
func (p *alterPlan) versionsLeft(ctx context.Context) error {
	if p.algorithm != instantly || p.server.known() != mysqlFlavor {
		return nil
	}
	var versions int
	err := p.server.db.QueryRowContext(ctx, "SELECT COALESCE(MAX(TOTAL_ROW_VERSIONS), 0) FROM information_schema.INNODB_TABLES WHERE NAME = ?",
		p.table.Name.Schema+"/"+p.table.Name.Table).Scan(&versions)
	if isDenied(err) {
		return nil // the server will tell
	}
	if err == nil && versions >= mostVersions && changesRows(p.before, p.after) {
		return engine.NotDirect(p.table.Name, []string{fmt.Sprintf("its rows have had their form changed %d times, and the server allows no more", versions)})
	}
	return err
}

// changesRows reports whether columns come or go.
func changesRows(before, after *engine.Table) bool {
	names := func(t *engine.Table) (list []string) {
		for i := range t.Columns {
			list = append(list, t.Columns[i].Name)
		}
		return list
	}
	return !slices.Equal(names(before), names(after))
}

// reason cuts what the server says about an algorithm down to why.
var reason = regexp.MustCompile(`Reason: (.*?)\.? Try `)
