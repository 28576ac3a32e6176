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
		lease.Shard = s
		switch {
		case s.State == ShardDone: // the predecessor has just finished it
			return nil
		case s.Epoch != before.Epoch:
			return superseded(&s)
		}
		return l.take(ctx, tx, lease, in, session)
	})
	if err == nil && lease.State == ShardRunning && lease.lost >= lostTimes {
		_, err = lease.Fail(ctx, &task.Failure{Class: task.Human, Message: lost(&lease.Shard).Error(), Table: lease.Table}, 0)
		if err == nil {
			err = lost(&lease.Shard)
		}
	}
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// take raises the epoch of a shard whose row is locked.
func (l *Ledger) take(ctx context.Context, tx engine.Tx, lease *Lease, in task.ShardInput, session string) error {
	s := &lease.Shard
	if s.State == ShardRunning {
		s.lost++ // the attempt before has said nothing at its end
	}
	if in.Round > s.round {
		s.round, s.Fruitless, s.lost = in.Round, 0, 0
	}
	s.Epoch++
	s.Attempt++
	s.State, s.Owner = ShardRunning, l.store.owner
	_, err := l.store.exec(ctx, tx, `update {shard} set epoch = ?, attempt = ?, fruitless = ?, round = ?, lost = ?, owner = ?, session_id = ?, state = ?,
		started_at = coalesce(started_at, {now}), updated_at = {now}, ended_at = null
		where migration = ? and phase = ? and "no" = ?`,
		s.Epoch, s.Attempt, s.Fruitless, s.round, s.lost, s.Owner, session, string(s.State), l.ID, string(in.Phase), in.Shard)
	return err
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
		"rows" = "rows" + ?, bytes = bytes + ?, state = ?, fruitless = 0, lost = 0, error = null, session_id = `+session+`, updated_at = {now}, ended_at = `+ended+`
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

// Move notes that the attempt goes on in another session, which its successor
// will end. An attempt that was superseded is refused.
func (le *Lease) Move(ctx context.Context, session string) error {
	n, err := le.ledger.store.exec(ctx, le.ledger.store.db, `update {shard} set session_id = ?, updated_at = {now}
		where migration = ? and phase = ? and "no" = ? and epoch = ?`, session, le.ledger.ID, string(le.Phase), le.No, le.Epoch)
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

// patience is how many times more attempts a shard has while a database is
// away: with the delays between them, a quarter of an hour for each round.
const patience = 10

// Fail records that the attempt ended with an error, and reports whether the
// shard's attempts are used up: attempts that made progress do not count, and
// what does not help to repeat uses them up at once. A shard that turns out to be
// done is no failure: its state says so then.
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
	if failure.Class == task.Transient {
		attempts *= patience
	}
	exhausted = !failure.Class.Retryable() || fruitless >= attempts && failure.Class != task.Stopping
	state := ShardPending
	if exhausted {
		state = ShardFailed
	}
	text, err := encodeFailure(failure)
	if err != nil {
		return exhausted, err
	}
	n, err := le.ledger.store.exec(ctx, le.ledger.store.db, `update {shard} set state = ?, fruitless = ?, lost = 0, error = ?, session_id = null, updated_at = {now}
		where migration = ? and phase = ? and "no" = ? and epoch = ? and state = ?`,
		string(state), fruitless, text, le.ledger.ID, string(le.Phase), le.No, le.Epoch, string(ShardRunning))
	if err != nil || n == 1 {
		return exhausted, err
	}
	// The connection may have been lost at the commit of the last chunk, which
	// the server then carried out.
	now, err := le.ledger.shard(ctx, le.ledger.store.db, le.Phase, le.No, "")
	if err != nil {
		return false, err
	}
	if now.Epoch == le.Epoch && now.State == ShardDone {
		le.Shard = now
		return false, nil
	}
	return false, superseded(&le.Shard)
}

// Yield records that the attempt ended without an error, as an operator's
// pause wants it: the shard waits for its next attempt.
func (le *Lease) Yield(ctx context.Context) error {
	_, err := le.ledger.store.exec(ctx, le.ledger.store.db, `update {shard} set state = ?, session_id = null, updated_at = {now}
		where migration = ? and phase = ? and "no" = ? and epoch = ? and state = ?`,
		string(ShardPending), le.ledger.ID, string(le.Phase), le.No, le.Epoch, string(ShardRunning))
	return err
}

// reopen gives the shards that are not done new attempts.
func (l *Ledger) reopen(ctx context.Context, tx engine.Tx) error {
	_, err := l.store.exec(ctx, tx, `update {shard} set state = ?, fruitless = 0, round = 0, lost = 0, updated_at = {now}
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

// Fence shuts out every attempt that is alive somewhere, whatever it is doing:
// none commits anything more in a shard that is not done. What the shards have
// done so far stays. Call KillSessions before it, since a frozen attempt may
// hold a shard's row.
func (l *Ledger) Fence(ctx context.Context) error {
	return l.store.transaction(ctx, func(tx engine.Tx) error {
		if err := l.guard(ctx, tx); err != nil {
			return err
		}
		_, err := l.store.exec(ctx, tx, `update {shard} set epoch = epoch + 1, session_id = null, state = case when state = ? then ? else state end,
			updated_at = {now} where migration = ? and state <> ?`, string(ShardRunning), string(ShardPending), l.ID, string(ShardDone))
		return err
	})
}
