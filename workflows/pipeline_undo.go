package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// undo undoes the steps that have begun, the last first. It reports whether an
// operator has cancelled the pipeline: then what cannot be undone stays. Nothing
// interrupts it; what fails waits for an operator.
func (p *pipeline) undo() (cancelled bool) {
	e := p.st.Ending
	cancelled = e.Verb == verbCancel
	p.st.Undoing = true
	p.st.State, p.st.Error, p.st.Pause = task.Running, e.Cause, nil
	p.record("rollback begins", e.why(), e.Cause)
	var order []*pipelineStep
	p.plan.each(func(s *pipelineStep, _ string) { order = append(order, s) })
	p.stopAll() // also those that were just beginning
	p.holdBack()
	for _, s := range slices.Backward(order) {
		st := p.st.step(s.Name)
		switch {
		case s.Group != nil && st.State != task.Pending && st.State != task.Skipped:
			st.State = task.RolledBack
			continue
		case s.Group != nil || st.State == task.Pending || st.State == task.RolledBack:
			continue
		case st.State == task.Skipped && !p.unended(st): // unless an operator continues it by its own id
			continue
		}
		if p.undoStep(s, st, cancelled) {
			now := workflow.Now(p.life)
			st.State, st.Done, st.EndedAt, st.Error = task.RolledBack, false, &now, nil
			left := ""
			if st.Child.Left != "" {
				left = "left as it is: " + st.Child.Left
				st.Detail = left
			}
			p.record("step undone", oneLine(st.Name+" "+left, mostSummary), nil)
		}
	}
	return cancelled
}

// undoStep undoes a step. When that fails, or cannot be, it is in the open: an
// operator lets it be tried again, or has the step left as it is, which is then what
// false says. With leave, what cannot be undone is left without asking.
func (p *pipeline) undoStep(s *pipelineStep, st *stepState, leave bool) bool {
	st.asked = "" // what was asked for before is what is being done, or is too late
	for {
		st.undo, st.waits, st.needsYou = undoRuns, "its undoing", false
		failure := p.asksFirst(st)
		if failure == nil {
			failure = p.undoOnce(s, st, leave)
		}
		st.stopped = false
		switch {
		case failure == nil:
			st.undo, st.waits = undoNone, ""
			return true
		case leave && failure.Class == task.Human && p.irreversible(s, st) != "":
			st.undo = undoNone
			p.leave(st, "left as it is: "+failure.Message)
			return false
		}
		if !p.undoFailed(s, st, failure) {
			return false
		}
	}
}

// asksFirst is why a step that was at work has failed to undo itself, where somebody has
// to look before that is tried again.
func (p *pipeline) asksFirst(st *stepState) *task.Failure {
	if st.stopped && st.Child.Botched && !st.Child.Open && st.Child.Error != nil && st.Child.Error.Class == task.Human {
		return p.lost(st)
	}
	return nil
}

// undoFailed waits for an operator. It reports whether the undoing is tried again.
func (p *pipeline) undoFailed(s *pipelineStep, st *stepState, failure *task.Failure) bool {
	now := workflow.Now(p.life)
	st.undo, st.Error, st.State, st.EndedAt = undoFailed, failure, task.Failed, &now
	st.needsYou = true
	if st.asked != verbSkip {
		st.asked = ""
	}
	st.waits = fmt.Sprintf("an operator: its undoing failed; `godwit retry %s %s` tries again, `godwit skip %s %s` leaves it as it is", p.ref.ID, st.Name, p.ref.ID, st.Name)
	p.record("undoing failed", st.Name+": "+failure.Message, failure)
	begun := p.st.Undoing
	p.await(func() bool { return st.asked != "" || p.ended() && !begun })
	verb := st.asked
	st.undo, st.needsYou, st.asked, st.waits = undoNone, false, "", ""
	switch verb {
	case verbRetry:
		p.record("undoing retried", st.Name+asked(st.by), nil)
		p.publish()
		return true
	case "": // the whole pipeline is undone now, and this step with it
		return false
	}
	p.leave(st, "left as it is"+asked(st.by)+": "+failure.Message)
	return false
}

// leave leaves a step as it is in spite of a rollback: one that was done stays so.
func (p *pipeline) leave(st *stepState, why string) {
	now := workflow.Now(p.life)
	st.waits, st.Detail, st.EndedAt = "", oneLine(why, mostText), &now
	st.State = task.Failed
	if st.Child.State == task.Success || st.Child.Chain == "" && st.Done {
		st.State, st.Error = task.Success, nil
	}
	p.record("step left as it is", st.Name+": "+st.Detail, st.Error)
}

// irreversible says why a step cannot be undone; empty when it can, or when there is
// nothing to undo.
func (p *pipeline) irreversible(s *pipelineStep, st *stepState) string {
	kind, _ := s.part()
	switch {
	case s.HTTP != nil && st.Sent:
		return "a call cannot be taken back"
	case kind == "" || kind == task.Reindex && !p.drops(s) || p.asksOnly(s):
		return ""
	case st.Child.kept():
		return ""
	case st.Child.State == task.Success:
		return "nothing is kept any more that could undo it"
	}
	return ""
}

// asksOnly reports whether a step runs nothing but a query.
func (p *pipeline) asksOnly(s *pipelineStep) bool {
	var own struct {
		Statement names `json:"statement"`
	}
	return s.SQL != nil && decode(s.SQL, &own) == nil && len(own.Statement) == 0
}

// drops reports whether a step drops indexes: others can stay, they change no data.
func (p *pipeline) drops(s *pipelineStep) bool {
	var own struct {
		Drop names `json:"drop"`
	}
	return s.Reindex != nil && decode(s.Reindex, &own) == nil && len(own.Drop) > 0
}

// undoOnce undoes a step, if it can be, in one try. With leave, what cannot be undone
// of a step that is at work or has failed is left as it is.
func (p *pipeline) undoOnce(s *pipelineStep, st *stepState, leave bool) *task.Failure {
	if why := p.irreversible(s, st); why != "" {
		return &task.Failure{Class: task.Human, Message: fmt.Sprintf("step %s cannot be undone: %s", st.Name, why)}
	}
	kind, _ := s.part()
	if kind == "" || st.Child.Chain == "" {
		return nil
	}
	switch st.Child.State {
	case task.RolledBack, task.Cancelled:
		return nil
	case task.Success:
		if !st.Child.kept() {
			return nil // an index that was built, or a query: there is nothing to undo
		}
		p.tell(st, task.RollbackSignal, p.undoRequest(false))
	case task.Failed, task.TimedOut:
		if failure := p.start(s, st, &task.UndoRequest{Leave: leave}); failure != nil {
			return failure
		}
	default: // at work
		p.stop(st, leave)
	}
	p.awaitUndone(s, st)
	switch {
	case st.Child.Open:
		return &task.Failure{Class: task.Human, Message: "its undoing has not ended: it goes on by itself"}
	case st.Child.State == task.RolledBack, st.Child.State == task.Cancelled:
		return nil
	case st.Child.State == task.Success && p.irreversible(s, st) == "":
		return nil
	case st.Child.State == task.Success:
		return &task.Failure{Class: task.Human, Message: fmt.Sprintf("step %s cannot be undone: %s", st.Name, p.irreversible(s, st))}
	}
	return p.lost(st)
}

// awaitUndone waits until a step's migration has ended, or an operator has had enough.
// One that takes longer than the step itself may needs somebody who looks: what it
// waits for may be the lock that the step has waited for.
func (p *pipeline) awaitUndone(s *pipelineStep, st *stepState) {
	over := func() bool { return !st.Child.Open || st.asked == verbSkip }
	limit := max(s.Timeout.Std(), stepGrace)
	if s.Timeout == 0 {
		limit = undoGrace
	}
	timer, stop := startTimer(p.life, limit, "until step "+st.Name+" is undone")
	p.await(func() bool { return over() || timer.IsReady() })
	stop()
	if !over() {
		id := task.StepID(p.ref.ID, st.Name)
		st.needsYou = true
		st.waits = fmt.Sprintf("its undoing, which takes longer than the step may: `godwit status %s` says why; `godwit skip %s %s` leaves it to itself", id, p.ref.ID, st.Name)
		p.record("undoing takes long", st.Name, nil)
	}
	p.await(over)
	st.needsYou = false
}

// stopAll tells all steps that are at work that the pipeline is undone: those of a
// group must not get further until it is their turn.
func (p *pipeline) stopAll() {
	for _, st := range p.st.Steps {
		if p.unended(st) && st.undo != undoRuns {
			p.stop(st, p.st.Ending.Verb == verbCancel)
		}
	}
}

// stop tells a step's migration that is at work to undo itself, once. With leave, what
// cannot be undone is left.
func (p *pipeline) stop(st *stepState, leave bool) {
	if st.stopped {
		return
	}
	st.stopped = true
	p.tell(st, task.RollbackSignal, p.undoRequest(leave))
}

func (p *pipeline) undoRequest(leave bool) task.UndoRequest {
	r := task.UndoRequest{Leave: leave}
	r.Request = task.Request{Reason: "pipeline " + p.ref.ID + " undoes its steps"}
	if p.st.Ending != nil {
		r.By = p.st.Ending.Request.By
	}
	return r
}
