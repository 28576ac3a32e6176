package workflows

import (
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// finish ends the run in the way that the outcome of its phases asks for.
func (m *migration) finish(outcome error) (task.Status, error) {
	var failure *task.Failure
	switch {
	case outcome == nil:
		return m.closeDone()
	case errors.Is(outcome, errContinue):
		return m.continueAsNew()
	case errors.Is(outcome, errEnding):
		return m.undo()
	case !errors.As(outcome, &failure):
		failure = &task.Failure{Class: task.Internal, Message: outcome.Error(), Phase: m.st.Phase}
	}
	if m.undoes(failure) {
		m.st.Ending = &ending{Verb: verbRollback, Cause: failure}
		return m.undo()
	}
	return m.closeFailed(failure)
}

// undoes reports whether the spec wants a failure to be answered by a rollback.
// A preflight that fails has changed nothing; on a resume it must not throw
// away what is there because something about it could not be checked.
func (m *migration) undoes(failure *task.Failure) bool {
	if failure.Phase == task.Preflight {
		return false
	}
	if failure.Class == task.Timeout {
		return m.settings.OnTimeout == spec.TimeoutRollback
	}
	return m.settings.OnFailure == spec.Rollback
}

// succeeded books the cut-over. A wish that came too late to stop it is dropped,
// except for a rollback that is still possible.
func (m *migration) succeeded() {
	st := m.st
	st.State, st.Error = task.Success, nil
	detail := ""
	if st.keeping() {
		detail = "what a rollback needs is kept until " + m.keptWords()
	}
	told := m.record("success", detail, nil)
	m.reportSuccess(told)
	m.unseat()
	late := ""
	if st.Pause != nil {
		st.Pause, st.Recheck, late = nil, false, verbPause
	}
	if st.Ending != nil && (st.Ending.Verb == verbCancel || !st.keeping()) {
		late, st.Ending = st.Ending.Verb, nil
	}
	if late != "" {
		text := late + " came too late: the migration had been cut over"
		st.note(workflow.Now(m.life), text)
		m.record(late+" ignored", text, nil)
	}
}

// hold waits for an operator after a cleanup that failed: the migration is cut
// over and stays so. What may pass by itself is also tried again after a while.
func (m *migration) hold(failure *task.Failure) {
	m.held, m.st.Error, m.st.PhaseSpent, m.hurry = failure, failure, 0, false
	m.record("cleanup failed", failure.Message, failure)
	passed := func() bool { return false }
	if failure.Class.Retryable() {
		timer, stop := startTimer(m.life, m.settings.Retry.MaxDelay.Std(), "next try of the cleanup")
		defer stop()
		passed = timer.IsReady
	}
	m.await(m.life, func() bool { return m.hurry || passed() })
	m.held, m.hurry = nil, false
	m.st.Error = nil
	m.st.step(m.st.Phase).Attempts++
}

// undo takes back everything that the migration did. Nothing interrupts it.
func (m *migration) undo() (task.Status, error) {
	e := m.st.Ending
	m.undoing = true
	if !m.st.Seat.Held { // a rollback waits for no place
		m.unseat()
	}
	m.st.State, m.st.Error = task.Running, e.Cause
	m.st.Queue, m.st.Lost = nil, nil
	m.record("rollback begins", e.why(), e.Cause)
	in := m.phaseInput(e.why())
	in.Cancel = e.Verb == verbCancel || e.Leave
	var result task.RollbackResult
	err := m.call(m.life, task.RollbackActivity, in, &result)
	var failure *task.Failure
	if errors.As(err, &failure) {
		if !in.Cancel || !m.untouched() {
			return m.closeBotched(failure)
		}
		m.st.note(workflow.Now(m.life), "nothing had been done before the preflight passed; that nothing was left could not be checked: "+failure.Message)
	}
	m.st.forgetKept()
	detail := e.why()
	if m.left = oneLine(strings.Join(result.Left, "; "), mostText); m.left != "" {
		detail += "; left as it is: " + m.left
	}
	if e.Verb == verbCancel {
		return m.close(task.Cancelled, "cancelled", detail, nil)
	}
	return m.close(task.RolledBack, "rolled back", detail, e.Cause)
}

// why says in words why a migration is undone.
func (e *ending) why() string {
	if e.Cause != nil {
		return "after a failure: " + e.Cause.Message
	}
	if text := asked(e.Request); text != "" {
		return oneLine(e.Verb+text, mostSummary)
	}
	return "an operator asked for it"
}

func (m *migration) closeDone() (task.Status, error) {
	return m.close(task.Success, "done", "", nil)
}

func (m *migration) closeFailed(failure *task.Failure) (task.Status, error) {
	state := task.Failed
	if failure.Class == task.Timeout {
		state = task.TimedOut
	}
	return m.close(state, "failed", failure.Message, failure)
}

// closeBotched ends a rollback that failed: the migration is neither there nor gone.
func (m *migration) closeBotched(failure *task.Failure) (task.Status, error) {
	failure.Message = fmt.Sprintf("the rollback failed: %s; see to that, then `godwit rollback %s` goes on with it", failure.Message, m.ref.ID)
	m.st.Botched = true
	return m.close(task.Failed, "rollback failed", failure.Message, failure)
}

// close ends the migration in a final state, once the ledger knows it or cannot
// be told.
func (m *migration) close(state task.State, event, detail string, failure *task.Failure) (task.Status, error) {
	now := workflow.Now(m.life)
	m.st.State, m.st.Error, m.st.EndedAt = state, failure, &now
	if step := m.st.step(m.st.Phase); step.EndedAt == nil && step.StartedAt != nil {
		step.EndedAt, step.State = &now, state
	}
	told := &entry{done: true}
	if event != "done" {
		told = m.record(event, detail, failure)
	}
	m.report(told, task.StepReport{State: state, Closed: true, Error: failure, Botched: m.st.Botched, Detail: detail, Left: m.left})
	m.unseat()
	m.publish()
	m.settle()
	m.publish()
	return m.status(), m.closingError(state, detail, failure)
}

// closingError is how the workflow closes, so that the id can be used again
// after anything but success.
func (m *migration) closingError(state task.State, detail string, failure *task.Failure) error {
	options := temporal.ApplicationErrorOptions{NonRetryable: true}
	if failure != nil {
		options.Details = []any{failure}
	}
	switch state {
	case task.Success:
		return nil
	case task.Cancelled:
		return temporal.NewCanceledError(detail)
	case task.RolledBack:
		return temporal.NewApplicationErrorWithOptions("rolled back: "+detail, string(task.Undone), options)
	}
	return temporal.NewApplicationErrorWithOptions(failure.Message, string(failure.Class), options)
}

// continueAsNew hands over to another run with a short history.
func (m *migration) continueAsNew() (task.Status, error) {
	m.settle()
	m.st.Runs++
	next := m.in
	next.Carried = m.st
	return m.status(), workflow.NewContinueAsNewError(m.life, task.MigrationWorkflow, next)
}

// settle waits until ledger and Capacity have been told everything, every update
// has its answer and every signal that arrived has been acted on.
func (m *migration) settle() {
	for {
		// A coroutine that is begun now runs after all the others, so that
		// what they have received by now is not lost with them.
		passed := false
		workflow.GoNamed(m.life, "settle", func(workflow.Context) { passed = true })
		_ = workflow.Await(m.life, func() bool {
			return passed && m.recorder.idle() && m.informing == 0 && workflow.AllHandlersFinished(m.life)
		})
		if !m.drain() {
			return
		}
	}
}
