package backfill

import (
	"context"
	"errors"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// Cutover runs the closing statement, once, under a short wait for locks. What
// a rollback needs is kept for a while.
func (b *Backfill) Cutover(ctx context.Context, run *kind.Run) (task.CutoverResult, error) {
	db, err := open(ctx, run)
	if err != nil {
		return task.CutoverResult{}, err
	}
	it, err := load(ctx, run)
	if err != nil {
		return task.CutoverResult{}, err
	}
	if sql := run.Spec.Backfill.Cutover.SQL; sql != "" && it.state != itemClosed {
		if err := closeWith(ctx, run, db, it, sql); err != nil {
			return task.CutoverResult{}, err
		}
	}
	kept, err := keptBackups(ctx, run, db, it)
	if err != nil || len(kept) == 0 {
		return task.CutoverResult{}, err
	}
	result := task.CutoverResult{Kept: kept}
	if keep := run.Spec.Backfill.KeepOld; keep != nil {
		result.KeepFor = keep.Std()
	}
	return result, nil
}

// closeWith runs the closing statement and notes it, in one transaction. On
// MySQL and MariaDB it commits by itself: there the definition before it is
// noted first, and a statement whose outcome is not known has been run when
// the definition is another one.
func closeWith(ctx context.Context, run *kind.Run, db *site, it *item, sql string) error {
	now, err := db.Definition(ctx, it.Table.Name)
	if err != nil {
		return err
	}
	switch it.state {
	case itemReady:
		if err := db.Transaction(ctx, func(tx engine.Tx) error {
			if now != "" {
				b := ledger.Backup{No: definitionBackup, BackupItem: task.BackupItem{What: "definition of " + it.name(), Where: now, Restore: run.Spec.Backfill.Cutover.Undo}}
				if err := run.Ledger.PutBackup(ctx, tx, b); err != nil {
					return err
				}
			}
			return it.setState(ctx, run, tx, itemClosing)
		}); err != nil {
			return err
		}
	case itemClosing:
		before, err := definitionBefore(ctx, run)
		if err != nil {
			return err
		}
		if before != now {
			lease, err := takeOver(ctx, run, it, "")
			if err != nil {
				return err
			}
			return errors.Join(it.setState(ctx, run, db, itemClosed), lease.Yield(context.WithoutCancel(ctx)))
		}
	}
	run.Beat(task.Heartbeat{Phase: task.Cutover, Table: it.name(), WaitingFor: "the lock for the closing statement"})
	return patiently(ctx, run, db, it, func(tx engine.Tx) error {
		hook.At("before closing")
		if _, err := tx.Exec(ctx, sql); err != nil {
			return closingError(it, sql, err)
		}
		hook.At("after closing")
		return it.setState(ctx, run, tx, itemClosed)
	})
}

func closingError(it *item, sql string, err error) error {
	switch kind.Classify(err).Class {
	case task.Config, task.Data:
		return fault.About(it.name(), task.Human, "the closing statement failed: %q: %w; see to that, then retry", sql, err)
	case task.Busy:
		return fault.About(it.name(), task.Busy, "the closing statement did not get its lock within cutover.timeout and is tried again: %w", err)
	}
	return err
}

// definitionBefore is the table's definition before the closing statement.
func definitionBefore(ctx context.Context, run *kind.Run) (string, error) {
	all, err := run.Ledger.Backups(ctx)
	for _, b := range all {
		if b.No == definitionBackup {
			return b.Where, err
		}
	}
	return "", err
}

// patiently runs f in a transaction of a session that waits for locks as long
// as cutover.timeout says. Where a change of a definition commits by itself, no
// guard in that transaction keeps an attempt from making it that was frozen
// before: the session is known to the ledger as that of a shard, so that
// whoever takes over, or rolls back, ends it first.
func patiently(ctx context.Context, run *kind.Run, db *site, it *item, f func(tx engine.Tx) error) error {
	session, err := db.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Destroy()
	limit := run.Spec.Backfill.Cutover.Timeout.Std().Seconds()
	if err := set(ctx, session, append(db.Impatient(limit, limit), db.In(it.Table.Name.Schema)...)); err != nil {
		return err
	}
	lease, err := takeOver(ctx, run, it, session.ID())
	if err != nil {
		return err
	}
	return errors.Join(whileItStands(ctx, run, db, it, session, f), lease.Yield(context.WithoutCancel(ctx)))
}

// takeOver ends the session of the attempt that was at the closing statement
// before, if it still is, and makes this one's known; there may be none.
func takeOver(ctx context.Context, run *kind.Run, it *item, session string) (*ledger.Lease, error) {
	if err := run.Ledger.PlanShards(ctx, task.Cutover, []ledger.Shard{{No: 1, Table: it.name(), Part: 1, Parts: 1}}); err != nil {
		return nil, err
	}
	return run.Ledger.ClaimShard(ctx, task.ShardInput{Ref: run.Ref, Phase: task.Cutover, Shard: 1}, session)
}

// whileItStands runs f in a transaction, unless another attempt has been
// faster before this one had its session known.
func whileItStands(ctx context.Context, run *kind.Run, db *site, it *item, session engine.Session, f func(tx engine.Tx) error) error {
	now, err := load(ctx, run)
	if err != nil {
		return err
	}
	if now.state != it.state {
		return fault.About(it.name(), task.Superseded, "another attempt has got further with %s; this one has written nothing more", it.name())
	}
	if err := run.Ledger.Steers(ctx, db); err != nil {
		return err
	}
	tx, err := session.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// Cleanup removes the old values and releases the claim: from then on there is
// no way back.
func (b *Backfill) Cleanup(ctx context.Context, run *kind.Run) error {
	db, err := open(ctx, run)
	if err != nil {
		return err
	}
	it, err := load(ctx, run)
	if err != nil {
		return err
	}
	if it.state != itemFinal {
		if err := db.Transaction(ctx, func(tx engine.Tx) error {
			if err := it.setState(ctx, run, tx, itemFinal); err != nil {
				return err
			}
			for _, no := range []int{savedBackup, definitionBackup} {
				if err := run.Ledger.SetBackupState(ctx, tx, no, ledger.BackupRemoved); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	if it.kept() {
		if _, err := db.Exec(ctx, db.DropSaved(it.Rewrite)); err != nil {
			return err
		}
	}
	hook.At("old values removed")
	return run.Ledger.Release(ctx)
}
