package control

import (
	"context"
	"fmt"
	"strings"

	"godwit/internal/task"
)

// inOrder refuses to undo a step of a pipeline, by its own id, before those after it: they
// may be about the same rows. The pipeline itself undoes the last one first.
func (d *Desk) inOrder(ctx context.Context, id string) error {
	dot := strings.LastIndexByte(id, '.')
	if dot < 1 {
		return nil
	}
	answer, err := d.Status(ctx, id[:dot])
	if err != nil || !answer.Open || answer.Status.Kind != task.Pipeline {
		return nil // it is no step, or there is nobody left who would undo the others
	}
	var mine *task.PhaseStatus
	for i := range answer.Status.Steps {
		step := &answer.Status.Steps[i]
		switch {
		case step.ID == id:
			mine = step
		case mine == nil, step.ID == "", step.State == task.Skipped, step.State == task.RolledBack:
		case step.Group != "" && step.Group == mine.Group:
		default:
			return &RefusedError{ID: id, Verb: task.RollbackUpdate, Reason: fmt.Sprintf("step %s of its pipeline comes after it and is %s: undo that first, "+
				"or all of them with `godwit rollback %s`", step.Name, step.State, id[:dot])}
		}
	}
	return nil
}
