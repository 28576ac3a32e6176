package statement

import (
	"context"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// Cutover has nothing to switch: what a rollback needs is kept for a while.
func (s *Statement) Cutover(ctx context.Context, run *kind.Run) (task.CutoverResult, error) {
	it, err := planned(ctx, run)
	if err != nil || len(it.Undo) == 0 {
		return task.CutoverResult{}, err
	}
	out := task.CutoverResult{Kept: []task.BackupItem{it.kept(run)}}
	if keep := run.Spec.SQL.KeepOld; keep != nil {
		out.KeepFor = keep.Std()
	}
	return out, nil
}

// Cleanup gives up the way back.
func (s *Statement) Cleanup(ctx context.Context, run *kind.Run) error {
	db, err := open(ctx, run)
	if err != nil {
		return err
	}
	it, err := planned(ctx, run)
	if err != nil {
		return err
	}
	return db.Transaction(ctx, func(tx engine.Tx) error {
		if len(it.Undo) > 0 {
			if err := run.Ledger.SetBackupState(ctx, tx, undoNo, ledger.BackupRemoved); err != nil {
				return err
			}
		}
		return it.setState(ctx, run, tx, itemFinal)
	})
}

// Rollback runs the undo, once, if the statement has happened.
func (s *Statement) Rollback(ctx context.Context, run *kind.Run) error {
	if _, err := run.Ledger.Take(ctx, task.SQL); err != nil {
		return err
	}
	it, err := load(ctx, run)
	if err != nil {
		return err
	}
	if it == nil || it.state == itemUndone {
		return run.Ledger.Undone(ctx)
	}
	if it.state == itemFinal {
		return fault.New(task.Human, "the statement can no longer be taken back: its cleanup has given up the way back")
	}
	if err := run.Ledger.KillSessions(ctx); err != nil {
		return err
	}
	if err := run.Ledger.Fence(ctx); err != nil {
		return err
	}
	hook.At("fenced")
	db, err := open(ctx, run)
	if err != nil {
		return err
	}
	happened, err := it.happened(ctx, run, db)
	if err != nil {
		return err
	}
	undo := it.Undo
	switch {
	case !happened || len(it.Statements) == 0:
		undo = nil
	case len(undo) == 0 && run.Cancel:
		if err := run.Leave(ctx, "", "the statement has been run and has no undo: it stays"); err != nil {
			return err
		}
	case len(undo) == 0:
		return fault.New(task.Human, "%q has been run, and the spec has no undo for it", joined(it.Statements))
	}
	return it.takeBack(ctx, run, db, undo)
}

// happened reports whether the statement has been run. Of one that commits by itself
// and was only begun, a query that is true tells; otherwise an operator has to. A query
// that is not may be so because of what the statement has done.
func (it *item) happened(ctx context.Context, run *kind.Run, db kind.Site) (bool, error) {
	shards, err := run.Ledger.Shards(ctx, task.Transform)
	if err != nil || len(shards) == 0 {
		return false, err
	}
	p, err := progressOf(shards[0].Digest)
	switch {
	case err != nil:
		return false, err
	case shards[0].State == ledger.ShardDone, p.Ran:
		return true, nil
	case !it.Alone || !p.Begun:
		return false, nil
	}
	if it.Query != "" {
		got, err := kind.Answer(ctx, db, it.Query)
		switch {
		case err != nil && kind.Classify(err).Class.Retryable():
			return false, err
		case err == nil && kind.True(got, &it.Expect): // what it asks about may not be there
			return true, nil
		}
	}
	if run.Cancel {
		return false, run.Leave(ctx, "", "the statement was begun, and its outcome is not known: what it has done stays")
	}
	return false, fault.New(task.Human, "%q was begun, and its outcome is not known: look in the database, take it back by hand if it has been done, and skip the step", it.Statements[0])
}

// takeBack runs the undo with the line in the ledger that says so.
func (it *item) takeBack(ctx context.Context, run *kind.Run, db kind.Site, undo []string) error {
	session, err := db.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Destroy()
	if err := ready(ctx, run, db, session); err != nil {
		return err
	}
	stop := run.KeepTouching()
	defer stop()
	if it.UndoAlone && len(undo) > 0 {
		if err := it.undoAlone(ctx, run, db, session); err != nil {
			return err
		}
		undo = nil
	}
	tx, err := session.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	if err := run.Ledger.Steers(ctx, tx); err != nil {
		return err
	}
	if _, err := runAll(ctx, tx, undo); err != nil {
		return err
	}
	if len(it.Undo) > 0 && it.state != itemPlanned {
		if err := run.Ledger.SetBackupState(ctx, tx, undoNo, ledger.BackupRestored); err != nil {
			return err
		}
	}
	if err := it.setState(ctx, run, tx, itemUndone); err != nil {
		return err
	}
	if err := run.Ledger.Undo(ctx, tx); err != nil {
		return err
	}
	hook.At("before undo committed")
	return tx.Commit(ctx)
}

// undoAlone runs an undo that the server commits by itself.
func (it *item) undoAlone(ctx context.Context, run *kind.Run, db kind.Site, session engine.Session) error {
	switch {
	case it.state != itemUndoing:
	case it.UndoAsked == "", it.UndoAsked == run.RunID: // the run's own tries are nobody who has looked
		if err := it.askedIn(ctx, run, db, run.RunID); err != nil {
			return err
		}
		return fault.New(task.Human, "the undo %q was begun, and its outcome is not known: look in the database. A retry runs it again", it.Undo[0])
	default:
		if err := it.askedIn(ctx, run, db, ""); err != nil {
			return err
		}
	}
	if err := it.setState(ctx, run, db, itemUndoing); err != nil {
		return err
	}
	hook.At("undo announced")
	if _, err := session.Exec(ctx, it.Undo[0]); err != nil {
		if opaque.MatchString(it.Undo[0]) {
			return told(half(it.Undo[0], err), it.askedIn(ctx, run, db, run.RunID))
		}
		if kind.Classify(err).Class != task.Transient {
			if told := it.setState(ctx, run, db, itemReady); told != nil {
				return told
			}
		}
		return refused(it.Undo[0], err)
	}
	return closed(ctx, session, it.Undo[0])
}
