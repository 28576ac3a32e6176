package workflows

import (
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// A step keeps what undoes it until the pipeline says that it is over: while it waits for
// an operator, no way back runs out.

// release lets the time begin for which a step keeps what undoes it, once all steps are
// through. One that an operator has continued since has its turn when it says so.
func (p *pipeline) release(st *stepState) {
	if p.st.Complete && p.st.EndedAt == nil && !p.st.Undoing && st.Child.kept() && st.Child.KeptUntil == nil {
		p.tell(st, task.KeepSignal, task.KeepRequest{Over: true})
	}
}

// holdBack stops that time again, of a pipeline that was done and is undone: one step's
// undoing may wait for an operator longer than another one keeps what it needs.
func (p *pipeline) holdBack() {
	if !p.st.Complete {
		return
	}
	_ = workflow.Await(p.life, func() bool { return *p.telling == 0 }) // what was said before comes first
	for _, st := range p.st.Steps {
		if st.Child.kept() {
			p.tell(st, task.KeepSignal, task.KeepRequest{})
		}
	}
}

// giveUp lets the time begin of all that is left when the pipeline ends: steps that could
// not be undone and stay, and those that were left to themselves.
func (p *pipeline) giveUp() {
	_ = workflow.Await(p.life, func() bool { return *p.telling == 0 }) // what was said before comes first
	for _, st := range p.st.Steps {
		if st.Child.Open {
			p.tell(st, task.KeepSignal, task.KeepRequest{Over: true})
		}
	}
}
