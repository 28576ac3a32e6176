package activities

import (
	"context"

	"godwit/internal/kind"
	"godwit/internal/task"
)

// Cleanup removes what was kept for a rollback and releases the claims.
func (a *Activities) Cleanup(ctx context.Context, in task.PhaseInput) error {
	_, err := phase(ctx, a, in, "cleanup", func(ctx context.Context, k kind.Kind, run *kind.Run) (struct{}, error) {
		return struct{}{}, k.Cleanup(ctx, run)
	})
	return err
}
