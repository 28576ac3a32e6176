package workflows

import (
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
		_ = workflow.Await(ctx, func() bool { return told.done })
		_ = workflow.SignalExternalWorkflow(ctx, m.in.Pipeline, "", task.StepSignal, r).Get(ctx, nil)
		m.informing--
	})
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

func (m *migration) undoAsked(r task.Request) {
	if !m.ignores(verbRollback, r) {
		m.rollback(r)
	}
}

func (m *migration) cleanupAsked(r task.Request) {
	if !m.ignores(verbCleanup, r) {
		m.release(r)
	}
}
