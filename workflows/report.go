package workflows

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// report tells the pipeline that the migration is a step of how it stands, once the
// ledger has been told: the next step may be about the same tables. When the
// pipeline is gone, nobody has to know.
func (m *migration) report(told *entry, r task.StepReport) {
	if m.in.Pipeline == "" {
		return
	}
	r.ID, r.Run, r.Chain = m.ref.ID, m.runID, m.chain
	m.informing++
	workflow.GoNamed(m.life, "report to the pipeline", func(ctx workflow.Context) {
		m.awaitTold(ctx, told, r)
		_ = workflow.SignalExternalWorkflow(ctx, m.in.Pipeline, "", task.StepSignal, r).Get(ctx, nil)
		m.informing--
	})
}

// reportSuccess reports that the migration is done, and how long it can be undone.
func (m *migration) reportSuccess(told *entry) {
	m.report(told, task.StepReport{State: task.Success, KeepFor: m.st.KeepFor, KeptUntil: m.st.KeptUntil})
}

// awaitTold waits until the ledger has been told. A success is told until it knows: the
// next step gets the tables only of one that the ledger calls done.
func (m *migration) awaitTold(ctx workflow.Context, told *entry, r task.StepReport) {
	for {
		_ = workflow.Await(ctx, func() bool { return told.done })
		if told.err == nil || r.State != task.Success || r.Closed {
			return
		}
		timer, stop := startTimer(ctx, openAgain, "tell the ledger again")
		_ = workflow.Await(ctx, func() bool { return timer.IsReady() || m.st.State != task.Success || m.st.EndedAt != nil })
		stop()
		if m.st.State != task.Success || m.st.EndedAt != nil { // there is another report of that
			return
		}
		told = m.tell(task.RecordInput{Event: told.in.Event, Detail: told.in.Detail, Error: m.st.Error})
	}
}

// expire ends the migration in TIMEOUT, with everything kept: the limit is its
// step's, and what is done about it is the pipeline's to say.
func (m *migration) expire(r task.Request) {
	if m.st.cutOver() || m.st.Ending != nil || m.st.EndedAt != nil {
		return
	}
	m.st.Expired = &task.Failure{Class: task.Timeout, Message: oneLine(r.Reason, mostText), Phase: m.st.Phase}
	m.interrupt()
}

func (m *migration) undoAsked(raw converter.RawValue) {
	r := task.UndoRequest{Request: readRequest(raw)}
	if decode(raw.Payload().GetData(), &r) != nil {
		r.Leave = false
	}
	if !m.ignores(verbRollback, r.Request) {
		m.end(&ending{Verb: verbRollback, Request: r.Request, Leave: r.Leave})
	}
}

func (m *migration) cleanupAsked(r task.Request) {
	if !m.ignores(verbCleanup, r) {
		m.release(r)
	}
}
