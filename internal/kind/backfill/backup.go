package backfill

import (
	"context"
	"fmt"

	"godwit/internal/engine"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// The numbers of the backups in the ledger.
const (
	savedBackup      = 1 // the old values
	definitionBackup = 2 // the table's definition before the closing statement
)

// Backup makes the table that takes the old values, chunk by chunk.
func (b *Backfill) Backup(ctx context.Context, run *kind.Run) (task.BackupResult, error) {
	db, err := open(ctx, run)
	if err != nil {
		return task.BackupResult{}, err
	}
	it, err := load(ctx, run)
	if err != nil {
		return task.BackupResult{}, err
	}
	if it.state == itemPlanned {
		if err := makeReady(ctx, run, db, it); err != nil {
			return task.BackupResult{}, err
		}
	}
	kept, err := keptBackups(ctx, run, db, it)
	return task.BackupResult{Items: kept}, err
}

// makeReady makes the table of old values and notes it. On MySQL and MariaDB
// the table is there at once, and may be so already: to make it commits by
// itself, and so comes before the transaction.
func makeReady(ctx context.Context, run *kind.Run, db *site, it *item) error {
	apart := db.Dialect() == engine.MySQLDialect
	if apart {
		if err := createSaved(ctx, db, db, it); err != nil {
			return err
		}
		hook.At("table created")
	}
	err := db.Transaction(ctx, func(tx engine.Tx) error {
		if !apart {
			if err := createSaved(ctx, db, tx, it); err != nil {
				return err
			}
			hook.At("table created")
		}
		if it.kept() {
			backup, err := it.backup(db)
			if err != nil {
				return err
			}
			if err := run.Ledger.PutBackup(ctx, tx, backup); err != nil {
				return err
			}
		}
		return it.setState(ctx, run, tx, itemReady)
	})
	hook.At("table committed")
	return err
}

// createSaved makes the table of old values, if there is to be one.
func createSaved(ctx context.Context, db *site, q engine.Querier, it *item) error {
	if !it.kept() {
		return nil
	}
	for _, statement := range db.CreateSaved(it.Rewrite) {
		if _, err := q.Exec(ctx, statement); err != nil {
			return fmt.Errorf("make the table of old values, %s: %w", it.Rewrite.Saved, err)
		}
	}
	return nil
}

// backup is the ledger's line about the old values.
func (it *item) backup(db *site) (ledger.Backup, error) {
	restore, err := db.Restore(it.Rewrite, 1, engine.Range{})
	return ledger.Backup{No: savedBackup, BackupItem: task.BackupItem{What: "old values of " + it.name(), Where: it.Rewrite.Saved.String(), Restore: restore}}, err
}

// keptBackups lists what a rollback has, with its size as it is now.
func keptBackups(ctx context.Context, run *kind.Run, db *site, it *item) ([]task.BackupItem, error) {
	all, err := run.Ledger.Backups(ctx)
	if err != nil {
		return nil, err
	}
	var kept []task.BackupItem
	for _, backup := range all {
		if backup.State != ledger.BackupKept {
			continue
		}
		if backup.No == savedBackup {
			saved, err := db.Table(ctx, it.Rewrite.Saved)
			if err != nil {
				return nil, err
			}
			backup.Bytes = saved.Bytes
		}
		kept = append(kept, backup.BackupItem)
	}
	return kept, nil
}
