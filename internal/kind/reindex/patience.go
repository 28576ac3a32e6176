package reindex

import (
	"context"
	"slices"
	"time"

	"godwit/internal/engine"
	"godwit/internal/kind"
	"godwit/internal/task"
)

const (
	// old is the age of a transaction from which on it is in the way of a
	// statement that needs the table for itself.
	old = time.Second
	// patience is how long it is waited for such a one to end, before a statement
	// is begun all the same.
	patience = 30 * time.Second
	// shortLock is how many seconds a short statement waits for the table's lock in
	// one try, and mostTries how many tries there are.
	shortLock = 3
	mostTries = 60
)

// act runs a statement. One that is short and does not get the table's lock is
// tried again, and others come through in between.
func (w *work) act(ctx context.Context, step *engine.IndexStep) error {
	for tries := 1; ; tries++ {
		if step.Locks {
			if err := w.gap(ctx); err != nil {
				return err
			}
		}
		err := w.watched(ctx, step)
		if err == nil || step.Builds || !step.Locks || tries == mostTries || kind.Classify(err).Class != task.Busy {
			return err
		}
		w.beat("the lock of " + w.it.Table.String() + ", which was not to be had")
		if err := w.run.Pause(ctx, tries); err != nil {
			return err
		}
	}
}

// gap waits, for a while, until no old transaction is in the way: it would be
// waited for, and everybody else would have to wait behind.
func (w *work) gap(ctx context.Context) error {
	began := time.Now()
	for time.Since(began) < patience {
		who, err := w.db.Blockers(ctx, w.it.Table)
		if err != nil {
			if kind.Classify(err).Class == task.Config {
				return nil // they are not shown to this user, as the plan has said
			}
			return err
		}
		who = slices.DeleteFunc(who, func(b engine.Blocker) bool { return b.Age < old || b.Waits })
		if len(who) == 0 {
			break
		}
		w.beat(who[0].String() + ", to end: it may have the table locked")
		if err := w.run.Pause(ctx, 3); err != nil {
			return err
		}
	}
	w.beat("")
	return nil
}

// settings writes how a session does a step.
func (w *work) settings(ctx context.Context, step *engine.IndexStep) (statements []string, how string, err error) {
	most := limits(w.run.Spec.Reindex, w.progress.GivenUp)
	if !step.Builds {
		most.LockWait = min(shortLock, most.LockWait)
	}
	return w.db.BuildSettings(ctx, most)
}
