package workflows

import (
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// phase is a stretch of every migration.
type phase struct {
	name task.Phase
	// wait waits for an operator or until a time, if it has to; it does not
	// count against the limits.
	wait func(*migration, workflow.Context) error
	do   func(*migration, workflow.Context) error
}

// phases are run in this order, as task.Phases has them.
var phases = []phase{
	{name: task.Preflight, do: (*migration).preflight},
	{name: task.Backup, do: (*migration).backup},
	{name: task.Transform, do: (*migration).transform},
	{name: task.Verify, do: (*migration).verify},
	{name: task.Cutover, wait: (*migration).awaitCutover, do: (*migration).cutover},
	{name: task.Cleanup, wait: (*migration).keep, do: (*migration).cleanup},
}

func (m *migration) preflight(ctx workflow.Context) error {
	return m.check(ctx, m.in.Resume)
}

// recheck compares the fingerprint after a pause: whatever was changed
// meanwhile is found before anything is written.
func (m *migration) recheck(ctx workflow.Context) error {
	if err := m.check(ctx, true); err != nil {
		return err
	}
	m.st.Recheck = false
	return nil
}

func (m *migration) check(ctx workflow.Context, resume bool) error {
	var plan task.PreflightResult
	in := task.PreflightInput{Ref: m.ref, Spec: m.settings.raw, Resume: resume}
	if err := m.call(ctx, task.PreflightActivity, in, &plan); err != nil {
		return at(task.Preflight, err)
	}
	m.st.Plan = &plan
	return nil
}

func (m *migration) backup(ctx workflow.Context) error {
	var result task.BackupResult
	if err := m.call(ctx, task.BackupActivity, m.phaseInput(""), &result); err != nil {
		return err
	}
	m.st.Backups = result.Items
	return nil
}

func (m *migration) transform(ctx workflow.Context) error {
	var work task.Work
	if err := m.call(ctx, task.PrepareTransformActivity, m.phaseInput(""), &work); err != nil {
		return err
	}
	for {
		if err := m.runShards(ctx, task.TransformShardActivity, work); err != nil {
			return err
		}
		work = task.Work{}
		if err := m.call(ctx, task.FinishTransformActivity, m.phaseInput(""), &work); err != nil {
			return err
		}
		if len(work.Open) == 0 {
			m.st.noted(work.Changelog)
			return nil
		}
	}
}

func (m *migration) verify(ctx workflow.Context) error {
	if !m.settings.verifies() {
		m.st.step(task.Verify).Detail = "nothing is compared: verify.mode is none"
		return nil
	}
	var work task.Work
	if err := m.call(ctx, task.PrepareVerifyActivity, m.phaseInput(""), &work); err != nil {
		return err
	}
	if err := m.runShards(ctx, task.VerifyShardActivity, work); err != nil {
		return err
	}
	var summary task.VerifySummary
	if err := m.call(ctx, task.FinishVerifyActivity, m.phaseInput(""), &summary); err != nil {
		return err
	}
	m.st.Verified = &summary
	return nil
}

// awaitApproval waits for the operator of a manual cut-over, and tends the
// migration meanwhile.
func (m *migration) awaitApproval(ctx workflow.Context) error {
	if !m.settings.manualCutover() {
		return nil
	}
	if m.st.Approved == nil {
		m.unseat()
	}
	m.awaiting = true
	defer func() { m.awaiting = false }()
	for m.st.Approved == nil {
		due := m.untilApproval(ctx)
		switch {
		case ctx.Err() != nil:
			return errInterrupted
		case m.st.Approved != nil:
		case !due:
			return errContinue
		default:
			if _, err := m.tend(ctx, "tend until the cut-over"); err != nil {
				return err
			}
		}
	}
	return nil
}

// untilApproval waits until the cut-over is asked for. It reports whether it
// is time to tend the migration.
func (m *migration) untilApproval(ctx workflow.Context) (due bool) {
	asked := func() bool { return m.st.Approved != nil }
	if m.st.Plan.TendEvery <= 0 {
		m.await(ctx, asked)
		return false
	}
	timer, stop := startTimer(ctx, m.st.Plan.TendEvery, "tend until the cut-over")
	defer stop()
	m.await(ctx, func() bool { return asked() || timer.IsReady() })
	return timer.IsReady()
}

// tend keeps up what must not be left alone. What may be better next time is
// only noted.
func (m *migration) tend(ctx workflow.Context, why string) (tended bool, err error) {
	scope, stop := workflow.WithCancel(ctx)
	m.untend = stop
	defer func() {
		stop()
		m.untend = nil
	}()
	var result task.TendResult
	err = workflow.ExecuteActivity(working(scope, task.TendActivity, why, forPhases), task.TendActivity, m.phaseInput("")).Get(scope, &result)
	switch failure := judge(err, m.st.Phase); {
	case err == nil:
		m.st.Changelog = &task.ChangelogStatus{Pending: result.Pending, Oldest: result.Oldest}
		return true, nil
	case ctx.Err() != nil:
		return false, errInterrupted
	case scope.Err() != nil: // what is tended is not waited for any more
	case failure.Class.Retryable() || repeatable(failure.Class):
		m.st.note(workflow.Now(m.life), "tending failed and is done again: "+failure.Message)
	default:
		return false, failure
	}
	return false, nil
}

func (m *migration) cutover(ctx workflow.Context) error {
	var result task.CutoverResult
	if err := m.call(ctx, task.CutoverActivity, m.phaseInput(""), &result); err != nil {
		return err
	}
	if result.Shut {
		m.shut = true
		return errInterrupted // it is begun again, and waits for its window
	}
	m.st.Kept, m.st.KeepFor, m.st.TendKept, m.st.Changelog = result.Kept, result.KeepFor, result.TendEvery, nil
	if m.in.Pipeline == "" || m.st.PipelineOver {
		m.countKept()
	}
	m.succeeded()
	return nil
}

func (m *migration) cleanup(ctx workflow.Context) error {
	m.st.Cleaning = true
	if m.st.KeepFor > 0 { // there is no way back from here
		m.report(&entry{done: true}, task.StepReport{State: task.Success})
	}
	reason := ""
	if m.st.Released != nil {
		reason = m.st.Released.Reason
	}
	if err := m.call(ctx, task.CleanupActivity, m.phaseInput(reason), nil); err != nil {
		return err
	}
	m.st.forgetKept()
	return nil
}

// phaseInput is the input of an activity that does a phase's work as a whole.
// It is at work when it is called, however the migration stood before.
func (m *migration) phaseInput(reason string) task.PhaseInput {
	state := task.Running
	if m.st.cutOver() {
		state = task.Success
	}
	return task.PhaseInput{Ref: m.ref, State: state, Phase: m.st.Phase, Reason: reason, Run: m.runID, Step: m.in.Pipeline != ""}
}
