package ledger

import (
	"context"
	"slices"

	"godwit/internal/engine"
	"godwit/internal/task"
)

// A step of a pipeline that is done keeps its tables for as long as it can be
// undone, and a later step may be about the same ones. It borrows the claim: only
// one of them has it at a time, nobody else gets in between, and the one that is done
// is undone after the one that has borrowed from it.

// siblings reports whether another migration is a step of the same pipeline, and how
// it stands. An id tells nothing: anybody may give a migration one with a dot in it.
func (l *Ledger) siblings(ctx context.Context, q engine.Querier, other string) (bool, task.State, error) {
	if l.Pipeline == "" {
		return false, "", nil
	}
	var state task.State
	err := l.store.row(ctx, q, "select m.state from {migration} m join {step} s on s.migration = m.id where m.id = ? and s.pipeline = ?", []any{other, l.Pipeline}, &state)
	if isNoRows(err) {
		return false, "", nil
	}
	return err == nil, state, err
}

// lends reports whether the holder of a claim lets this migration have it: it is
// a step of the same pipeline, and done.
func (l *Ledger) lends(ctx context.Context, q engine.Querier, holder string) (bool, error) {
	are, state, err := l.siblings(ctx, q, holder)
	return are && state == task.Success, err
}

// borrow takes over the claim of an earlier step of the pipeline's, if there is one.
func (l *Ledger) borrow(ctx context.Context, tx engine.Querier, table string) (bool, error) {
	holder, err := l.holder(ctx, tx, table)
	if err != nil || holder == "" {
		return false, err
	}
	// It may be another one by now than the one that was looked at before, and be
	// about to give it up.
	if holder, err = l.lock(ctx, tx, table); err != nil || holder == "" || holder == l.ID {
		return false, err
	}
	if lends, err := l.lends(ctx, tx, holder); err != nil || !lends {
		return false, err
	}
	for _, statement := range []struct {
		query string
		args  []any
	}{
		{`delete from {lent} where "table" = ? and migration = ?`, []any{table, l.ID}},
		{`insert into {lent} ("table", migration, lender, lent_at) values (?, ?, ?, {now})`, []any{table, l.ID, holder}},
	} {
		if _, err := l.store.exec(ctx, tx, statement.query, statement.args...); err != nil {
			return false, err
		}
	}
	n, err := l.store.exec(ctx, tx, `update {claim} set migration = ?, claimed_at = {now} where "table" = ? and migration = ?`, l.ID, table, holder)
	return n == 1, err
}

// lock locks the claim of a table for the transaction and returns who has it, empty
// for nobody. Whoever changes anything about a table that is claimed or lent has this
// lock: steps that end side by side do it one after the other.
func (l *Ledger) lock(ctx context.Context, tx engine.Querier, table string) (string, error) {
	var holder string
	err := l.store.row(ctx, tx, `select migration from {claim} where "table" = ? for update`, []any{table}, &holder)
	if isNoRows(err) {
		return "", nil
	}
	return holder, err
}

// concerned are the tables that the migration has, has borrowed or has lent, in one
// order for all. It is one query: between two, a claim could be given back unseen.
func (l *Ledger) concerned(ctx context.Context, tx engine.Querier) (tables []string, err error) {
	err = l.store.each(ctx, tx, `select "table" from {claim} where migration = ? union select "table" from {lent} where migration = ? or lender = ?`,
		[]any{l.ID, l.ID, l.ID}, func(rows engine.Rows) error {
			var table string
			err := rows.Scan(&table)
			tables = append(tables, table)
			return err
		})
	slices.Sort(tables)
	return tables, err
}

// leave gives up one table: its claim goes back to the step that it was borrowed from,
// or is free, and those that have borrowed it from this migration owe it to that step,
// or to nobody.
func (l *Ledger) leave(ctx context.Context, tx engine.Querier, table string) error {
	holder, err := l.lock(ctx, tx, table)
	if err != nil {
		return err
	}
	var lender string
	if err := l.store.row(ctx, tx, `select lender from {lent} where "table" = ? and migration = ?`, []any{table, l.ID}, &lender); err != nil && !isNoRows(err) {
		return err
	}
	type change struct {
		query string
		args  []any
	}
	changes := []change{{`delete from {lent} where "table" = ? and migration = ?`, []any{table, l.ID}}}
	switch {
	case holder == l.ID && lender != "":
		changes = append(changes, change{`update {claim} set migration = ? where "table" = ?`, []any{lender, table}})
	case holder == l.ID:
		changes = append(changes, change{`delete from {claim} where "table" = ?`, []any{table}})
	}
	if lender != "" {
		changes = append(changes, change{`update {lent} set lender = ? where "table" = ? and lender = ?`, []any{lender, table, l.ID}})
	} else {
		changes = append(changes, change{`delete from {lent} where "table" = ? and lender = ?`, []any{table, l.ID}})
	}
	for _, c := range changes {
		if _, err := l.store.exec(ctx, tx, c.query, c.args...); err != nil {
			return err
		}
	}
	return nil
}

// Changed is the last earlier step of the pipeline that has changed a table's
// definition and keeps what undoes that; empty for none.
func (l *Ledger) Changed(ctx context.Context, table string) (id string, err error) {
	if l.Pipeline == "" {
		return "", nil
	}
	err = l.store.each(ctx, l.store.db, `select m.id from {migration} m join {step} s on s.migration = m.id where m.kind = 'ddl' and m.state = ? and s.pipeline = ? and m.id <> ? and (
		exists (select 1 from {claim} c where c."table" = ? and c.migration = m.id) or exists (select 1 from {lent} b where b."table" = ? and b.lender = m.id))
		order by m.started_at`, []any{string(task.Success), l.Pipeline, l.ID, table, table}, func(rows engine.Rows) error {
		var found string
		err := rows.Scan(&found)
		id = found
		return err
	})
	return id, err
}
