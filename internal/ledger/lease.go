package ledger

import (
	"context"
	"encoding/json"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Lease is a shard in the hands of one attempt. It ends when another attempt
// claims the shard: from then on nothing can be written with it.
type Lease struct {
	Shard
	ledger   *Ledger
	advanced bool
}

// ClaimShard takes a shard for this attempt: it ends the database session of
// the attempt that had it before, if that still exists, and raises the epoch.
// The session is this attempt's own, the one that its transactions run in;
// empty when it writes only through the ledger. A shard that is done is
// returned as it is, and nothing changes.
func (l *Ledger) ClaimShard(ctx context.Context, in task.ShardInput, session string) (*Lease, error) {
	before, err := l.shard(ctx, l.store.db, in.Phase, in.Shard, "")
	if err != nil {
		return nil, err
	}
	if before.State == ShardDone {
		return &Lease{Shard: before, ledger: l}, nil
	}
	// First the predecessor's session ends: a frozen one may hold the row lock.
	if before.session != "" && before.session != session {
		if err := l.store.db.KillSession(ctx, before.session); err != nil {
			return nil, err
		}
	}
	lease := &Lease{ledger: l}
	err = l.store.transaction(ctx, func(tx engine.Tx) error {
		s, err := l.shard(ctx, tx, in.Phase, in.Shard, "for update")
		if err != nil {
			return err
		}
		if s.Epoch != before.Epoch {
			return superseded(&s)
		}
		if in.Round > s.round {
			s.round, s.Fruitless = in.Round, 0
		}
		s.Epoch++
		s.Attempt++
		s.State, s.Owner = ShardRunning, l.store.owner
		lease.Shard = s
		_, err = l.store.exec(ctx, tx, `update {shard} set epoch = ?, attempt = ?, fruitless = ?, round = ?, owner = ?, session_id = ?, state = ?,
			started_at = coalesce(started_at, {now}), updated_at = {now}, ended_at = null
			where migration = ? and phase = ? and "no" = ?`,
			s.Epoch, s.Attempt, s.Fruitless, s.round, s.Owner, session, string(s.State), l.ID, string(in.Phase), in.Shard)
		return err
	})
	if err != nil {
		return nil, err
	}
	return lease, nil
}

func superseded(s *Shard) error {
	return fault.About(s.Table, task.Superseded, "another attempt has taken over shard %d (%s); this one has written nothing more", s.No, s.Label())
}

// Progress is what one chunk adds to its shard.
type Progress struct {
	Checkpoint  engine.Key // upper key of the chunk; nil keeps the last one
	Rows, Bytes int64
	Digest      any  // the shard's digest so far; nil keeps the last one
	Done        bool // the shard is finished with this chunk
}

// Advance records a chunk in the transaction that writes its rows. When
// another attempt has claimed the shard it returns a fault of class
// superseded, and the caller rolls back.
func (le *Lease) Advance(ctx context.Context, tx engine.Querier, p Progress) error {
	checkpoint, err := encode(p.Checkpoint)
	if err != nil {
		return err
	}
	digest, err := encode(p.Digest)
	if err != nil {
		return err
	}
	state, ended, session := ShardRunning, "null", "session_id"
	if p.Done {
		state, ended, session = ShardDone, "{now}", "null"
	}
	n, err := le.ledger.store.exec(ctx, tx, `update {shard} set checkpoint = coalesce(?, checkpoint), digest = coalesce(?, digest),
		"rows" = "rows" + ?, bytes = bytes + ?, state = ?, fruitless = 0, error = null, session_id = `+session+`, updated_at = {now}, ended_at = `+ended+`
		where migration = ? and phase = ? and "no" = ? and epoch = ?`,
		checkpoint, digest, p.Rows, p.Bytes, string(state), le.ledger.ID, string(le.Phase), le.No, le.Epoch)
	if err != nil {
		return err
	}
	if n != 1 {
		return superseded(&le.Shard)
	}
	return nil
}

// Advanced reports whether this attempt has committed anything.
func (le *Lease) Advanced() bool { return le.advanced }

// Committed takes over what Advance has recorded, once its transaction is
// committed.
func (le *Lease) Committed(p Progress) {
	if p.Checkpoint != nil {
		le.Checkpoint = p.Checkpoint
	}
	le.Rows += p.Rows
	le.Bytes += p.Bytes
	le.advanced = true
	if p.Done {
		le.State = ShardDone
	}
}

// Restart forgets what the shard has done so far, in the transaction that
// removes it: for shards that can only start from their beginning.
func (le *Lease) Restart(ctx context.Context, tx engine.Querier) error {
	n, err := le.ledger.store.exec(ctx, tx, `update {shard} set checkpoint = null, "rows" = 0, bytes = 0, digest = null, updated_at = {now}
		where migration = ? and phase = ? and "no" = ? and epoch = ?`, le.ledger.ID, string(le.Phase), le.No, le.Epoch)
	if err != nil {
		return err
	}
	if n != 1 {
		return superseded(&le.Shard)
	}
	le.Checkpoint, le.Rows, le.Bytes, le.Digest = nil, 0, 0, json.RawMessage(nil)
	return nil
}

// Fail records that the attempt ended with an error, and reports whether the
// shard's attempts are used up: attempts that made progress do not count, and
// what does not help to repeat uses them up at once.
func (le *Lease) Fail(ctx context.Context, failure *task.Failure, attempts int) (exhausted bool, err error) {
	if failure.Class == task.Superseded {
		return false, nil
	}
	fruitless := le.Fruitless + 1
	if le.advanced {
		fruitless = 1
	}
	if failure.Class == task.Stopping {
		fruitless--
	}
	exhausted = !failure.Class.Retryable() || fruitless >= attempts && failure.Class != task.Stopping
	state := ShardPending
	if exhausted {
		state = ShardFailed
	}
	text, err := encode(failure)
	if err != nil {
		return exhausted, err
	}
	n, err := le.ledger.store.exec(ctx, le.ledger.store.db, `update {shard} set state = ?, fruitless = ?, error = ?, session_id = null, updated_at = {now}
		where migration = ? and phase = ? and "no" = ? and epoch = ?`,
		string(state), fruitless, text, le.ledger.ID, string(le.Phase), le.No, le.Epoch)
	if err != nil {
		return exhausted, err
	}
	if n != 1 {
		return false, superseded(&le.Shard)
	}
	return exhausted, nil
}

// Yield records that the attempt ended without an error, as an operator's
// pause wants it: the shard waits for its next attempt.
func (le *Lease) Yield(ctx context.Context) error {
	_, err := le.ledger.store.exec(ctx, le.ledger.store.db, `update {shard} set state = ?, session_id = null, updated_at = {now}
		where migration = ? and phase = ? and "no" = ? and epoch = ? and state = ?`,
		string(ShardPending), le.ledger.ID, string(le.Phase), le.No, le.Epoch, string(ShardRunning))
	return err
}

// Reopen gives the failed shards new attempts: for a retry by an operator.
func (l *Ledger) Reopen(ctx context.Context) error {
	_, err := l.store.exec(ctx, l.store.db, `update {shard} set state = ?, fruitless = 0, round = 0, updated_at = {now}
		where migration = ? and state <> ?`, string(ShardPending), l.ID, string(ShardDone))
	return err
}

// KillSessions ends the database sessions of all attempts that the ledger
// knows of.
func (l *Ledger) KillSessions(ctx context.Context) error {
	var sessions []string
	err := l.store.each(ctx, l.store.db, `select session_id from {shard} where migration = ? and session_id is not null and session_id <> ''`,
		[]any{l.ID}, func(rows engine.Rows) error {
			var session string
			err := rows.Scan(&session)
			sessions = append(sessions, session)
			return err
		})
	for _, session := range sessions {
		if err == nil {
			err = l.store.db.KillSession(ctx, session)
		}
	}
	return err
}

// Fence raises the epoch of every shard, so that no attempt that is alive
// somewhere can commit anything after this transaction.
func (l *Ledger) Fence(ctx context.Context, tx engine.Querier) error {
	_, err := l.store.exec(ctx, tx, `update {shard} set epoch = epoch + 1, state = ?, session_id = null, updated_at = {now} where migration = ?`,
		string(ShardPending), l.ID)
	return err
}
