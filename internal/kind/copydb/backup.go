package copydb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/engine/postgres"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// asideSchema is where this migration sets tables aside. A table that changes
// its schema takes its indexes, constraints and sequences along under their
// own names, so that the new one can have those.
func asideSchema(id string) string {
	return postgres.UniqueName("godwit_old_"+id, func(string) bool { return false })
}

// aside is the name that an item's old table has there: its own, unless two
// schemas have tables of that name.
func aside(id string, items []*item, it *item) engine.Name {
	name := engine.Name{Schema: asideSchema(id), Table: it.Target.Name.Table}
	twin := slices.ContainsFunc(items, func(other *item) bool {
		return other != it && other.Replace && other.Target.Name.Table == it.Target.Name.Table
	})
	if twin {
		name.Table = postgres.UniqueName(fmt.Sprintf("%d_%s", it.No, name.Table), func(string) bool { return false })
	}
	return name
}

// Backup sets aside the tables that are to be replaced: one that Godwit makes
// anew is moved as it is, one that stays has its rows copied. Everything
// happens in one transaction.
func (c *Copy) Backup(ctx context.Context, run *kind.Run) (task.BackupResult, error) {
	dbs, err := open(ctx, run)
	if err != nil {
		return task.BackupResult{}, err
	}
	items, err := load(ctx, run)
	if err != nil {
		return task.BackupResult{}, err
	}
	var open []*item
	for _, it := range items {
		if it.Replace && it.state == itemPlanned {
			open = append(open, it)
		}
	}
	if len(open) > 0 {
		if err := setAside(ctx, run, dbs.to, items, open); err != nil {
			return task.BackupResult{}, err
		}
	}
	kept, err := keptBackups(ctx, run)
	return task.BackupResult{Items: kept}, err
}

func setAside(ctx context.Context, run *kind.Run, to *postgres.Server, items, open []*item) error {
	tx, err := to.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	if err := impatient(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+postgres.Quote(asideSchema(run.Ref.ID))); err != nil {
		return err
	}
	var emptied []string
	for _, it := range open {
		run.Beat(task.Heartbeat{Phase: task.Backup, Table: it.target()})
		if err := setOneAside(ctx, run, tx, it, aside(run.Ref.ID, items, it)); err != nil {
			return fmt.Errorf("cannot set %s aside: %w", it.target(), err)
		}
		if !it.Create {
			emptied = append(emptied, quoted(it.Target.Name))
		}
	}
	if len(emptied) > 0 {
		if err := dropKeys(ctx, tx, items); err != nil {
			return err
		}
		if err := empty(ctx, tx, emptied); err != nil {
			return err
		}
		if err := addKeys(ctx, tx, items); err != nil {
			return err
		}
	}
	hook.At("tables set aside")
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	hook.At("backup committed")
	return nil
}

// impatient makes a transaction give up a table's lock soon: whoever wants the
// table queues behind it meanwhile. The workflow tries again, later each time.
func impatient(ctx context.Context, tx engine.Tx) error {
	_, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '2s'")
	return err
}

func setOneAside(ctx context.Context, run *kind.Run, tx engine.Tx, it *item, to engine.Name) error {
	old := it.Target.Name
	b := ledger.Backup{No: it.No, BackupItem: task.BackupItem{What: "table " + old.String(), Where: to.String()}}
	if err := size(ctx, tx, old, &b.Bytes); err != nil {
		return err
	}
	statements := []string{fmt.Sprintf("LOCK TABLE %s IN ACCESS EXCLUSIVE MODE", quoted(old)),
		fmt.Sprintf("CREATE TABLE %s AS TABLE %s", quoted(to), quoted(old))}
	b.Restore = fmt.Sprintf("TRUNCATE %s; %s", quoted(old), putBack(it, to))
	if it.Create {
		statements = postgres.MoveTable(old, to)
		b.Restore = postgres.DropTable(old) + "; " + strings.Join(postgres.MoveTable(to, old), "; ")
	}
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	if err := run.Ledger.PutBackup(ctx, tx, b); err != nil {
		return err
	}
	return run.Ledger.SetItemState(ctx, tx, it.No, string(it.state), string(itemAside))
}

// putBack is the statement that fills an emptied table with its old rows.
func putBack(it *item, from engine.Name) string {
	var columns []string
	for i := range it.Target.Columns {
		if c := &it.Target.Columns[i]; c.Generated == "" {
			columns = append(columns, postgres.Quote(c.Name))
		}
	}
	list := strings.Join(columns, ", ")
	return fmt.Sprintf("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM %s", quoted(it.Target.Name), list, list, quoted(from))
}

func size(ctx context.Context, tx engine.Tx, name engine.Name, bytes *int64) error {
	rows, err := tx.Query(ctx, "SELECT pg_total_relation_size($1::text::regclass)", quoted(name))
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		if err := rows.Scan(bytes); err != nil {
			return err
		}
	}
	return rows.Err()
}

func quoted(n engine.Name) string { return postgres.Quote(n.Schema) + "." + postgres.Quote(n.Table) }

// keptBackups are what is kept for a rollback now.
func keptBackups(ctx context.Context, run *kind.Run) ([]task.BackupItem, error) {
	backups, err := run.Ledger.Backups(ctx)
	if err != nil {
		return nil, err
	}
	var kept []task.BackupItem
	for _, b := range backups {
		if b.State == ledger.BackupKept {
			kept = append(kept, b.BackupItem)
		}
	}
	return kept, nil
}
