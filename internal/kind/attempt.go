package kind

import (
	"context"
	"errors"
	"fmt"
	"time"

	"godwit/internal/fault"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// reportTime limits what is written to the ledger after an attempt's own
// context has ended.
const reportTime = 10 * time.Second

// Attempt runs one attempt at a shard: it claims the shard for the given
// database session, calls work unless the shard is done already, and records
// how the attempt ended. What work returns is classified; a shard whose
// attempts are used up comes back as an error that is not to be repeated
// (Exhausted), and one that got further as one that may be tried again soon
// (Advanced).
func (run *Run) Attempt(ctx context.Context, in task.ShardInput, session string, work func(*ledger.Lease) error) (task.ShardResult, error) {
	lease, err := run.Ledger.ClaimShard(ctx, in, session)
	if err != nil {
		return task.ShardResult{}, err
	}
	if lease.State != ledger.ShardDone {
		began := time.Now()
		if err := work(lease); err != nil {
			if err = run.attemptFailed(ctx, lease, err, time.Since(began)); err != nil {
				return task.ShardResult{}, err
			}
		}
		event := task.Event{What: "shard done", Phase: in.Phase, Table: lease.Table, Shard: in.Shard, Attempt: lease.Attempt, Duration: time.Since(began),
			Detail: fmt.Sprintf("%s: %d rows", lease.Label(), lease.Rows)}
		if err := run.Ledger.Note(ctx, event); err != nil {
			return task.ShardResult{}, err
		}
	}
	return task.ShardResult{Shard: in.Shard, Table: lease.Table, Rows: lease.Rows, Bytes: lease.Bytes}, nil
}

// Exhausted is the error of a shard whose attempts are used up.
type Exhausted struct {
	Failure *task.Failure
	cause   error
}

func (e *Exhausted) Error() string { return e.cause.Error() }

// Unwrap returns the last attempt's error.
func (e *Exhausted) Unwrap() error { return e.cause }

// Advanced is the error of an attempt that failed after it had made progress.
type Advanced struct{ cause error }

func (e *Advanced) Error() string { return e.cause.Error() }

// Unwrap returns the attempt's error.
func (e *Advanced) Unwrap() error { return e.cause }

// Deferred is the error of an attempt that is not to be repeated at once: its
// shard goes to the retry queue, however many attempts are left.
type Deferred struct{ Cause error }

func (d *Deferred) Error() string { return d.Cause.Error() }

// Unwrap returns the attempt's error.
func (d *Deferred) Unwrap() error { return d.Cause }

func (run *Run) attemptFailed(ctx context.Context, lease *ledger.Lease, cause error, took time.Duration) error {
	failure := run.ClassifyIn(ctx, cause)
	failure.Phase, failure.Shard = lease.Phase, &lease.No
	if failure.Table == "" {
		failure.Table = lease.Table
	}
	// The attempt may have failed because its context ended; what is written
	// now is guarded by the epoch.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTime)
	defer cancel()
	if failure.Class == task.Stopping {
		if err := lease.Yield(ctx); err != nil {
			return fmt.Errorf("%w (and the ledger could not be told: %v)", cause, err)
		}
		return cause
	}
	attempts := run.Spec.Retry.Attempts
	var deferred *Deferred
	if errors.As(cause, &deferred) {
		attempts = 0
	}
	exhausted, err := lease.Fail(ctx, failure, attempts)
	if err == nil && lease.State == ledger.ShardDone {
		return nil // the last chunk was committed after all
	}
	if err == nil {
		err = run.Ledger.Note(ctx, task.Event{What: "attempt failed", Phase: lease.Phase, Table: lease.Table, Shard: lease.No, Attempt: lease.Attempt,
			Duration: took, Detail: lease.Label(), Error: failure, Stack: fault.Stack(cause)})
	}
	if err != nil {
		return fmt.Errorf("%w (and the ledger could not be told: %v)", cause, err)
	}
	switch {
	case exhausted:
		return &Exhausted{Failure: failure, cause: cause}
	case lease.Advanced():
		return &Advanced{cause}
	}
	return cause
}
