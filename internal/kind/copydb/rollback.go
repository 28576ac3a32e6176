package copydb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"godwit/internal/engine"
	"godwit/internal/engine/postgres"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// Rollback leaves the target as it was: what the copy made is gone, what it
// set aside is back, and its claims are released. One transaction does it.
func (c *Copy) Rollback(ctx context.Context, run *kind.Run) error {
	if _, err := run.Ledger.Take(ctx, task.Copy); err != nil {
		return err
	}
	to, err := openTarget(ctx, run)
	if err != nil {
		return err
	}
	items, err := load(ctx, run)
	if err != nil {
		return err
	}
	for _, it := range items {
		if it.state == itemDropped {
			return fault.About(it.target(), task.Human, "the copy can no longer be rolled back: what it had set aside has been removed by its cleanup")
		}
	}
	if err := undo(ctx, run, to, items); err != nil {
		return err
	}
	return dropSchemas(ctx, run, to, items)
}

// undo does it, in one transaction that also tells the ledger, so that nobody
// goes on from what is no longer there.
func undo(ctx context.Context, run *kind.Run, to *postgres.Server, items []*item) error {
	if !slices.ContainsFunc(items, func(it *item) bool { return it.state != itemUndone }) {
		return run.Ledger.Undone(ctx) // an attempt before this one has done it
	}
	if err := run.Ledger.KillSessions(ctx); err != nil {
		return err
	}
	tx, err := to.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	if err := impatient(ctx, tx); err != nil {
		return err
	}
	if err := run.Ledger.Undo(ctx, tx); err != nil {
		return err
	}
	var made, loaded []string
	for _, it := range items {
		if it.state != itemReady {
			continue
		}
		if it.Create {
			made = append(made, quoted(it.Target.Name))
		} else {
			loaded = append(loaded, quoted(it.Target.Name))
		}
	}
	if len(made) > 0 {
		if _, err := tx.Exec(ctx, "DROP TABLE IF EXISTS "+strings.Join(made, ", ")); err != nil {
			return explainDependents(err)
		}
	}
	if err := dropKeys(ctx, tx, items); err != nil {
		return err
	}
	if err := empty(ctx, tx, loaded); err != nil {
		return err
	}
	if err := restoreAll(ctx, run, tx, items); err != nil {
		return err
	}
	hook.At("undone")
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	hook.At("undo committed")
	return nil
}

// dropKeys takes the foreign keys of all existing tables off, in a transaction
// that puts them back: rows come and go table by table.
func dropKeys(ctx context.Context, tx engine.Tx, items []*item) error {
	for _, it := range items {
		for _, key := range it.ForeignKeys {
			if _, err := tx.Exec(ctx, postgres.DropConstraint(it.Target.Name, key.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// addKeys puts them back.
func addKeys(ctx context.Context, tx engine.Tx, items []*item) error {
	for _, it := range items {
		for _, key := range it.ForeignKeys {
			if _, err := tx.Exec(ctx, postgres.AddConstraint(it.Target.Name, key, false)); err != nil {
				return fmt.Errorf("cannot put foreign key %s of %s back: %w", key.Name, it.target(), err)
			}
		}
	}
	return nil
}

// empty removes all rows. Tables that tables outside of the copy refer to
// cannot be truncated, not even when nothing in those does.
func empty(ctx context.Context, tx engine.Tx, tables []string) error {
	if len(tables) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, "SAVEPOINT emptying"); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "TRUNCATE "+strings.Join(tables, ", "))
	var e *pgconn.PgError
	if err == nil || !errors.As(err, &e) || e.Code != featureNotSupported {
		return err
	}
	if _, err := tx.Exec(ctx, "ROLLBACK TO SAVEPOINT emptying"); err != nil {
		return err
	}
	for _, table := range tables {
		if _, err := tx.Exec(ctx, "DELETE FROM "+table); err != nil {
			return err
		}
	}
	return nil
}

// featureNotSupported is the SQLSTATE of a TRUNCATE of a table that others
// refer to.
const featureNotSupported = "0A000"

// restoreAll puts back what was set aside, and then the foreign keys.
func restoreAll(ctx context.Context, run *kind.Run, tx engine.Tx, items []*item) error {
	for _, it := range items {
		if err := restore(ctx, run, tx, items, it); err != nil {
			return fmt.Errorf("cannot put %s back: %w", it.target(), err)
		}
	}
	return addKeys(ctx, tx, items)
}

// restore puts back what was set aside.
func restore(ctx context.Context, run *kind.Run, tx engine.Tx, items []*item, it *item) error {
	if it.Replace && (it.state == itemAside || it.state == itemReady) {
		from := aside(run.Ref.ID, items, it)
		statements := []string{putBack(it, from), "DROP TABLE " + quoted(from)}
		if it.Create {
			statements = postgres.MoveTable(from, it.Target.Name)
		}
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		if err := run.Ledger.SetBackupState(ctx, tx, it.No, ledger.BackupRestored); err != nil {
			return err
		}
	}
	if it.state == itemReady {
		for _, sequence := range it.Sequences {
			if _, err := tx.Exec(ctx, postgres.RestoreSequence(sequence)); err != nil {
				return err
			}
		}
	}
	return run.Ledger.SetItemState(ctx, tx, it.No, string(it.state), string(itemUndone))
}

// dependentObjects is the SQLSTATE of a DROP that something else refers to.
const dependentObjects = "2BP01"

func explainDependents(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code == dependentObjects {
		return fault.New(task.Human, "something made since refers to a table of this copy: %s; drop that and call rollback again: %w", e.Detail, err)
	}
	return err
}

// dropSchemas removes the schemas that the copy has made and that are empty.
func dropSchemas(ctx context.Context, run *kind.Run, to *postgres.Server, items []*item) error {
	schemas := map[string]bool{asideSchema(run.Ref.ID): true}
	for _, it := range items {
		if it.MakeSchema {
			schemas[it.Target.Name.Schema] = true
		}
	}
	for schema := range schemas {
		_, err := to.Exec(ctx, "DROP SCHEMA IF EXISTS "+postgres.Quote(schema))
		var e *pgconn.PgError
		if err != nil && (!errors.As(err, &e) || e.Code != dependentObjects) {
			return err
		}
	}
	return nil
}

// Cleanup removes what was set aside and releases the claims: from now on the
// copy cannot be rolled back.
func (c *Copy) Cleanup(ctx context.Context, run *kind.Run) error {
	to, err := openTarget(ctx, run)
	if err != nil {
		return err
	}
	items, err := load(ctx, run)
	if err != nil {
		return err
	}
	tx, err := to.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	var old []string
	for _, it := range items {
		if !it.Replace || it.state == itemDropped {
			continue
		}
		old = append(old, quoted(aside(run.Ref.ID, items, it)))
		if err := run.Ledger.SetBackupState(ctx, tx, it.No, ledger.BackupRemoved); err != nil {
			return err
		}
		if err := run.Ledger.SetItemState(ctx, tx, it.No, string(it.state), string(itemDropped)); err != nil {
			return err
		}
	}
	if len(old) > 0 { // all at once, since they may refer to each other
		if _, err := tx.Exec(ctx, "DROP TABLE IF EXISTS "+strings.Join(old, ", ")); err != nil {
			return explainDependents(err)
		}
	}
	if _, err := tx.Exec(ctx, "DROP SCHEMA IF EXISTS "+postgres.Quote(asideSchema(run.Ref.ID))); err != nil {
		return err
	}
	hook.At("cleaned up")
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	hook.At("cleanup committed")
	return run.Ledger.Release(ctx)
}
