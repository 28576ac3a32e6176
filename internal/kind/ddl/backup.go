package ddl

import (
	"context"
	"fmt"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// definitionBackup is the number of the backup in the ledger.
const definitionBackup = 1

// Backup notes the definition of the table as it is.
func (d *DDL) Backup(ctx context.Context, run *kind.Run) (task.BackupResult, error) {
	db, it, err := both(ctx, run)
	if err != nil {
		return task.BackupResult{}, err
	}
	if it.state == itemPlanned {
		text, err := db.Definition(ctx, it.Table.Name)
		if err != nil {
			return task.BackupResult{}, err
		}
		if text == "" {
			text = strings.Join(engine.ShapeOf(it.Table, true), "\n")
		}
		backup := ledger.Backup{No: definitionBackup, BackupItem: task.BackupItem{What: "definition of " + it.name(), Where: text, Bytes: int64(len(text)), Restore: it.restore(run)}}
		if err := db.Transaction(ctx, func(tx engine.Tx) error {
			if err := run.Ledger.PutBackup(ctx, tx, backup); err != nil {
				return err
			}
			return it.setState(ctx, run, tx, itemReady)
		}); err != nil {
			return task.BackupResult{}, err
		}
	}
	kept, err := keptBackups(ctx, run)
	return task.BackupResult{Items: kept}, err
}

// restore says how the table gets its form back.
func (it *item) restore(run *kind.Run) string {
	switch r := it.Reshaping; {
	case r != nil && keeps(run.Spec) && r.Reverse != nil:
		return fmt.Sprintf("`godwit rollback %s`: after the cut-over, the old table is kept as %s and follows the new one", run.Ref.ID, r.Old)
	case r != nil && keeps(run.Spec):
		return fmt.Sprintf("before the cut-over, `godwit rollback %s`; after it, the old table is kept as %s, as it was then", run.Ref.ID, r.Old)
	case r != nil:
		return fmt.Sprintf("before the cut-over, `godwit rollback %s`; after it, not at all: keep_old is 0", run.Ref.ID)
	case run.Spec.DDL.Undo != "":
		return run.Spec.DDL.Undo
	}
	return "by a statement of your own: the spec has no undo"
}

// keptBackups lists what a rollback has: where it is, and not all of the text.
func keptBackups(ctx context.Context, run *kind.Run) ([]task.BackupItem, error) {
	all, err := run.Ledger.Backups(ctx)
	if err != nil {
		return nil, err
	}
	var kept []task.BackupItem
	for _, backup := range all {
		if backup.State == ledger.BackupKept {
			backup.Where = "text in the ledger"
			kept = append(kept, backup.BackupItem)
		}
	}
	return kept, nil
}
