package ddl

import (
	"context"
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

// work is one attempt at the steps of a phase.
type work struct {
	run      *kind.Run
	db       *site
	it       *item
	lease    *ledger.Lease
	session  engine.Session
	progress progress
	steps    []engine.Step
}

func (w *work) do(ctx context.Context) error {
	for w.progress.Done < len(w.steps) {
		if err := w.step(ctx, &w.steps[w.progress.Done]); err != nil {
			return err
		}
	}
	if w.lease.State == ledger.ShardDone {
		return nil
	}
	// There was nothing to be done.
	p := ledger.Progress{Digest: w.progress, Done: true}
	if err := w.lease.Advance(ctx, w.run.Ledger.DB(), p); err != nil {
		return err
	}
	w.lease.Committed(p)
	return nil
}

// next is the progress after the current step.
func (w *work) next() (progress, ledger.Progress) {
	to := progress{Done: w.progress.Done + 1, Began: w.progress.Began, Before: w.progress.Before}
	return to, ledger.Progress{Digest: to, Done: to.Done == len(w.steps)}
}

// step does one step: it looks whether it is done already, does it, and notes it.
func (w *work) step(ctx context.Context, step *engine.Step) error {
	began := time.Now()
	if step.Final && w.progress.Began == 0 {
		if err := unchanged(ctx, w.db, w.it); err != nil {
			return err
		}
	}
	done, err := w.isDone(ctx, step)
	if err != nil {
		return err
	}
	if done {
		to, p := w.next()
		if err := w.lease.Advance(ctx, w.run.Ledger.DB(), p); err != nil {
			return err
		}
		return w.noted(ctx, step, to, p, began, "was done already")
	}
	if !step.Brief { // it is work for the server
		if err := w.run.Throttle.Wait(ctx, 0, 0); err != nil {
			return err
		}
	}
	w.beat(step, "")
	act := w.inTransaction
	if step.Alone {
		if err := w.begin(ctx, step); err != nil {
			return err
		}
		act = w.alone
	}
	to, p := w.next()
	l := &lock{run: w.run, db: w.db, it: w.it, phase: w.lease.Phase, tables: stepTables(w.it, step), brief: step.Brief, session: w.session.ID(), window: step.Final, tell: func(waiting string) { w.beat(step, waiting) }}
	if err := l.patiently(ctx, func(ctx context.Context) error { return act(ctx, step, p) }); err != nil {
		return w.failed(ctx, step, err)
	}
	return w.noted(ctx, step, to, p, began, l.story())
}

func (w *work) noted(ctx context.Context, step *engine.Step, to progress, p ledger.Progress, began time.Time, how string) error {
	w.lease.Committed(p)
	w.progress = to
	return w.run.Ledger.Note(ctx, task.Event{What: "step done", Phase: w.lease.Phase, Table: w.it.name(), Attempt: w.lease.Attempt, Duration: time.Since(began),
		Detail: strings.Join(step.SQL, "; ") + how})
}

// isDone looks in the catalog whether a step is done already, by an attempt
// whose end nobody has heard of, and removes what it has left half done.
func (w *work) isDone(ctx context.Context, step *engine.Step) (bool, error) {
	if step.Look == "" {
		return w.isAltered(ctx, step)
	}
	state, err := word(ctx, w.db, step.Look)
	if err != nil || state != engine.StepHalf || step.Mend == "" {
		return state == engine.StepDone, err
	}
	return false, w.mend(ctx, step)
}

// isAltered tells by the table's definition whether the last step has been done.
// Where it is part of a transaction the ledger tells.
func (w *work) isAltered(ctx context.Context, step *engine.Step) (bool, error) {
	if !step.Alone || w.progress.Began <= w.progress.Done {
		return false, nil
	}
	now, err := w.db.Definition(ctx, w.it.Table.Name)
	return now != w.progress.Before, err
}

func (w *work) mend(ctx context.Context, step *engine.Step) error {
	if _, err := w.session.Exec(ctx, step.Mend); err != nil {
		return err
	}
	return w.run.Ledger.Note(ctx, task.Event{What: "half-made thing removed", Phase: w.lease.Phase, Table: w.it.name(), Detail: step.Mend})
}

// begin notes that a step is begun whose outcome may have to be looked for.
func (w *work) begin(ctx context.Context, step *engine.Step) error {
	before, err := w.db.Definition(ctx, w.it.Table.Name)
	if err != nil {
		return err
	}
	w.progress.Began, w.progress.Before = w.progress.Done+1, before
	p := ledger.Progress{Digest: w.progress}
	if err := w.lease.Advance(ctx, w.run.Ledger.DB(), p); err != nil {
		return err
	}
	if step.Brief {
		return nil
	}
	// It waits for others as long as need be: nobody waits behind it, and one
	// that gives up leaves a half-made index.
	return w.set(ctx, forever)
}

// forever lets a session of PostgreSQL wait for locks without a limit.
const forever = "SET lock_timeout = 0"

func (w *work) set(ctx context.Context, settings ...string) error {
	for _, statement := range settings {
		if _, err := w.session.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// frozen ends the transaction of a worker that is frozen while it has the lock.
const frozen = "SET idle_in_transaction_session_timeout = '5s'"

// patience sets how long the session waits for a lock.
func (w *work) patience(ctx context.Context, step *engine.Step) error {
	settings := impatient(w.run, w.db, w.it, step)
	return w.set(ctx, settings...)
}

// impatient are the settings of a session for a step, whose names are the user's.
func impatient(run *kind.Run, db *site, it *item, step *engine.Step) []string {
	limit := run.Spec.DDL.Cutover.Timeout.Std().Seconds()
	if !step.Brief {
		limit = max(limit, 30) // nobody waits behind it
	}
	settings := db.Impatient(limit, limit)
	if db.Dialect() == engine.PostgresDialect {
		settings = append(append(settings, frozen), db.In(it.Table.Name.Schema)...)
	}
	return settings
}

// inTransaction does a step and notes it, in one transaction.
func (w *work) inTransaction(ctx context.Context, step *engine.Step, p ledger.Progress) error {
	if err := w.patience(ctx, step); err != nil {
		return err
	}
	tx, err := w.session.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	hook.At("before step")
	for _, statement := range step.SQL {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	if err := w.lease.Advance(ctx, tx, p); err != nil {
		return err
	}
	hook.At("before step commits")
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	hook.At("after step")
	return nil
}

// alone does a step that is part of no transaction, and notes it then.
func (w *work) alone(ctx context.Context, step *engine.Step, p ledger.Progress) error {
	if step.Brief {
		if err := w.patience(ctx, step); err != nil {
			return err
		}
	}
	hook.At("before step")
	for _, statement := range step.SQL {
		if _, err := w.session.Exec(ctx, statement); err != nil {
			return err
		}
	}
	hook.At("after step")
	return w.lease.Advance(ctx, w.run.Ledger.DB(), p)
}

// failed says which step failed, and leaves nothing half-made of it behind.
func (w *work) failed(ctx context.Context, step *engine.Step, cause error) error {
	class := kind.Classify(cause).Class
	if class != task.Config && class != task.Data {
		w.end(ctx)
		return cause
	}
	cause = fault.About(w.it.name(), class, "%s: %w", strings.Join(step.SQL, "; "), cause)
	if step.Mend != "" {
		if err := w.mend(ctx, step); err != nil {
			return fmt.Errorf("%w (and what it has left could not be removed yet: %v)", cause, err)
		}
	}
	return cause
}

// end ends the session at the server: when the connection was lost it may still
// be at it, and whoever looks next must find the step done or not done.
func (w *work) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	_ = w.db.KillSession(ctx, w.session.ID()) // the next attempt looks all the same
}

// endTime is how long ending a session may take.
const endTime = 10 * time.Second

func (w *work) beat(step *engine.Step, waiting string) {
	h := task.Heartbeat{Phase: w.lease.Phase, Table: w.lease.Label(), Checkpoint: engine.ShortStatement(strings.Join(step.SQL, "; ")), WaitingFor: waiting}
	if w.lease.Phase == task.Transform {
		h.Shard = w.lease.No
	}
	w.run.Beat(h)
}
