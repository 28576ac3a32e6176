package ledger

import (
	"context"
	"time"

	"godwit/internal/engine"
	"godwit/internal/task"
)

// slack is how long a hold may seem to have ended between two reports of it.
const slack = 2 * time.Second

// Held adds to the time that a guard, or a rate, has held the migration back:
// so much of a span that ends now. Several workers are held at once by the
// same; time that one has reported already does not count again.
func (l *Ledger) Held(ctx context.Context, guard, detail string, took, span time.Duration) error {
	return l.store.transaction(ctx, func(tx engine.Tx) error {
		var held int64
		var last, now time.Time
		err := l.store.row(ctx, tx, "select held_ms, last_at, {now} from {hold} where migration = ? and guard = ? for update",
			[]any{l.ID, guard}, &held, &last, &now)
		if isNoRows(err) {
			_, err = l.store.exec(ctx, tx, "insert into {hold} (migration, guard, held_ms, times, detail, last_at) values (?, ?, ?, 1, ?, {now})",
				l.ID, guard, took.Milliseconds(), clean(detail))
			return err
		}
		if err != nil {
			return err
		}
		since, again := now.Sub(last), 0
		if since > span+slack {
			again = 1 // it has let go in between
		}
		_, err = l.store.exec(ctx, tx, "update {hold} set held_ms = held_ms + ?, times = times + ?, detail = ?, last_at = {now} where migration = ? and guard = ?",
			max(0, min(took, since)).Milliseconds(), again, clean(detail), l.ID, guard)
		return err
	})
}

// Holds tells how long what has held the migration back, the longest first.
func (l *Ledger) Holds(ctx context.Context) ([]task.HeldTime, error) {
	holds := []task.HeldTime{}
	err := l.store.each(ctx, l.store.db, "select guard, held_ms, times, detail, last_at from {hold} where migration = ? order by held_ms desc, guard", []any{l.ID},
		func(rows engine.Rows) error {
			var h task.HeldTime
			var held int64
			if err := rows.Scan(&h.Guard, &held, &h.Times, &h.Detail, &h.LastAt); err != nil {
				return err
			}
			h.Seconds = (time.Duration(held) * time.Millisecond).Seconds()
			holds = append(holds, h)
			return nil
		})
	return holds, err
}

// Baseline returns what a reading was when the migration first asked for it,
// which is now when it never has.
func (l *Ledger) Baseline(ctx context.Context, reading string, now int64) (first int64, err error) {
	_, err = l.store.exec(ctx, l.store.db, `insert into {baseline} (migration, reading, amount, taken_at)
		select ?, ?, ?, {now} {from_nothing} where not exists (select 1 from {baseline} where migration = ? and reading = ?)`, l.ID, reading, now, l.ID, reading)
	if err != nil {
		return 0, err
	}
	return first, l.store.row(ctx, l.store.db, "select amount from {baseline} where migration = ? and reading = ?", []any{l.ID, reading}, &first)
}

// Beat is a small write of Godwit's own, by which it measures how long one
// takes.
func (l *Ledger) Beat(ctx context.Context) error {
	_, err := l.store.exec(ctx, l.store.db, "update {baseline} set taken_at = {now} where migration = ? and reading = ?", l.ID, beatReading)
	return err
}

// StartBeat makes what Beat writes.
func (l *Ledger) StartBeat(ctx context.Context) error {
	_, err := l.Baseline(ctx, beatReading, 0)
	return err
}

// beatReading is the name of the row that Beat writes.
const beatReading = "heartbeat"
