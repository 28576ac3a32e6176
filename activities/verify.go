package activities

import (
	"context"

	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/task"
)

// PrepareVerify cuts the shards of the verification.
func (a *Activities) PrepareVerify(ctx context.Context, in task.PhaseInput) (task.Work, error) {
	return phase(ctx, a, in, "verify", func(ctx context.Context, k kind.Kind, run *kind.Run) (task.Work, error) {
		return k.PrepareVerify(ctx, run)
	})
}

// VerifyShard compares one shard.
func (a *Activities) VerifyShard(ctx context.Context, in task.ShardInput) (task.ShardResult, error) {
	return shard(ctx, a, in, func(ctx context.Context, k kind.Kind, run *kind.Run) (task.ShardResult, error) {
		return k.VerifyShard(ctx, run, in)
	})
}

// FinishVerify concludes the verification. What it compared comes back in any
// case: with an error of class mismatch it is the error's second detail.
func (a *Activities) FinishVerify(ctx context.Context, in task.PhaseInput) (task.VerifySummary, error) {
	summary, err := phase(ctx, a, in, "comparison", func(ctx context.Context, k kind.Kind, run *kind.Run) (conclusion, error) {
		s, err := k.FinishVerify(ctx, run)
		if f := fault.Of(err); f != nil && f.Class == task.Mismatch {
			return conclusion{s, err}, nil
		}
		return conclusion{s, nil}, err
	})
	if err != nil {
		return task.VerifySummary{}, err
	}
	if summary.mismatch != nil {
		p := newPulse(ctx, in.Phase, 0)
		defer p.end()
		return task.VerifySummary{}, p.report(summary.mismatch, summary.VerifySummary)
	}
	return summary.VerifySummary, nil
}

// conclusion is a verification that was carried through, whatever it found.
type conclusion struct {
	task.VerifySummary
	mismatch error
}
