package activities

import (
	"context"
	"time"

	"godwit/internal/kind"
	"godwit/internal/task"
)

// Preflight checks everything that can be checked beforehand and writes the
// plan to the ledger; of a migration that ran before it compares the
// fingerprint.
func (a *Activities) Preflight(ctx context.Context, in task.PreflightInput) (task.PreflightResult, error) {
	p := newPulse(ctx, task.Preflight, 0)
	defer p.end()
	began := time.Now()
	k, run, _, err := a.open(p.ctx, in.Ref)
	if err != nil {
		return task.PreflightResult{}, p.report(a.explained(p, in, err))
	}
	p.attach(run)
	run.Resume = in.Resume
	if run.Spec, err = readSpec(in.Spec); err != nil {
		return task.PreflightResult{}, p.report(err)
	}
	result, err := guarded(p.ctx, k, run, func(ctx context.Context, k kind.Kind, run *kind.Run) (task.PreflightResult, error) {
		return k.Preflight(ctx, run)
	})
	if err != nil {
		return task.PreflightResult{}, p.report(err)
	}
	event := task.Event{What: "preflight passed", Phase: task.Preflight, Attempt: p.attempt, Duration: time.Since(began)}
	if in.Resume {
		event.What = "preflight passed again"
	}
	if err := p.note(run, event); err != nil {
		return task.PreflightResult{}, p.report(err)
	}
	return result, nil
}

// explained says why the ledger cannot be used: the checks of a plan name all
// rights that are missing, and what to do about it.
func (a *Activities) explained(p *pulse, in task.PreflightInput, cause error) error {
	if kind.Classify(cause).Class != task.Config {
		return cause
	}
	if _, err := a.plan(p, task.PlanInput{Spec: in.Spec}); err != nil && kind.Classify(err).Class == task.Config {
		return err
	}
	return cause
}
