package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"godwit/internal/task"
)

// Plan writes what a migration would do.
func Plan(w io.Writer, plan task.Plan, style Style) error {
	p := page{style: style}
	p.line(string(plan.Kind), style.paint(bold, plan.Name))
	p.line("source", plan.Source)
	p.line("target", plan.Target)
	if len(plan.Steps) > 0 {
		p.planSteps(plan)
		_, err := io.WriteString(w, p.String())
		return err
	}
	p.line("size", fmt.Sprintf("%s, %s, in %s of %s", plural(plan.RowsTotal, "row"), size(plan.BytesTotal),
		plural(int64(plan.Shards), "shard"), plural(int64(len(plan.Tables)), "table")))
	if plan.Estimate > 0 {
		p.line("time", "about "+Duration(plan.Estimate))
	}
	p.line("advice", plan.Advice)
	p.planTables(plan.Tables)
	for _, table := range plan.Tables {
		p.planColumns(table, plan.Warnings)
	}
	if len(plan.Statements) > 0 {
		p.heading("SQL, in this order")
		for _, statement := range plan.Statements {
			fmt.Fprintln(&p, indented(strings.TrimRight(statement, "; \n")+";", margin))
		}
	}
	if len(plan.Warnings) > 0 {
		p.heading("warnings")
		for _, warning := range plan.Warnings {
			fmt.Fprintf(&p, "%s%s %s\n", margin, style.paint(yellow, "!"), warning)
		}
	}
	_, err := io.WriteString(w, p.String())
	return err
}

func (p *page) planTables(tables []task.TablePlan) {
	p.heading("tables")
	if !slices.ContainsFunc(tables, func(t task.TablePlan) bool { return t.Source != t.Target }) {
		p.planInPlace(tables)
		return
	}
	g := newGrid("SOURCE", "TARGET", "ROWS", "SIZE", "SHARDS", "KEY").right(3, 4, 5)
	for _, t := range tables {
		key := strings.Join(t.Key, ", ")
		if key == "" {
			key = "none"
		}
		g.row(t.Source, t.Target, rows(t.Rows), size(t.Bytes), rows(int64(t.Shards)), key)
	}
	p.WriteString(g.String(margin))
}

// planInPlace writes the tables of a migration that changes them where they are.
func (p *page) planInPlace(tables []task.TablePlan) {
	g := newGrid("TABLE", "ROWS", "SIZE", "SHARDS", "KEY").right(2, 3, 4)
	for _, t := range tables {
		g.row(t.Source, rows(t.Rows), size(t.Bytes), rows(int64(t.Shards)), strings.Join(t.Key, ", "))
	}
	p.WriteString(g.String(margin))
}

// planColumns writes what becomes of a table's columns, and what is to be said
// of the table unless a warning says it.
func (p *page) planColumns(t task.TablePlan, warnings []string) {
	notes := slices.DeleteFunc(slices.Clone(t.Notes), func(note string) bool {
		return slices.ContainsFunc(warnings, func(warning string) bool { return strings.Contains(warning, note) })
	})
	if len(t.Columns)+len(notes) == 0 {
		return
	}
	inPlace := t.Source == t.Target
	if inPlace {
		p.heading(t.Source)
	} else {
		p.heading(t.Source + " → " + t.Target)
	}
	g := newGrid()
	for _, c := range t.Columns {
		if inPlace {
			g.row(c.Target, c.TargetType, "=", c.Note)
			continue
		}
		g.row(c.Source, c.SourceType, "→", c.Target, c.TargetType, c.Note)
	}
	p.WriteString(g.String(margin))
	for _, note := range notes {
		fmt.Fprintln(p, indented(note, margin))
	}
}
