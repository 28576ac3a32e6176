package reindex

import (
	"context"
	"slices"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// Rollback drops the indexes that were made and makes those that were dropped
// again. One that was rebuilt is what it was, and stays.
func (r *Reindex) Rollback(ctx context.Context, run *kind.Run) error {
	if copies(run) {
		return r.copy.Rollback(ctx, run)
	}
	if _, err := run.Ledger.Take(ctx, task.Reindex); err != nil {
		return err
	}
	db, items, err := both(ctx, run)
	if err != nil {
		return err
	}
	if len(items) == 0 || items[0].state == itemUndone {
		return run.Ledger.Undone(ctx)
	}
	if items[0].state == itemFinal {
		return fault.New(task.Human, "the migration can no longer be rolled back: its cleanup has given up the way back")
	}
	if err := run.Ledger.KillSessions(ctx); err != nil {
		return err
	}
	if err := run.Ledger.Fence(ctx); err != nil {
		return err
	}
	hook.At("fenced")
	if err := takeBack(ctx, run, db, items); err != nil {
		return err
	}
	hook.At("taken back")
	return db.Transaction(ctx, func(tx engine.Tx) error {
		if err := closeBackups(ctx, run, tx, items, ledger.BackupRestored); err != nil {
			return err
		}
		if err := setStates(ctx, run, tx, items, itemUndone); err != nil {
			return err
		}
		return run.Ledger.Undo(ctx, tx)
	})
}

// takeBack takes back whatever has been begun, the last first, and removes what
// builds have left.
func takeBack(ctx context.Context, run *kind.Run, db *site, items []*item) error {
	begun := map[int]progress{}
	for _, phase := range []task.Phase{task.Transform, task.Cutover} {
		found, err := progressOf(ctx, run, phase, items)
		if err != nil {
			return err
		}
		for no, p := range found {
			begun[no] = p
		}
	}
	for _, it := range slices.Backward(items) {
		if begun[it.no].Begun == 0 {
			continue
		}
		u := &undoing{run: run, db: db, it: it}
		if err := u.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// undoing takes one index back.
type undoing struct {
	run *kind.Run
	db  *site
	it  *item
}

func (u *undoing) do(ctx context.Context) error {
	session, err := u.db.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Destroy()
	w := &work{run: u.run, db: u.db, it: u.it, session: session, lease: &ledger.Lease{Shard: ledger.Shard{Phase: task.Cleanup, Table: u.it.name()}}}
	if err := w.alone(ctx); err != nil {
		return err
	}
	if err := u.steered(ctx); err != nil {
		return err
	}
	if err := w.sweep(ctx); err != nil {
		return err
	}
	statement, err := u.db.UndoIndex(ctx, &u.it.IndexWork)
	if u.run.Cancel && err != nil && kind.Classify(err).Class == task.Human {
		return u.run.Leave(ctx, u.it.Table.String(), u.it.name()+" stays as it is: "+err.Error())
	}
	if err != nil || statement == "" {
		return err
	}
	settings, _, err := u.db.BuildSettings(ctx, limits(u.run.Spec.Reindex, 0))
	if err != nil {
		return err
	}
	for _, setting := range settings {
		if _, err := session.Exec(ctx, setting); err != nil {
			return err
		}
	}
	hook.At("before taking back")
	stop := u.run.KeepTouching()
	defer stop()
	if _, err := session.Exec(ctx, statement); err != nil {
		if class := kind.Classify(err).Class; class == task.Config || class == task.Data {
			return fault.About(u.it.Table.String(), task.Human, "%s: %w; see to that, then roll back again", statement, err)
		}
		_ = u.db.KillSession(context.WithoutCancel(ctx), session.ID()) // the next attempt looks all the same
		return err
	}
	return u.run.Ledger.Note(ctx, task.Event{What: "taken back", Phase: task.Cleanup, Table: u.it.Table.String(), Detail: statement})
}

// steered refuses an attempt that no longer steers the migration.
func (u *undoing) steered(ctx context.Context) error {
	return u.db.Transaction(ctx, func(tx engine.Tx) error { return u.run.Ledger.Steers(ctx, tx) })
}
