package reindex

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// work is one attempt at one index.
type work struct {
	run      *kind.Run
	db       *site
	it       *item
	lease    *ledger.Lease
	session  engine.Session
	progress progress
	told     task.Heartbeat
	usual    *memory
}

// do brings the index to where it has to be: it looks how far it has come,
// removes what a build before has left, and does the next step.
func (w *work) do(ctx context.Context) error {
	if err := w.alone(ctx); err != nil {
		return err
	}
	for {
		stand, err := w.db.LookIndex(ctx, &w.it.IndexWork, w.progress.Begun, w.progress.Mark)
		if err != nil {
			return err
		}
		if err := w.sweep(ctx); err != nil {
			return err
		}
		if stand.Done >= len(w.it.Steps) {
			return w.finish(ctx)
		}
		if err := w.step(ctx, stand); err != nil {
			return err
		}
	}
}

// finish notes that the index is as it has to be.
func (w *work) finish(ctx context.Context) error {
	hook.At("before index done")
	p := ledger.Progress{Digest: w.progress, Done: true, Rows: w.it.Rows, Bytes: w.it.Bytes}
	if err := w.lease.Advance(ctx, w.run.Ledger.DB(), p); err != nil {
		return err
	}
	w.lease.Committed(p)
	hook.At("index done")
	return nil
}

// alone waits until nobody else builds an index of the table: another shard, or
// somebody who is not Godwit.
func (w *work) alone(ctx context.Context) error {
	for tries := 0; ; tries++ {
		taken, err := w.db.TryIndexLock(ctx, w.session, w.it.Table)
		if err != nil {
			return err
		}
		if taken {
			break
		}
		w.beat("another index of " + w.it.Table.String() + ", which is being built")
		if err := w.run.Pause(ctx, tries); err != nil {
			return err
		}
	}
	for tries := 0; ; tries++ {
		who, err := w.db.Builders(ctx, w.session.ID(), w.it.Table)
		if err != nil || len(who) == 0 {
			w.beat("")
			return err
		}
		w.beat(who[0].String() + ", which builds an index of the table")
		if err := w.run.Pause(ctx, tries); err != nil {
			return err
		}
	}
}

// sweep removes what builds have left, in the attempt's own session, which a
// successor ends before it begins.
func (w *work) sweep(ctx context.Context) error {
	stop := w.run.KeepTouching()
	defer stop()
	removed, err := w.db.SweepIndex(ctx, w.session, &w.it.IndexWork, w.progress.Begun)
	if len(removed) > 0 {
		hook.At("swept")
		event := task.Event{What: "leftover removed", Phase: w.lease.Phase, Table: w.it.Table.String(), Shard: w.lease.No, Attempt: w.lease.Attempt, Detail: strings.Join(removed, ", ")}
		err = errors.Join(err, w.run.Ledger.Note(ctx, event))
	}
	return err
}

// step does the next step.
func (w *work) step(ctx context.Context, stand engine.IndexStand) error {
	step := &w.it.Steps[stand.Done]
	if step.Builds {
		if err := w.run.Throttle.Wait(ctx, 0, 0); err != nil {
			return err
		}
	}
	settings, how, err := w.settings(ctx, step)
	if err != nil {
		return err
	}
	w.progress.Begun, w.progress.Mark = stand.Done+1, stand.Mark
	if err := w.lease.Advance(ctx, w.run.Ledger.DB(), w.noted()); err != nil {
		return err
	}
	hook.At("before build")
	began := time.Now()
	for _, setting := range settings {
		if _, err := w.session.Exec(ctx, setting); err != nil {
			return err
		}
	}
	if err := w.act(ctx, step); err != nil {
		return w.failed(ctx, step, err)
	}
	hook.At("built")
	detail := strings.Join(step.SQL, "; ")
	if step.Builds {
		detail += ", " + how
	}
	return w.run.Ledger.Note(ctx, task.Event{What: "step done", Phase: w.lease.Phase, Table: w.it.Table.String(), Shard: w.lease.No, Attempt: w.lease.Attempt,
		Duration: time.Since(began), Detail: detail})
}

// endTime is how long cleaning up may take when the attempt has to end, and
// givenUpTime when its build was given up: what is left then is removed by the
// next attempt.
const (
	endTime     = 3 * time.Second
	givenUpTime = 10 * time.Second
)

// failed sees to it that the build has ended at the server, and that nothing of
// it is left where there is time for that; the next attempt looks all the same.
func (w *work) failed(ctx context.Context, step *engine.IndexStep, cause error) error {
	given := &givenUp{}
	up := errors.As(cause, &given)
	class := kind.Classify(cause).Class
	refused := class == task.Data || class == task.Config
	cleaning := ctx
	if limit := endTime; ctx.Err() != nil || !refused {
		if up {
			limit = givenUpTime
		}
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		cleaning = limited
	}
	clean := w.clean(cleaning)
	hook.At("cleaned after build")
	if up {
		return w.giveUp(ctx, given, clean)
	}
	if refused {
		cause = w.explain(ctx, step, class, cause)
		if clean != nil {
			return fmt.Errorf("%w (and what it has left could not be removed yet: %v)", cause, clean)
		}
	}
	return cause
}

// leave gives up the session, whose settings are not those of the pool's others.
func (w *work) leave() {
	if w.session != nil {
		w.session.Destroy()
		w.session = nil
	}
}

// clean ends the session that built and removes what is left, in another one
// that is noted in its place.
func (w *work) clean(ctx context.Context) error {
	if err := w.db.KillSession(ctx, w.session.ID()); err != nil {
		return err
	}
	w.leave()
	session, err := w.db.Session(ctx)
	if err != nil {
		return err
	}
	w.session = session
	if err := w.lease.Move(ctx, session.ID()); err != nil {
		return err
	}
	taken, err := w.db.TryIndexLock(ctx, session, w.it.Table)
	if err != nil || !taken {
		return err
	}
	if who, err := w.db.Builders(ctx, session.ID(), w.it.Table); err != nil || len(who) > 0 {
		return err
	}
	return w.sweep(ctx)
}

// explain says which statement was refused; of a unique index, which values are
// in its way.
func (w *work) explain(ctx context.Context, step *engine.IndexStep, class task.Class, cause error) error {
	if class == task.Data && w.it.Unique {
		stop := w.run.KeepTouching()
		defer stop()
		values, err := w.db.Duplicates(ctx, &w.it.IndexWork)
		if err == nil && values != "" {
			return fault.About(w.it.Table.String(), task.Data, "index %s has to be unique, and rows of %s are not: %s; mend them and retry, or roll back: %w",
				w.it.name(), w.it.Table, values, cause)
		}
	}
	return fault.About(w.it.Table.String(), class, "%s: %w", strings.Join(step.SQL, "; "), cause)
}

// noted is the progress as it is now, for the ledger.
func (w *work) noted() ledger.Progress { return ledger.Progress{Digest: w.progress} }
