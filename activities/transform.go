package activities

import (
	"context"

	"godwit/internal/kind"
	"godwit/internal/task"
)

// PrepareTransform does what comes before the shards and cuts them.
func (a *Activities) PrepareTransform(ctx context.Context, in task.PhaseInput) (task.Work, error) {
	return phase(ctx, a, in, "transform", func(ctx context.Context, k kind.Kind, run *kind.Run) (task.Work, error) {
		return k.PrepareTransform(ctx, run)
	})
}

// TransformShard does one shard.
func (a *Activities) TransformShard(ctx context.Context, in task.ShardInput) (task.ShardResult, error) {
	return shard(ctx, a, in, func(ctx context.Context, k kind.Kind, run *kind.Run) (task.ShardResult, error) {
		return k.TransformShard(ctx, run, in)
	})
}

// FinishTransform does what comes after all shards.
func (a *Activities) FinishTransform(ctx context.Context, in task.PhaseInput) (task.Work, error) {
	return phase(ctx, a, in, "finish", func(ctx context.Context, k kind.Kind, run *kind.Run) (task.Work, error) {
		return k.FinishTransform(ctx, run)
	})
}
