package reindex

import (
	"context"
	"fmt"

	"godwit/internal/engine"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// Backup notes the definitions of the indexes that are there.
func (r *Reindex) Backup(ctx context.Context, run *kind.Run) (task.BackupResult, error) {
	if copies(run) {
		return r.copy.Backup(ctx, run)
	}
	db, items, err := both(ctx, run)
	if err != nil {
		return task.BackupResult{}, err
	}
	if len(items) > 0 && items[0].state == itemPlanned {
		if err := db.Transaction(ctx, func(tx engine.Tx) error {
			for _, it := range items {
				if it.Action == engine.CreateIndex {
					continue
				}
				backup := ledger.Backup{No: it.no, BackupItem: task.BackupItem{What: "definition of " + it.name(), Where: it.Definition, Bytes: int64(len(it.Definition)), Restore: it.restore(run)}}
				if err := run.Ledger.PutBackup(ctx, tx, backup); err != nil {
					return err
				}
			}
			return setStates(ctx, run, tx, items, itemReady)
		}); err != nil {
			return task.BackupResult{}, err
		}
	}
	kept, err := keptBackups(ctx, run)
	return task.BackupResult{Items: kept}, err
}

// restore says how the index comes back.
func (it *item) restore(run *kind.Run) string {
	if it.Action == engine.DropIndex {
		return fmt.Sprintf("`godwit rollback %s`, or by its definition", run.Ref.ID)
	}
	return "by its definition; the index is there until its new form is complete"
}

// mostKept is how many of them are listed.
const mostKept = 20

// keptBackups lists what a rollback has: where it is, and not all of the text.
func keptBackups(ctx context.Context, run *kind.Run) ([]task.BackupItem, error) {
	all, err := run.Ledger.Backups(ctx)
	if err != nil {
		return nil, err
	}
	var kept []task.BackupItem
	more := 0
	for _, backup := range all {
		switch {
		case backup.State != ledger.BackupKept:
		case len(kept) == mostKept:
			more++
		default:
			backup.Where = "text in the ledger"
			kept = append(kept, backup.BackupItem)
		}
	}
	if more > 0 {
		kept = append(kept, task.BackupItem{What: fmt.Sprintf("definitions of %d more indexes", more), Where: "text in the ledger", Restore: "by their definitions"})
	}
	return kept, nil
}

// closeBackups notes what became of them, in the transaction that did it.
func closeBackups(ctx context.Context, run *kind.Run, q engine.Querier, items []*item, state ledger.BackupState) error {
	for _, it := range items {
		if it.Action == engine.CreateIndex {
			continue
		}
		if err := run.Ledger.SetBackupState(ctx, q, it.no, state); err != nil {
			return err
		}
	}
	return nil
}
