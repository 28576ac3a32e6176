package ledger

import (
	"context"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Take makes this attempt the one that steers the migration: it raises the
// generation, and from then on whatever an attempt of an earlier one wants to
// write about the migration as a whole is refused (class superseded). Shards
// have epochs of their own, which this leaves alone. A migration that is not
// known gets a row that says no more than that. Take returns how it stood
// before.
func (l *Ledger) Take(ctx context.Context, kind task.Kind) (*Migration, error) {
	m, err := l.Load(ctx)
	if err != nil {
		return nil, err
	}
	if m == nil {
		// Two that take it at once: one of them inserts, the other finds it.
		insert := `insert into {migration} (id, kind, name, spec, fingerprint, state, phase, version, generation, started_at, updated_at)
			select ?, ?, '', '{}', '{}', ?, ?, '', 0, {now}, {now} {from_nothing} where not exists (select 1 from {migration} where id = ?)`
		_, failed := l.store.exec(ctx, l.store.db, insert, l.ID, string(kind), string(task.Pending), string(task.Preflight), l.ID)
		if m, err = l.Load(ctx); err != nil {
			return nil, err
		}
		if m == nil {
			return nil, failed
		}
	}
	return m, l.store.transaction(ctx, func(tx engine.Tx) error {
		if err := l.store.row(ctx, tx, "select generation from {migration} where id = ? for update", []any{l.ID}, &l.generation); err != nil {
			return err
		}
		l.generation++
		_, err := l.store.exec(ctx, tx, "update {migration} set generation = ?, updated_at = {now} where id = ?", l.generation, l.ID)
		return err
	})
}

// guard locks the migration's row for the transaction and refuses an attempt
// that no longer steers it.
func (l *Ledger) guard(ctx context.Context, tx engine.Querier) error {
	var generation int64
	err := l.store.row(ctx, tx, "select generation from {migration} where id = ? for update", []any{l.ID}, &generation)
	if isNoRows(err) {
		return unknown(l.ID)
	}
	if err == nil && generation != l.generation {
		err = fault.New(task.Superseded, "another attempt steers migration %s now; this one has written nothing more", l.ID)
	}
	return err
}

// Steers refuses, in a transaction about the migration as a whole, an attempt
// that no longer steers it.
func (l *Ledger) Steers(ctx context.Context, tx engine.Querier) error { return l.guard(ctx, tx) }

// Undo notes, in the transaction that undoes the migration, that nothing of it
// is left: no attempt that is alive somewhere can commit anything after it, and
// what the shards have done does not count any more.
func (l *Ledger) Undo(ctx context.Context, tx engine.Querier) error {
	if err := l.guard(ctx, tx); err != nil {
		return err
	}
	for _, query := range []string{
		`update {shard} set epoch = epoch + 1, state = 'pending', checkpoint = null, session_id = null, updated_at = {now} where migration = ?`,
		`update {migration} set state = '` + string(task.RolledBack) + `', updated_at = {now}, ended_at = {now} where id = ?`,
	} {
		if _, err := l.store.exec(ctx, tx, query, l.ID); err != nil {
			return err
		}
	}
	return l.releaseClaims(ctx, tx)
}

// Undone is Undo where there is nothing to undo.
func (l *Ledger) Undone(ctx context.Context) error {
	return l.store.transaction(ctx, func(tx engine.Tx) error { return l.Undo(ctx, tx) })
}

// lostTimes is how many attempts in a row may end without a word, and without
// any progress, before a shard counts as one that its worker does not survive.
const lostTimes = 10

// lost is the fault of such a shard.
func lost(s *Shard) error {
	return fault.About(s.Table, task.Human, "shard %d (%s) has lost its worker %d times in a row, each time before it got any further: look at the workers' logs and memory",
		s.No, s.Label(), s.lost)
}
