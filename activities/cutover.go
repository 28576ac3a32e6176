package activities

import (
	"context"

	"godwit/internal/kind"
	"godwit/internal/task"
)

// Tend keeps up what must not be left alone while the migration waits.
func (a *Activities) Tend(ctx context.Context, in task.PhaseInput) (task.TendResult, error) {
	p := newPulse(ctx, in.Phase, 0)
	defer p.end()
	k, run, _, err := a.known(p.ctx, in.Ref)
	if err != nil {
		return task.TendResult{}, p.report(err)
	}
	p.attach(run)
	done, err := a.governors.share(p.ctx, run, in.Phase, 0)
	if err != nil {
		return task.TendResult{}, p.report(err)
	}
	defer done()
	result, err := guarded(p.ctx, k, run, func(ctx context.Context, k kind.Kind, run *kind.Run) (task.TendResult, error) {
		return k.Tend(ctx, run)
	})
	if err != nil {
		return task.TendResult{}, p.report(err)
	}
	return result, nil
}

// Cutover makes the result the real thing.
func (a *Activities) Cutover(ctx context.Context, in task.PhaseInput) (task.CutoverResult, error) {
	return phase(ctx, a, in, "cutover", func(ctx context.Context, k kind.Kind, run *kind.Run) (task.CutoverResult, error) {
		run.Step = in.Step
		return k.Cutover(ctx, run)
	})
}
