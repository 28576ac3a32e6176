package backfill

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"godwit/internal/document"
	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// checkRewrite plans the UPDATE and tries everything of it that the user has written.
func (p *plan) checkRewrite(ctx context.Context, run *kind.Run, db *site) error {
	s, table := run.Spec.Backfill, p.item.Table
	if err := p.checkColumns(s.Set); err != nil {
		return err
	}
	r := &engine.Rewrite{Table: table, Set: assignments(table, s.Set), Where: s.Where, On: s.On}
	if s.From != "" {
		r.From = db.Qualify(s.From)
		if r.From.Table == table.Name.Table {
			return fault.About(table.Name.String(), task.Config, "from: %s and %s have the same name, by which their columns could not be told apart: use a view of another name", r.From, table.Name)
		}
	}
	if s.Backup == spec.BackupRows {
		r.Saved = db.savedName(run.Ref.ID)
		r.Also = also(table, s.Set)
	}
	p.item.Rewrite = r
	if err := p.checkSaved(ctx, run, db); err != nil {
		return err
	}
	if err := db.CheckRewrite(ctx, table.Name, p.item.kept()); err != nil {
		return err
	}
	if err := tryTexts(ctx, db, r); err != nil {
		return err
	}
	p.warnAssignments(db, r)
	if !p.item.kept() {
		p.warn("backup is none: a rollback cannot give back what was changed")
		if s.From != "" {
			p.warn("backup is none: a row with several partners in %s gets the values of any of them", r.From)
		}
	}
	return p.converges(ctx, run, db)
}

// checkSaved refuses to mix old values with those that a rollback of the same
// id could not restore.
func (p *plan) checkSaved(ctx context.Context, run *kind.Run, db *site) error {
	r := p.item.Rewrite
	if !p.item.kept() || run.Ledger == nil {
		return nil
	}
	_, err := db.Table(ctx, r.Saved)
	if errors.Is(err, engine.ErrNoTable) {
		return nil
	}
	if err != nil {
		return err
	}
	return fault.About(r.Table.Name.String(), task.Config, "%s is there from an earlier backfill %s, with the old values of rows that its rollback could not restore: "+
		"drop it when they are no longer wanted, or use another id", r.Saved, run.Ref.ID)
}

// checkColumns refuses columns that cannot be set.
func (p *plan) checkColumns(set map[string]string) error {
	table := p.item.Table
	refuse := func(format string, args ...any) error {
		return fault.About(table.Name.String(), task.Config, format, args...)
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		column := table.Column(name)
		switch {
		case column == nil:
			return refuse("set.%s: %s has no such column; %s", name, table.Name, document.Suggest(name, columnNames(table)))
		case column.Generated != "":
			return refuse("set.%s: the column is generated (%s): change what it is made from", name, column.Generated)
		case inKey(table, name):
			return refuse("set.%s: the column is part of the key %s by which the table is gone through: rows would be met twice", name, table.KeyName)
		}
	}
	return nil
}

// also are the columns that the server changes by itself with a row.
func also(table *engine.Table, set map[string]string) []string {
	var names []string
	for i := range table.Columns {
		if c := &table.Columns[i]; c.OnUpdateNow && set[c.Name] == "" {
			names = append(names, c.Name)
		}
	}
	return names
}

// tryTexts has the server look at the expressions and conditions: each alone,
// so that the error can say which, where they are about one table.
func tryTexts(ctx context.Context, db *site, r *engine.Rewrite) error {
	if r.From.Table == "" {
		for _, a := range r.Set {
			if err := db.CheckExpr(ctx, r.Table.Name, a.Column, a.Expr); err != nil {
				return err
			}
		}
		if r.Where != "" {
			return db.CheckWhere(ctx, r.Table.Name, r.Where)
		}
		return nil
	}
	rows, err := db.Query(ctx, db.Attempt(r))
	if err == nil {
		err = errors.Join(rows.Err(), rows.Close())
	}
	if err == nil {
		return nil
	}
	if class := kind.Classify(err).Class; class == task.Config || class == task.Data {
		return fault.About(r.Table.Name.String(), task.Config, "set, where and on, together with from %s: %w", r.From, err)
	}
	return err
}

// warnAssignments says where MySQL's order of assignments matters.
func (p *plan) warnAssignments(db *site, r *engine.Rewrite) {
	if p.item.kept() || db.Dialect() != engine.MySQLDialect {
		return
	}
	for i, a := range r.Set {
		for _, before := range r.Set[:i] {
			if mentions(a.Expr, before.Column) {
				p.warn("set.%s uses %s, which is set before it: without a backup the server assigns from left to right, so it sees the new value", a.Column, before.Column)
			}
		}
	}
}

// mentions reports whether a word stands in an SQL text, as far as that can be
// told without understanding it: rather too often than not.
func mentions(text, word string) bool {
	return regexp.MustCompile(`(?i)(^|[^\pL\pN_])` + regexp.QuoteMeta(word) + `($|[^\pL\pN_])`).MatchString(text)
}

const (
	sampleRows = 1000
	sampleTime = 25 * time.Second
)

// converges finds out, on a sample of the rows, whether set makes where false.
// Then, and only then, the table can be gone through again until no row matches.
func (p *plan) converges(ctx context.Context, run *kind.Run, db *site) error {
	s, r := run.Spec.Backfill, p.item.Rewrite
	if r.Where == "" {
		p.warn("every row is changed once; there is no where, so rows that are inserted behind the place that it has reached stay as they are")
		return nil
	}
	if s.Passes == 1 {
		p.warn("passes is 1: rows that appear or match again behind the place that it has reached stay as they are")
		return nil
	}
	if !p.item.kept() && slices.ContainsFunc(r.Set, func(a engine.Assignment) bool { return dependsOnSet(r, a.Expr) }) {
		p.warn("without a backup, and since set uses the columns that it sets, the table is gone through once: a row that is met again would be changed again")
		return nil
	}
	sampling, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	var rows, still int64
	if err := number(sampling, db, db.Sample(r, sampleRows), &rows, &still); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p.warn("whether set makes where false cannot be known beforehand (%s), so the table is gone through once", strings.TrimSpace(firstLine(err.Error())))
		return nil
	}
	if still > 0 {
		p.warn("set does not make where false: of a sample of %d rows, %d would still match; the table is gone through once, and rows that appear behind the place that it has reached stay as they are", rows, still)
		return nil
	}
	p.item.Again = true
	return nil
}

func dependsOnSet(r *engine.Rewrite, expr string) bool {
	return slices.ContainsFunc(r.Set, func(a engine.Assignment) bool { return mentions(expr, a.Column) })
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// checkStatement tries the user's statements on the first rows' range.
func (p *plan) checkStatement(ctx context.Context, db *site) error {
	table := p.item.Table
	if err := db.CheckRewrite(ctx, table.Name, false); err != nil {
		return err
	}
	until, found, err := db.Bound(ctx, p.item.selection(engine.Range{}), 1000)
	if err != nil {
		return err
	}
	if !found {
		if until, found, err = db.First(ctx, p.item.selection(engine.Range{})); err != nil || !found {
			p.warn("the table is empty: the statement could not be tried")
			return err
		}
	}
	statements, err := p.item.chunkStatements(ctx, db, 1, engine.Range{Until: until})
	if err != nil {
		return err
	}
	// The lock that goes before several of them is not the user's.
	for i, statement := range statements[len(statements)-len(p.item.Statement):] {
		warning, err := db.ExplainStatement(ctx, statement)
		if f := fault.Of(err); f != nil && f.Class == task.Config {
			return fault.About(table.Name.String(), task.Config, "statement %d: %w", i+1, err)
		}
		if err != nil {
			return err
		}
		if warning != "" {
			p.warn("statement %d: %s", i+1, warning)
		}
	}
	p.warn("what a statement of your own has done cannot be undone by a rollback")
	return nil
}
