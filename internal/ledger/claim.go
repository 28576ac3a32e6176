package ledger

import (
	"context"
	"slices"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// claim takes the tables for this migration, in the transaction. One that
// another migration has is a fault that names it, unless that is an earlier step of
// the same pipeline: then it is lent, and given back when this one is through.
func (l *Ledger) claim(ctx context.Context, tx engine.Tx, tables []string) error {
	if err := l.refuseHeld(ctx, tx, tables); err != nil {
		return err
	}
	if err := l.releaseClaims(ctx, tx); err != nil {
		return err
	}
	for _, table := range slices.Sorted(slices.Values(tables)) {
		lent, err := l.borrow(ctx, tx, table)
		if err != nil {
			return err
		}
		if lent {
			continue
		}
		if _, err := l.store.exec(ctx, tx, `insert into {claim} ("table", migration, claimed_at) values (?, ?, {now})`, table, l.ID); err != nil {
			return err
		}
	}
	return nil
}

// refuseHeld returns a fault when another migration has one of the tables.
func (l *Ledger) refuseHeld(ctx context.Context, q engine.Querier, tables []string) error {
	for _, table := range tables {
		holder, err := l.holder(ctx, q, table)
		if err != nil {
			return err
		}
		if holder == "" || holder == l.ID {
			continue
		}
		lends, err := l.lends(ctx, q, holder)
		if err != nil {
			return err
		}
		if !lends {
			return l.held(ctx, q, table, holder)
		}
	}
	return nil
}

// held says who has a table, and how it comes free.
func (l *Ledger) held(ctx context.Context, q engine.Querier, table, holder string) error {
	var state task.State
	if err := l.store.row(ctx, q, "select state from {migration} where id = ?", []any{holder}, &state); err != nil && !isNoRows(err) {
		return err
	}
	remedy := "wait for it, or end it with `godwit cancel " + holder + "`"
	switch {
	case state == task.Success:
		remedy = "it is done and keeps what a rollback needs; `godwit cleanup " + holder + "` ends that"
	case state.Resumable():
		remedy = "it is " + string(state) + "; continue it with `godwit retry " + holder + "` or undo it with `godwit rollback " + holder + "`"
	}
	return fault.About(table, task.Config, "table %s is being migrated by %s: %s", table, holder, remedy)
}

func (l *Ledger) holder(ctx context.Context, q engine.Querier, table string) (string, error) {
	var holder string
	err := l.store.row(ctx, q, `select migration from {claim} where "table" = ?`, []any{table}, &holder)
	if isNoRows(err) {
		return "", nil
	}
	return holder, err
}

// CheckClaims returns a fault when another migration has one of the tables.
func (l *Ledger) CheckClaims(ctx context.Context, tables []string) error {
	return l.refuseHeld(ctx, l.store.db, tables)
}

// Release gives up the migration's claims.
func (l *Ledger) Release(ctx context.Context) error {
	return l.store.transaction(ctx, func(tx engine.Tx) error { return l.releaseClaims(ctx, tx) })
}

// releaseClaims gives up what the migration has, table by table, by their key: MySQL
// locks every row that it looks at, and would wait for those that another
// migration is just writing.
func (l *Ledger) releaseClaims(ctx context.Context, tx engine.Querier) error {
	tables, err := l.concerned(ctx, tx)
	if err != nil {
		return err
	}
	for _, table := range tables {
		if err := l.leave(ctx, tx, table); err != nil {
			return err
		}
	}
	return nil
}
