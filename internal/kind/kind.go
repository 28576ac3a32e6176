// Package kind is what the activities know of a kind of migration. There is
// one Migration workflow for all kinds: they differ in what a phase does,
// never in how phases, pausing, retrying, timing out or rolling back work.
//
// Every method may be called again after any kind of interruption, also while
// an earlier call is still alive somewhere: it looks at the ledger and the
// catalog first, does what is missing, and leaves what is done. Errors are
// of class fault.Error or come from a driver (its engine classifies them);
// anything else is internal.
package kind

import (
	"context"

	"godwit/internal/connection"
	"godwit/internal/ledger"
	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/internal/throttle"
)

// Kind does the phases of one kind of migration.
type Kind interface {
	// Plan finds out everything that can be known beforehand and changes nothing.
	Plan(ctx context.Context, run *Run) (*task.Plan, error)
	// Preflight checks as Plan does, takes the claims and writes the plan to
	// the ledger; on resume it compares the fingerprint instead.
	Preflight(ctx context.Context, run *Run) (task.PreflightResult, error)
	// Backup makes what Rollback needs.
	Backup(ctx context.Context, run *Run) (task.BackupResult, error)
	// PrepareTransform does what comes before the shards and cuts them.
	PrepareTransform(ctx context.Context, run *Run) (task.Work, error)
	// TransformShard does one shard.
	TransformShard(ctx context.Context, run *Run, in task.ShardInput) (task.ShardResult, error)
	// FinishTransform does what comes after all shards. When it returns open
	// shards, they are done and it is called again.
	FinishTransform(ctx context.Context, run *Run) (task.Work, error)
	// PrepareVerify cuts the shards of the verification.
	PrepareVerify(ctx context.Context, run *Run) (task.Work, error)
	// VerifyShard compares one shard.
	VerifyShard(ctx context.Context, run *Run, in task.ShardInput) (task.ShardResult, error)
	// FinishVerify concludes: a difference is an error of class mismatch.
	FinishVerify(ctx context.Context, run *Run) (task.VerifySummary, error)
	// Tend keeps up what must not be left alone while the migration waits.
	Tend(ctx context.Context, run *Run) (task.TendResult, error)
	// Cutover makes the result the real thing.
	Cutover(ctx context.Context, run *Run) (task.CutoverResult, error)
	// Cleanup removes what was kept for a rollback and releases the claims.
	Cleanup(ctx context.Context, run *Run) error
	// Rollback undoes everything that was done, in any phase, and releases the claims.
	Rollback(ctx context.Context, run *Run) error
}

// Sweeper is a Kind whose preflight makes something that is left when it is cut
// short before there is a plan.
type Sweeper interface {
	// Sweep removes that. The run has neither a spec nor a plan.
	Sweep(ctx context.Context, run *Run) error
}

// Run is a migration as one call of a Kind sees it.
type Run struct {
	Ref         task.Ref
	Spec        *spec.Spec
	Resume      bool
	Connections *connection.Registry
	// Ledger is the migration's ledger; nil in Plan.
	Ledger *ledger.Ledger
	// Beat reports progress; it is cheap to call often.
	Beat func(task.Heartbeat)
	// Touch says that the work goes on where there is no progress to report yet.
	Touch func()
	// Alive asks Temporal whether this attempt still counts; one that was lost
	// gets a fault of class superseded.
	Alive func(ctx context.Context) error
	// Stop is closed when the worker is stopping: end after the current chunk
	// with an error of class stopping.
	Stop <-chan struct{}
	// Cancel says of a Rollback that the migration is cancelled: what cannot be
	// undone stays as it is.
	Cancel bool
	// RunID is the workflow's run that a Rollback belongs to: another one than before
	// has been begun by somebody who knows how the last one has ended.
	RunID string
	// Left is what such a Rollback has left, in words: see Leave.
	Left []string
	// Step says of a Cutover that the migration is a pipeline's step, which may have
	// to be undone later on.
	Step bool
	// Throttle holds the work back; it is set once the migration is planned.
	Throttle *throttle.Share
}

// Leave notes that a Rollback leaves something as it is, because nothing can undo it
// and the migration is cancelled.
func (run *Run) Leave(ctx context.Context, table, what string) error {
	run.Left = append(run.Left, what)
	return run.Ledger.Note(ctx, task.Event{What: "left as it is", Phase: task.Cleanup, Table: table, Detail: what})
}

// Stopped reports whether somebody has asked this call to end.
func (run *Run) Stopped() bool {
	select {
	case <-run.Stop:
		return true
	default:
		return false
	}
}
