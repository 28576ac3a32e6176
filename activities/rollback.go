package activities

import (
	"context"

	"godwit/internal/kind"
	"godwit/internal/task"
)

// Rollback undoes everything that the migration did. One that the ledger does
// not know has done nothing.
func (a *Activities) Rollback(ctx context.Context, in task.PhaseInput) error {
	known, err := a.begun(ctx, in)
	if err != nil || !known {
		return err
	}
	_, err = phase(ctx, a, in, "rollback", func(ctx context.Context, k kind.Kind, run *kind.Run) (struct{}, error) {
		return struct{}{}, k.Rollback(ctx, run)
	})
	return err
}

// begun reports whether the ledger knows the migration.
func (a *Activities) begun(ctx context.Context, in task.PhaseInput) (bool, error) {
	p := newPulse(ctx, in.Phase, 0)
	defer p.end()
	_, _, m, err := a.open(p.ctx, in.Ref)
	if err != nil {
		return false, p.report(err)
	}
	return m != nil, nil
}
