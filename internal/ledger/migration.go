package ledger

import (
	"context"
	"encoding/json"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Migration is a migration's own row.
type Migration struct {
	ID          string
	Kind        task.Kind
	Name        string
	Spec        json.RawMessage
	Fingerprint Fingerprint
	State       task.State
	Phase       task.Phase
	Throttle    *task.ThrottleSettings
	Error       *task.Failure
	Version     string
	StartedAt   time.Time
	EndedAt     *time.Time
}

// Undone reports whether nothing of the migration is left, so that its id can
// be used for a new start.
func (m *Migration) Undone() bool {
	return m.State == task.Cancelled || m.State == task.RolledBack
}

// Planned reports whether the migration ever came as far as having a plan.
func (m *Migration) Planned() bool { return len(m.Fingerprint) > 0 }

// Load reads the migration's row; nil when the ledger does not know it. From
// then on this attempt writes as one of the generation that it has found.
func (l *Ledger) Load(ctx context.Context) (*Migration, error) {
	m := &Migration{ID: l.ID}
	var spec, fingerprint string
	var throttle, failure *string
	err := l.store.row(ctx, l.store.db, `select kind, name, spec, fingerprint, state, phase, throttle, error, version, generation, started_at, ended_at
		from {migration} where id = ?`, []any{l.ID},
		&m.Kind, &m.Name, &spec, &fingerprint, &m.State, &m.Phase, &throttle, &failure, &m.Version, &l.generation, &m.StartedAt, &m.EndedAt)
	if isNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m.Spec = json.RawMessage(spec)
	if err := decode(&fingerprint, &m.Fingerprint); err != nil {
		return nil, err
	}
	if err := decode(throttle, &m.Throttle); err != nil {
		return nil, err
	}
	return m, decode(failure, &m.Error)
}

// Start writes a migration that begins and that this attempt has taken (Take):
// its row, its claims and its items, all or nothing. What an earlier, undone one of the same id has left is removed,
// but for its events.
func (l *Ledger) Start(ctx context.Context, m Migration, claims []string, items []Item) error {
	spec, err := encode(m.Spec)
	if err != nil {
		return err
	}
	fingerprint, err := encode(m.Fingerprint)
	if err != nil {
		return err
	}
	err = l.store.transaction(ctx, func(tx engine.Tx) error {
		if err := l.guard(ctx, tx); err != nil {
			return err
		}
		for _, table := range []string{"{item}", "{shard}", "{backup}", "{hold}", "{baseline}", "{step}"} {
			if _, err := l.store.exec(ctx, tx, "delete from "+table+" where migration = ?", l.ID); err != nil {
				return err
			}
		}
		if _, err := l.store.exec(ctx, tx, `update {migration} set kind = ?, name = ?, spec = ?, fingerprint = ?, state = ?, phase = ?, throttle = null,
			error = null, version = ?, started_at = {now}, updated_at = {now}, ended_at = null where id = ?`,
			string(m.Kind), m.Name, spec, fingerprint, string(task.Running), string(task.Preflight), m.Version, l.ID); err != nil {
			return err
		}
		if l.Pipeline != "" {
			if _, err := l.store.exec(ctx, tx, "insert into {step} (migration, pipeline) values (?, ?)", l.ID, l.Pipeline); err != nil {
				return err
			}
		}
		if err := l.claim(ctx, tx, claims); err != nil {
			return err
		}
		return l.putItems(ctx, tx, items)
	})
	if err != nil && fault.Of(err) == nil {
		// Two migrations that claim a table in the same moment: the unique key
		// refuses one of them, and then the other one can be named.
		if held := l.store.transaction(ctx, func(tx engine.Tx) error { return l.refuseHeld(ctx, tx, claims) }); fault.Of(held) != nil {
			return held
		}
	}
	return err
}

// Continue goes on with a migration that ran before: the spec may say the same
// work in another way, the claims are taken again if they were lost, and the
// shards that are not done have new attempts.
func (l *Ledger) Continue(ctx context.Context, spec json.RawMessage, claims []string) error {
	text, err := encode(spec)
	if err != nil {
		return err
	}
	return l.store.transaction(ctx, func(tx engine.Tx) error {
		if err := l.guard(ctx, tx); err != nil {
			return err
		}
		if err := l.claim(ctx, tx, claims); err != nil {
			return err
		}
		if _, err := l.store.exec(ctx, tx, "update {migration} set spec = ?, updated_at = {now} where id = ?", text, l.ID); err != nil {
			return err
		}
		return l.reopen(ctx, tx)
	})
}

// SetPhase notes that a phase has begun or goes on.
func (l *Ledger) SetPhase(ctx context.Context, state task.State, phase task.Phase) error {
	return l.store.transaction(ctx, func(tx engine.Tx) error {
		if err := l.guard(ctx, tx); err != nil {
			return err
		}
		ended := "null"
		if state.Final() { // a cleanup after SUCCESS
			ended = "coalesce(ended_at, {now})"
		}
		_, err := l.store.exec(ctx, tx, `update {migration} set state = ?, phase = ?, updated_at = {now}, ended_at = `+ended+`, error = null
			where id = ?`, string(state), string(phase), l.ID)
		return err
	})
}

// SetState notes a change of state, with the error that led to it.
func (l *Ledger) SetState(ctx context.Context, state task.State, phase task.Phase, failure *task.Failure) error {
	text, err := encodeFailure(failure)
	if err != nil {
		return err
	}
	ended := "null"
	if state.Final() {
		ended = "{now}"
	}
	_, err = l.store.exec(ctx, l.store.db, `update {migration} set state = ?, phase = ?, error = ?, updated_at = {now}, ended_at = `+ended+`
		where id = ?`, string(state), string(phase), text, l.ID)
	return err
}

// SetThrottle changes the limits that the shards at work read from the ledger.
func (l *Ledger) SetThrottle(ctx context.Context, t task.ThrottleSettings) error {
	text, err := encode(t)
	if err != nil {
		return err
	}
	_, err = l.store.exec(ctx, l.store.db, "update {migration} set throttle = ?, updated_at = {now} where id = ?", text, l.ID)
	return err
}

// Throttle reads the limits that an operator has set, nil for none, and how
// many shards of a phase share them at this moment.
func (l *Ledger) Throttle(ctx context.Context, phase task.Phase) (t *task.ThrottleSettings, running int, err error) {
	var text *string
	err = l.store.row(ctx, l.store.db, `select throttle, (select count(*) from {shard} where migration = ? and phase = ? and state = ?)
		from {migration} where id = ?`, []any{l.ID, string(phase), string(ShardRunning), l.ID}, &text, &running)
	if isNoRows(err) {
		return nil, 0, unknown(l.ID)
	}
	if err != nil {
		return nil, 0, err
	}
	return t, running, decode(text, &t)
}

func unknown(id string) error {
	return fault.New(task.Config, "the ledger knows no migration %s: was its database replaced, or the ledger removed?", id)
}
