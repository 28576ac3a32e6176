package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"godwit/internal/engine"
)

// refuse names what hangs on the table and would be lost, or is in the way, and
// what the user may not do.
func (p *reshapePlan) refuse(ctx context.Context) error {
	t := p.table
	if len(t.Key) == 0 {
		return p.fault("%s has no key that rows are found by (%s): give it a primary key, or a unique key without NULLs", t.Name, t.KeyProblem)
	}
	if err := p.server.Transactional(ctx, t.Name); err != nil {
		return err
	}
	for _, check := range []func(context.Context) error{p.kindOf, p.triggered, p.referred, p.named, p.foremost} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	warnings, err := p.server.CheckCapture(ctx, p.out.Capture)
	if err != nil {
		return err
	}
	p.out.Notes = append(p.out.Notes, warnings...)
	return p.server.mayAlter(ctx, t)
}

// kindOf refuses what is more than a table.
func (p *reshapePlan) kindOf(ctx context.Context) error {
	var kind string
	err := p.server.db.QueryRowContext(ctx, "SELECT TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", p.table.Name.Schema, p.table.Name.Table).Scan(&kind)
	if err != nil {
		return fmt.Errorf("ask what %s is: %w", p.table.Name, err)
	}
	if kind != "BASE TABLE" {
		return p.fault("%s is a table of the kind %s, whose history a copy would not have", p.table.Name, kind)
	}
	longest := 0
	for _, n := range []engine.Name{p.out.Shadow, p.out.Old} {
		longest = max(longest, len([]rune(n.Table)))
	}
	if p.server.known() == mysqlFlavor && len(p.table.Checks) > 0 && longest+len("_chk_99") > maxNameChars {
		return p.fault("the name of %s is too long for the names that the server gives to the checks of its copy: drop its checks meanwhile, or give the table a shorter name", p.table.Name)
	}
	return nil
}

// triggered refuses a table with triggers, which would go with the old one.
func (p *reshapePlan) triggered(context.Context) error {
	own := map[string]bool{}
	for _, t := range captureTriggers(p.out.Capture) {
		own[t.name] = true
	}
	theirs := slices.DeleteFunc(slices.Clone(p.table.Triggers), func(name string) bool { return own[name] })
	if len(theirs) == 0 {
		return nil
	}
	return p.fault("%s has triggers (%s), which would stay with the old table: drop them, and make them again after the cut-over, or do without them", p.table.Name, strings.Join(theirs, ", "))
}

// referred refuses foreign keys, whichever way they point.
func (p *reshapePlan) referred(ctx context.Context) error {
	var keys []string
	for _, key := range p.table.ForeignKeys {
		keys = append(keys, key.Name+" to "+key.Ref.String())
	}
	err := collect(ctx, p.server.db, func(rows *sql.Rows) error {
		var name, schema, table string
		err := rows.Scan(&name, &schema, &table)
		if (engine.Name{Schema: schema, Table: table}) != p.table.Name {
			keys = append(keys, name+" of "+schema+"."+table)
		}
		return err
	}, "SELECT DISTINCT CONSTRAINT_NAME, TABLE_SCHEMA, TABLE_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_SCHEMA = ? AND REFERENCED_TABLE_NAME = ?",
		p.table.Name.Schema, p.table.Name.Table)
	if err != nil {
		return fmt.Errorf("look for foreign keys to %s: %w", p.table.Name, err)
	}
	if len(keys) > 0 {
		return p.fault("foreign keys would go on to be about the old table: %s; drop them, and add them again after the cut-over", strings.Join(keys, ", "))
	}
	for _, a := range p.actions {
		if begins(a, "ADD", "FOREIGN") || begins(a, "ADD", "CONSTRAINT") && has(a, "FOREIGN") {
			return p.fault("alter: %s: foreign keys cannot be part of an online copy: add it afterwards, by itself", p.text(a))
		}
	}
	return nil
}

// fewestFirst is how many strong locks of a table in a row the server has to give
// before statements that wait may pass: the cut-over needs two of them, and others
// may have had some.
const fewestFirst = 100

// foremost refuses a server on which statements that wait may pass before a
// RENAME that waits as well: they would write to the old table.
func (p *reshapePlan) foremost(ctx context.Context) error {
	var most uint64
	if err := p.server.db.QueryRowContext(ctx, "SELECT @@GLOBAL.max_write_lock_count").Scan(&most); err != nil {
		return fmt.Errorf("ask who comes first to a lock of %s: %w", p.table.Name, err)
	}
	if most < fewestFirst {
		return p.fault("the server may let statements that wait write to the old table before the names change (max_write_lock_count is %d): SET GLOBAL max_write_lock_count = DEFAULT", most)
	}
	return nil
}

// named refuses names that are taken.
func (p *reshapePlan) named(ctx context.Context) error {
	for _, name := range []engine.Name{p.out.Shadow, p.out.Old, p.out.Capture.Log} {
		var n int
		if err := p.server.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND TABLE_COMMENT <> ?", name.Schema, name.Table, sentryComment).Scan(&n); err != nil {
			return fmt.Errorf("look whether there is a table %s: %w", name, err)
		}
		if n > 0 {
			return p.fault("there is a table %s already: drop it, or let its migration be rolled back", name)
		}
	}
	return nil
}

// viewed refuses to take columns away from views: they name them.
func (p *reshapePlan) viewed(ctx context.Context) error {
	var gone []string
	for i := range p.table.Columns {
		if name := p.table.Columns[i].Name; p.to(name) != name {
			gone = append(gone, name)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	var found []string
	err := collect(ctx, p.server.db, func(rows *sql.Rows) error {
		var view, text string
		if err := rows.Scan(&view, &text); err != nil {
			return err
		}
		for _, column := range gone {
			if usesColumn(text, p.table.Name, column) {
				found = append(found, view+" uses "+column)
			}
		}
		return nil
	}, "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), VIEW_DEFINITION FROM information_schema.VIEWS WHERE LOCATE(?, VIEW_DEFINITION) > 0", QuoteName(p.table.Name))
	if err != nil {
		return fmt.Errorf("look for views of %s: %w", p.table.Name, err)
	}
	if len(found) > 0 {
		return p.fault("views would be broken: %s; change them before", strings.Join(found, ", "))
	}
	return nil
}

// usesColumn reports whether a view, as the server writes it, uses a column of a table.
func usesColumn(text string, table engine.Name, column string) bool {
	called := []string{QuoteName(table)}
	for _, m := range regexp.MustCompile(regexp.QuoteMeta(QuoteName(table))+" (?:as )?(`(?:[^`]|``)+`)").FindAllStringSubmatch(text, -1) {
		called = append(called, m[1])
	}
	return slices.ContainsFunc(called, func(name string) bool { return strings.Contains(text, name+"."+Quote(column)) })
}
