package view

import (
	"fmt"

	"godwit/internal/task"
)

// steps writes the steps of a pipeline: how each stands, how long it took, and why
// it was skipped, what it waits for, or until when it can be undone.
func (p *page) steps(steps []task.PhaseStatus) {
	p.heading("steps")
	g := newGrid().right(4)
	for _, step := range steps {
		detail := step.Detail
		switch {
		case detail != "":
		case step.Error != nil && step.State != task.Success:
			detail = step.Error.Message
		default:
			detail = step.Undo
		}
		tries := ""
		if step.Attempts > 1 {
			tries = fmt.Sprintf("try %d", step.Attempts)
		}
		g.row(stepName(step.Name, step.Group), step.Kind, p.style.State(step.State), p.style.between(step.StartedAt, step.EndedAt), tries, detail)
	}
	p.WriteString(g.String(margin))
}
