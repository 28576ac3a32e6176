package ledger

import (
	"context"

	"godwit/internal/engine"
	"godwit/internal/task"
)

// Backup is one thing that is kept so that the migration can be undone.
type Backup struct {
	No int
	task.BackupItem
	State BackupState
}

// BackupState says what became of a backup.
type BackupState string

// The states of a backup.
const (
	BackupKept     BackupState = "kept"
	BackupRestored BackupState = "restored"
	BackupRemoved  BackupState = "removed"
)

// PutBackup records a backup in the transaction that makes it.
func (l *Ledger) PutBackup(ctx context.Context, q engine.Querier, b Backup) error {
	_, err := l.store.exec(ctx, q, `insert into {backup} (migration, "no", what, location, bytes, "restore", state, created_at)
		values (?, ?, ?, ?, ?, ?, 'kept', {now})`, l.ID, b.No, b.What, b.Where, b.Bytes, b.Restore)
	return err
}

// Backups returns the migration's backups in their order.
func (l *Ledger) Backups(ctx context.Context) ([]Backup, error) {
	var backups []Backup
	err := l.store.each(ctx, l.store.db, `select "no", what, location, bytes, "restore", state from {backup} where migration = ? order by "no"`, []any{l.ID},
		func(rows engine.Rows) error {
			var b Backup
			err := rows.Scan(&b.No, &b.What, &b.Where, &b.Bytes, &b.Restore, &b.State)
			backups = append(backups, b)
			return err
		})
	return backups, err
}

// SetBackupState notes what became of a backup, in the transaction that did it.
func (l *Ledger) SetBackupState(ctx context.Context, q engine.Querier, no int, state BackupState) error {
	_, err := l.store.exec(ctx, q, `update {backup} set state = ? where migration = ? and "no" = ?`, string(state), l.ID, no)
	return err
}
