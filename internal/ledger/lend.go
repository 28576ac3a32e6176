package ledger

import (
	"context"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/task"
)

// A step of a pipeline that is done keeps its tables for as long as it can be
// undone, and a later step may be about the same ones. It borrows the claim: only
// one of them has it at a time, nobody else gets in between, and the one that is done
// is undone after the one that has borrowed from it.

// pipelineOf is the id of the pipeline that a migration is a step of, empty for
// none: ids of steps are its id, a dot, and the step's name.
func pipelineOf(id string) string {
	at := strings.LastIndexByte(id, '.')
	if at < 0 {
		return ""
	}
	return id[:at]
}

// lends reports whether the holder of a claim lets this migration have it: it is
// a step of the same pipeline, and done.
func (l *Ledger) lends(ctx context.Context, q engine.Querier, holder string) (bool, error) {
	if p := pipelineOf(l.ID); p == "" || p != pipelineOf(holder) {
		return false, nil
	}
	var state task.State
	err := l.store.row(ctx, q, "select state from {migration} where id = ?", []any{holder}, &state)
	if isNoRows(err) {
		return false, nil
	}
	return state == task.Success, err
}

// borrow takes over the claim of an earlier step of the pipeline's, if there is one.
func (l *Ledger) borrow(ctx context.Context, tx engine.Querier, table string) (bool, error) {
	holder, err := l.holder(ctx, tx, table)
	if err != nil || holder == "" || holder == l.ID {
		return false, err
	}
	// It may be another one by now than the one that was looked at before.
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

// giveBack returns a claim to the step that it was borrowed from, if that is still
// there to have it.
func (l *Ledger) giveBack(ctx context.Context, q engine.Querier, table string) (bool, error) {
	var lender string
	err := l.store.row(ctx, q, `select lender from {lent} where "table" = ? and migration = ?`, []any{table, l.ID}, &lender)
	if isNoRows(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	n, err := l.store.exec(ctx, q, `update {claim} set migration = ? where "table" = ? and migration = ?`, lender, table, l.ID)
	if err != nil {
		return false, err
	}
	_, err = l.store.exec(ctx, q, `delete from {lent} where "table" = ? and migration = ?`, table, l.ID)
	return n == 1, err
}

// forgetLent makes those that have borrowed from this migration owe it to the one
// that it has borrowed from itself, or to nobody.
func (l *Ledger) forgetLent(ctx context.Context, q engine.Querier) error {
	type loan struct{ table, borrower string }
	var loans []loan
	err := l.store.each(ctx, q, `select "table", migration from {lent} where lender = ?`, []any{l.ID}, func(rows engine.Rows) error {
		var of loan
		err := rows.Scan(&of.table, &of.borrower)
		loans = append(loans, of)
		return err
	})
	if err != nil {
		return err
	}
	for _, of := range loans {
		if err := l.forgive(ctx, q, of.table, of.borrower); err != nil {
			return err
		}
	}
	return nil
}

func (l *Ledger) forgive(ctx context.Context, q engine.Querier, table, borrower string) error {
	var before string
	err := l.store.row(ctx, q, `select lender from {lent} where "table" = ? and migration = ?`, []any{table, l.ID}, &before)
	switch {
	case isNoRows(err):
		_, err = l.store.exec(ctx, q, `delete from {lent} where "table" = ? and migration = ?`, table, borrower)
		return err
	case err != nil:
		return err
	}
	if _, err := l.store.exec(ctx, q, `update {lent} set lender = ? where "table" = ? and migration = ?`, before, table, borrower); err != nil {
		return err
	}
	_, err = l.store.exec(ctx, q, `delete from {lent} where "table" = ? and migration = ?`, table, l.ID)
	return err
}

// Changed is the last earlier step of the pipeline that has changed a table's
// definition and keeps what undoes that; empty for none.
func (l *Ledger) Changed(ctx context.Context, table string) (id string, err error) {
	err = l.store.each(ctx, l.store.db, `select m.id from {migration} m where m.kind = 'ddl' and m.state = ? and m.id <> ? and (
		exists (select 1 from {claim} c where c."table" = ? and c.migration = m.id) or exists (select 1 from {lent} b where b."table" = ? and b.lender = m.id))
		order by m.started_at`, []any{string(task.Success), l.ID, table, table}, func(rows engine.Rows) error {
		var found string
		err := rows.Scan(&found)
		if p := pipelineOf(l.ID); p != "" && p == pipelineOf(found) {
			id = found
		}
		return err
	})
	return id, err
}
