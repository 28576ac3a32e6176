package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// runStep does a step: its gate, its tries, and what is to be done when they fail.
// The error is errEnding: then the pipeline is undone.
func (p *pipeline) runStep(s *pipelineStep) error {
	st := p.st.step(s.Name)
	if st.over() {
		return nil
	}
	pass, err := p.gate(s, st)
	if err != nil || !pass {
		return err
	}
	for {
		if err := p.unpaused(); err != nil {
			return err
		}
		if st.asked == verbSkip { // while it was paused
			st.asked = ""
			return p.skipUndone(s, st, "skipped"+asked(st.by))
		}
		p.begin(st)
		failure := p.try(s, st)
		switch {
		case p.ended():
			return errEnding
		case st.asked == verbSkip:
			st.asked = ""
			return p.skipUndone(s, st, "skipped"+asked(st.by))
		case failure == nil:
			p.succeed(st, st.Detail)
			return nil
		}
		again, err := p.react(s, st, failure)
		if err != nil || !again {
			return err
		}
	}
}

// unpaused waits while the pipeline is paused; its error is errEnding.
func (p *pipeline) unpaused() error {
	if p.st.Pause != nil {
		p.await(func() bool { return p.st.Pause == nil || p.ended() })
	}
	if p.ended() {
		return errEnding
	}
	return nil
}

// react does what the spec says about a try that has failed. It reports whether the
// step is to be tried again.
func (p *pipeline) react(s *pipelineStep, st *stepState, failure *task.Failure) (again bool, err error) {
	whole, unsure := st.whole, st.unsure
	st.Error, st.Spent, st.whole, st.unsure = failure, 0, false, false
	st.Failed++
	if p.unended(st) { // what would be done next might meet it
		if decided, again, err := p.holdOpen(s, st, failure); decided {
			return again, err
		}
	}
	reaction, onTimeout := p.plan.reactions(s)
	retries := p.plan.retries(s)
	if failure.Class == task.Timeout {
		reaction = onTimeout
		if reaction != spec.StepRetry {
			retries = 0
		}
	}
	if whole {
		retries, reaction = 0, p.plan.overdue()
	}
	if failure.Class == task.Human || unsure {
		retries = 0 // somebody has to look first
	}
	if st.Failed <= retries {
		return p.backOff(s, st, failure, retries)
	}
	why := reactionWords(failure, st.Failed)
	switch reaction {
	case spec.StepSkip:
		return false, p.skipUndone(s, st, why)
	case spec.StepRollback:
		p.settleState(st, failure)
		p.record("step failed", st.Name+": "+failure.Message, failure)
		if p.st.Ending == nil {
			p.st.Ending = &ending{Verb: verbRollback, Cause: failure}
		}
		return false, errEnding
	}
	return p.hold(s, st, failure)
}

// reactionWords say why a step is given up.
func reactionWords(failure *task.Failure, tries int) string {
	what := "failed"
	if failure.Class == task.Timeout {
		what = "took too long"
	}
	if tries > 1 {
		what += fmt.Sprintf(" %d times", tries)
	}
	return what + ": " + failure.Message
}

// settleState notes how a step stands whose tries are used up.
func (p *pipeline) settleState(st *stepState, failure *task.Failure) {
	now := workflow.Now(p.life)
	st.State, st.EndedAt = task.Failed, &now
	if failure.Class == task.Timeout {
		st.State = task.TimedOut
	}
}

// backOff waits before the next try. An operator may be in a hurry.
func (p *pipeline) backOff(s *pipelineStep, st *stepState, failure *task.Failure, retries int) (bool, error) {
	delay := p.plan.delay(s, st.Failed)
	until := workflow.Now(p.life).Add(delay)
	st.State, st.asked = task.Retrying, ""
	st.waits = fmt.Sprintf("the next try at %s (%d of %d retries): %s", moment(until), st.Failed, retries, failure.Message)
	p.record("step retrying", st.Name+": "+failure.Message, failure)
	timer, stop := startTimer(p.life, delay, "next try of step "+st.Name)
	p.await(func() bool { return timer.IsReady() || p.ended() || st.asked != "" })
	stop()
	st.waits = ""
	switch {
	case p.ended():
		return false, errEnding
	case st.asked == verbSkip:
		st.asked = ""
		return false, p.skipUndone(s, st, "skipped"+asked(st.by))
	}
	st.asked = ""
	return true, nil
}

// hold waits for an operator: everything is kept as it is.
func (p *pipeline) hold(s *pipelineStep, st *stepState, failure *task.Failure) (again bool, err error) {
	p.standStill(st, failure, func() bool { return st.Child.State == task.Success }) // somebody has continued it by its own id
	return p.answered(s, st, failure)
}

// holdOpen holds a step whose migration has not ended that was asked to. When it ends
// after all, nothing is decided: what the spec says is done.
func (p *pipeline) holdOpen(s *pipelineStep, st *stepState, failure *task.Failure) (decided, again bool, err error) {
	p.standStill(st, failure, func() bool { return !p.unended(st) })
	if !p.ended() && st.asked == "" && st.Child.State != task.Success {
		return false, false, nil
	}
	again, err = p.answered(s, st, failure)
	return true, again, err
}

// standStill waits for an operator, or until something has come about by itself.
func (p *pipeline) standStill(st *stepState, failure *task.Failure, come func() bool) {
	p.settleState(st, failure)
	st.needsYou, st.asked = true, ""
	p.st.Worked = 0 // whoever sees to it gives it the time anew
	st.waits = fmt.Sprintf("an operator: `godwit retry %s %s`, `godwit skip %s %s`, `godwit rollback %s` or `godwit cancel %s`", p.ref.ID, st.Name, p.ref.ID, st.Name, p.ref.ID, p.ref.ID)
	p.record("step held", st.Name+": "+failure.Message, failure)
	p.await(func() bool { return p.ended() || st.asked != "" || come() })
	st.needsYou, st.waits = false, ""
}

// answered does what an operator has asked for about a step that was held.
func (p *pipeline) answered(s *pipelineStep, st *stepState, failure *task.Failure) (again bool, err error) {
	verb := st.asked
	st.asked = ""
	switch {
	case p.ended():
		return false, errEnding
	case verb == verbSkip:
		return false, p.skipUndone(s, st, "skipped"+asked(st.by)+" after it "+reactionWords(failure, 1))
	case verb == verbRetry:
		p.record("step retried", st.Name+asked(st.by), nil)
		p.publish() // whoever has asked for it may wait for the end, and must not take the old state for it
	}
	st.Failed = 0
	return true, nil
}

// begin notes that a try of a step begins.
func (p *pipeline) begin(st *stepState) {
	now := workflow.Now(p.life)
	if st.StartedAt == nil {
		st.StartedAt = &now
	}
	st.State, st.EndedAt, st.asked = task.Running, nil, ""
	st.Tries++
	event := "step begins"
	if st.Tries > 1 {
		event = "step begins again"
	}
	p.record(event, st.Name, nil)
}

func (p *pipeline) succeed(st *stepState, detail string) {
	now := workflow.Now(p.life)
	st.State, st.Done, st.EndedAt, st.Error, st.Detail = task.Success, true, &now, nil, detail
	p.record("step done", oneLine(st.Name+" "+detail, mostSummary), nil)
}

// skip passes over a step that has not begun, or of which nothing is left.
func (p *pipeline) skip(st *stepState, why string) {
	now := workflow.Now(p.life)
	st.State, st.Done, st.EndedAt, st.Detail = task.Skipped, false, &now, oneLine(why, mostText)
	p.record("step skipped", st.Name+": "+st.Detail, st.Error)
}

// skipUndone undoes what a step has begun, as far as it can be, and passes over it.
func (p *pipeline) skipUndone(s *pipelineStep, st *stepState, why string) error {
	if !p.undoStep(s, st, true) {
		why += "; what it has begun was left as it is"
	} else if st.Child.Left != "" {
		why += "; left as it is: " + st.Child.Left
	}
	if p.ended() {
		return errEnding
	}
	p.skip(st, why)
	return nil
}
