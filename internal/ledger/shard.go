package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// ShardState says how a shard stands.
type ShardState string

// The states of a shard.
const (
	ShardPending ShardState = "pending"
	ShardRunning ShardState = "running"
	ShardDone    ShardState = "done"
	ShardFailed  ShardState = "failed" // its attempts are used up
)

// Shard is a stretch of one table, the unit of scheduling and retrying.
// Transform and verify have shards of their own, each numbered from 1.
type Shard struct {
	Phase task.Phase
	No    int
	Table string // the target's name, for display and for the plan's item
	// Part of Parts: the position among the table's shards, from 1.
	Part, Parts  int
	Range        engine.Range
	Checkpoint   engine.Key      // upper key of the last committed chunk; nil for none
	Definition   json.RawMessage // what else the kind wants to know of it
	RowsEstimate int64
	Rows, Bytes  int64
	Digest       json.RawMessage
	State        ShardState
	Attempt      int
	Fruitless    int // failed attempts in a row that made no progress
	Epoch        int64
	Owner        string
	Error        *task.Failure
	StartedAt    *time.Time
	EndedAt      *time.Time
	session      string
	round        int
	lost         int // attempts in a row that ended without a word and without progress
}

// Label names the shard to a human: shop.orders 3/8.
func (s *Shard) Label() string {
	if s.Parts <= 1 {
		return s.Table
	}
	return fmt.Sprintf("%s %d/%d", s.Table, s.Part, s.Parts)
}

// PlanShards writes the shards of a phase, all or nothing, pending when they have
// no state. When the phase has
// shards already, they stay as they are.
func (l *Ledger) PlanShards(ctx context.Context, phase task.Phase, shards []Shard) error {
	return l.store.transaction(ctx, func(tx engine.Tx) error {
		if err := l.guard(ctx, tx); err != nil {
			return err
		}
		var planned int
		if err := l.store.row(ctx, tx, "select count(*) from {shard} where migration = ? and phase = ?", []any{l.ID, string(phase)}, &planned); err != nil {
			return err
		}
		if planned > 0 {
			return nil
		}
		for i := range shards {
			shards[i].Phase = phase
			if err := l.insertShard(ctx, tx, &shards[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// AppendShards gives a phase further shards, numbered on from after, when it has
// exactly so many; all or nothing. When it has more they stay as they are: an
// attempt before has planned them. The caller's numbers do not matter.
func (l *Ledger) AppendShards(ctx context.Context, phase task.Phase, after int, shards []Shard) error {
	return l.store.transaction(ctx, func(tx engine.Tx) error {
		if err := l.guard(ctx, tx); err != nil {
			return err
		}
		var planned int
		if err := l.store.row(ctx, tx, "select count(*) from {shard} where migration = ? and phase = ?", []any{l.ID, string(phase)}, &planned); err != nil {
			return err
		}
		if planned > after {
			return nil
		}
		if planned < after {
			return fault.New(task.Internal, "migration %s has %d %s shards, and more were to follow after %d", l.ID, planned, phase, after)
		}
		for i := range shards {
			shards[i].Phase, shards[i].No = phase, after+i+1
			if err := l.insertShard(ctx, tx, &shards[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (l *Ledger) insertShard(ctx context.Context, tx engine.Tx, s *Shard) error {
	low, err := encode(s.Range.After)
	if err != nil {
		return err
	}
	high, err := encode(s.Range.Until)
	if err != nil {
		return err
	}
	definition, err := encode(s.Definition)
	if err != nil {
		return err
	}
	_, err = l.store.exec(ctx, tx, `insert into {shard}
		(migration, phase, "no", "table", part, parts, low, high, definition, rows_estimate, state, updated_at)
		values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {now})`,
		l.ID, string(s.Phase), s.No, s.Table, s.Part, s.Parts, low, high, definition, s.RowsEstimate, string(cmp.Or(s.State, ShardPending)))
	return err
}

// RepeatShards lets shards of a phase be done again from their beginning: those
// that again picks from all of the phase's.
func (l *Ledger) RepeatShards(ctx context.Context, phase task.Phase, again func([]Shard) []int) error {
	return l.store.transaction(ctx, func(tx engine.Tx) error {
		if err := l.guard(ctx, tx); err != nil {
			return err
		}
		shards, err := l.Shards(ctx, phase)
		if err != nil {
			return err
		}
		for _, no := range again(shards) {
			if _, err := l.store.exec(ctx, tx, `update {shard} set state = ?, epoch = epoch + 1, checkpoint = null, digest = null, "rows" = 0, bytes = 0,
				error = null, ended_at = null, updated_at = {now} where migration = ? and phase = ? and "no" = ?`,
				string(ShardPending), l.ID, string(phase), no); err != nil {
				return err
			}
		}
		return nil
	})
}

const shardColumns = `phase, "no", "table", part, parts, low, high, checkpoint, definition, rows_estimate, "rows", bytes, digest,
	state, attempt, fruitless, round, lost, epoch, owner, session_id, error, started_at, ended_at`

// Shards returns the shards of a phase in the order of their numbers.
func (l *Ledger) Shards(ctx context.Context, phase task.Phase) ([]Shard, error) {
	var shards []Shard
	err := l.store.each(ctx, l.store.db, "select "+shardColumns+` from {shard} where migration = ? and phase = ? order by "no"`,
		[]any{l.ID, string(phase)}, func(rows engine.Rows) error {
			s, err := scanShard(rows)
			shards = append(shards, s)
			return err
		})
	return shards, err
}

// shard reads one shard, with a further clause such as "for update".
func (l *Ledger) shard(ctx context.Context, q engine.Querier, phase task.Phase, no int, clause string) (Shard, error) {
	var s Shard
	found := false
	err := l.store.each(ctx, q, "select "+shardColumns+` from {shard} where migration = ? and phase = ? and "no" = ? `+clause,
		[]any{l.ID, string(phase), no}, func(rows engine.Rows) (err error) {
			found = true
			s, err = scanShard(rows)
			return err
		})
	if err == nil && !found {
		err = fmt.Errorf("the ledger has no %s shard %d of migration %s", phase, no, l.ID)
	}
	return s, err
}

func scanShard(rows engine.Rows) (Shard, error) {
	var s Shard
	var low, high, checkpoint, definition, digest, owner, session, failure *string
	err := rows.Scan(&s.Phase, &s.No, &s.Table, &s.Part, &s.Parts, &low, &high, &checkpoint, &definition, &s.RowsEstimate, &s.Rows, &s.Bytes, &digest,
		&s.State, &s.Attempt, &s.Fruitless, &s.round, &s.lost, &s.Epoch, &owner, &session, &failure, &s.StartedAt, &s.EndedAt)
	if err != nil {
		return s, err
	}
	for _, column := range []struct {
		text *string
		into any
	}{{low, &s.Range.After}, {high, &s.Range.Until}, {checkpoint, &s.Checkpoint}, {failure, &s.Error}} {
		if err := decode(column.text, column.into); err != nil {
			return s, err
		}
	}
	for _, column := range []struct {
		text *string
		into *json.RawMessage
	}{{definition, &s.Definition}, {digest, &s.Digest}} {
		if column.text != nil {
			*column.into = json.RawMessage(*column.text)
		}
	}
	if owner != nil {
		s.Owner = *owner
	}
	if session != nil {
		s.session = *session
	}
	return s, nil
}

// Work sums up the shards of a phase for the workflow. Rows and bytes are those
// of the shards that are done: an open one tells of its own in its heartbeat.
func (l *Ledger) Work(ctx context.Context, phase task.Phase) (task.Work, error) {
	shards, err := l.Shards(ctx, phase)
	if err != nil {
		return task.Work{}, err
	}
	w := task.Work{Shards: len(shards)}
	for i := range shards {
		s := &shards[i]
		if s.State == ShardDone {
			w.Done++
			w.RowsTotal += s.Rows
			w.RowsDone += s.Rows
			w.BytesDone += s.Bytes
			continue
		}
		w.RowsTotal += max(s.RowsEstimate, s.Rows)
		w.Open = append(w.Open, s.No)
		w.Labels = append(w.Labels, s.Label())
	}
	return w, nil
}
