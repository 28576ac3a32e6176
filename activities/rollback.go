package activities

import (
	"context"

	"godwit/internal/kind"
	"godwit/internal/task"
)

// Rollback undoes everything that the migration did. One that never had a plan
// has done nothing; it is noted that it must not begin any more.
func (a *Activities) Rollback(ctx context.Context, in task.PhaseInput) (task.RollbackResult, error) {
	planned, err := a.planned(ctx, in)
	if err != nil || !planned {
		return task.RollbackResult{}, err
	}
	return phase(ctx, a, in, rollback, func(ctx context.Context, k kind.Kind, run *kind.Run) (task.RollbackResult, error) {
		run.Cancel, run.RunID = in.Cancel, in.Run
		err := k.Rollback(ctx, run)
		return task.RollbackResult{Left: run.Left}, err
	})
}

func (a *Activities) planned(ctx context.Context, in task.PhaseInput) (bool, error) {
	p := newPulse(ctx, in.Phase, 0)
	defer p.end()
	k, run, m, err := a.open(p.ctx, in.Ref)
	if err == nil && (m == nil || !m.Planned()) {
		if _, err = run.Ledger.Take(p.ctx, in.Kind); err == nil {
			return false, p.reported(endUnplanned(p.ctx, k, run))
		}
	}
	return err == nil, p.reported(err)
}

// endUnplanned ends a migration that has never had a plan.
func endUnplanned(ctx context.Context, k kind.Kind, run *kind.Run) error {
	if s, ok := k.(kind.Sweeper); ok {
		if err := s.Sweep(ctx, run); err != nil {
			return err
		}
	}
	return run.Ledger.Undone(ctx)
}
