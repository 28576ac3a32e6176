package ledger

import (
	"context"
	"time"

	"godwit/internal/engine"
	"godwit/internal/task"
)

// Note appends an event to the audit trail. Its number, time and owner are
// set by the ledger.
func (l *Ledger) Note(ctx context.Context, e task.Event) error {
	failure, err := encodeFailure(e.Error)
	if err != nil {
		return err
	}
	_, err = l.store.exec(ctx, l.store.db, `insert into {event} (migration, at, what, phase, "table", shard, attempt, duration_ms, detail, error, stack, owner)
		values (?, {now}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		l.ID, e.What, string(e.Phase), e.Table, e.Shard, e.Attempt, e.Duration.Milliseconds(), clean(e.Detail), failure, clean(e.Stack), l.store.owner)
	return err
}

// Page returns up to limit events after the given number, and how the
// migration stands. The state is read first: a final one means that what
// follows is all.
func (l *Ledger) Page(ctx context.Context, after int64, limit int) (*task.EventsPage, error) {
	m, err := l.Load(ctx)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, unknown(l.ID)
	}
	events, err := l.Events(ctx, after, limit)
	return &task.EventsPage{Events: events, State: m.State, More: len(events) == limit}, err
}

// Events returns up to limit events after the given number, in order.
func (l *Ledger) Events(ctx context.Context, after int64, limit int) ([]task.Event, error) {
	var events []task.Event
	err := l.store.each(ctx, l.store.db, `select "no", at, what, phase, "table", shard, attempt, duration_ms, detail, error, stack, owner
		from {event} where migration = ? and "no" > ? order by "no" limit ?`, []any{l.ID, after, limit},
		func(rows engine.Rows) error {
			var e task.Event
			var millis int64
			var failure *string
			if err := rows.Scan(&e.No, &e.At, &e.What, &e.Phase, &e.Table, &e.Shard, &e.Attempt, &millis, &e.Detail, &failure, &e.Stack, &e.Owner); err != nil {
				return err
			}
			e.Duration = time.Duration(millis) * time.Millisecond
			err := decode(failure, &e.Error)
			events = append(events, e)
			return err
		})
	return events, err
}
