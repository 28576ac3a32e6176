package view

import (
	"fmt"
	"strings"

	"godwit/internal/task"
)

// planSteps writes what the steps of a pipeline would do, one after the other.
func (p *page) planSteps(plan task.Plan) {
	if plan.Estimate > 0 {
		p.line("time", "about "+Duration(plan.Estimate)+", as far as it can be told")
	}
	p.line("advice", plan.Advice)
	p.heading("steps")
	g := newGrid("STEP", "DOES", "UNDO")
	for _, step := range plan.Steps {
		undo := step.Undo
		if step.Final {
			undo = "POINT OF NO RETURN: " + undo
		}
		g.row(stepName(step.Name, step.Group), step.Does, undo)
	}
	p.WriteString(g.String(margin))
	for _, step := range plan.Steps {
		p.planStep(step)
	}
	p.warnings("warnings", plan.Warnings)
}

// stepName is a step's name behind that of its group.
func stepName(name, group string) string {
	if group == "" {
		return name
	}
	return group + "/" + name
}

func (p *page) planStep(step task.StepPlan) {
	if step.Plan == nil && step.Problem == "" {
		return
	}
	p.heading(stepName(step.Name, step.Group) + ": " + step.Kind)
	if step.Problem != "" {
		fmt.Fprintf(p, "%s%s %s\n", margin, p.style.paint(yellow, "!"), step.Problem)
		return
	}
	if step.Plan.RowsTotal > 0 {
		fmt.Fprintf(p, "%s%s, %s, about %s\n", margin, plural(step.Plan.RowsTotal, "row"), size(step.Plan.BytesTotal), Duration(step.Plan.Estimate))
	}
	for _, table := range step.Plan.Tables {
		for _, note := range table.Notes {
			fmt.Fprintln(p, indented(note, margin))
		}
	}
	for _, statement := range step.Plan.Statements {
		fmt.Fprintln(p, indented(strings.TrimRight(statement, "; \n")+";", margin))
	}
	for _, warning := range step.Plan.Warnings {
		fmt.Fprintf(p, "%s%s %s\n", margin, p.style.paint(yellow, "!"), warning)
	}
}

func (p *page) warnings(title string, list []string) {
	if len(list) == 0 {
		return
	}
	p.heading(title)
	for _, warning := range list {
		fmt.Fprintf(p, "%s%s %s\n", margin, p.style.paint(yellow, "!"), warning)
	}
}
