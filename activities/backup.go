package activities

import (
	"context"

	"godwit/internal/kind"
	"godwit/internal/task"
)

// Backup makes what a rollback needs.
func (a *Activities) Backup(ctx context.Context, in task.PhaseInput) (task.BackupResult, error) {
	return phase(ctx, a, in, "backup", func(ctx context.Context, k kind.Kind, run *kind.Run) (task.BackupResult, error) {
		return k.Backup(ctx, run)
	})
}
