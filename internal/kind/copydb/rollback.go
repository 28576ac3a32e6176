package copydb

import (
	"context"
	"errors"
	"fmt"
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
	dbs, err := open(ctx, run)
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
	if err := undo(ctx, run, dbs.to, items); err != nil {
		return err
	}
	if err := dropSchemas(ctx, run, dbs.to, items); err != nil {
		return err
	}
	return run.Ledger.Release(ctx)
}

func undo(ctx context.Context, run *kind.Run, to *postgres.Server, items []*item) error {
	if err := run.Ledger.KillSessions(ctx); err != nil {
		return err
	}
	tx, err := to.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	// From here on an attempt that is still alive somewhere can commit nothing.
	if err := run.Ledger.Fence(ctx, tx); err != nil {
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
	if len(loaded) > 0 {
		if _, err := tx.Exec(ctx, "TRUNCATE "+strings.Join(loaded, ", ")); err != nil {
			return err
		}
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

// restoreAll puts back what was set aside. Foreign keys are off meanwhile,
// since rows come back table by table.
func restoreAll(ctx context.Context, run *kind.Run, tx engine.Tx, items []*item) error {
	touched := func(it *item) bool { return it.state == itemAside || it.state == itemReady }
	for _, it := range items {
		for _, key := range it.ForeignKeys {
			if !touched(it) {
				continue
			}
			if _, err := tx.Exec(ctx, postgres.DropConstraint(it.Target.Name, key.Name)); err != nil {
				return err
			}
		}
	}
	for _, it := range items {
		if err := restore(ctx, run, tx, items, it); err != nil {
			return fmt.Errorf("cannot put %s back: %w", it.target(), err)
		}
	}
	for _, it := range items {
		for _, key := range it.ForeignKeys {
			if !touched(it) {
				continue
			}
			if _, err := tx.Exec(ctx, postgres.AddConstraint(it.Target.Name, key, false)); err != nil {
				return fmt.Errorf("cannot put foreign key %s of %s back: %w", key.Name, it.target(), err)
			}
		}
	}
	return nil
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
	dbs, err := open(ctx, run)
	if err != nil {
		return err
	}
	items, err := load(ctx, run)
	if err != nil {
		return err
	}
	tx, err := dbs.to.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	for _, it := range items {
		if !it.Replace || it.state == itemDropped {
			continue
		}
		if _, err := tx.Exec(ctx, "DROP TABLE IF EXISTS "+quoted(aside(run.Ref.ID, items, it))); err != nil {
			return explainDependents(err)
		}
		if err := run.Ledger.SetBackupState(ctx, tx, it.No, ledger.BackupRemoved); err != nil {
			return err
		}
		if err := run.Ledger.SetItemState(ctx, tx, it.No, string(it.state), string(itemDropped)); err != nil {
			return err
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
