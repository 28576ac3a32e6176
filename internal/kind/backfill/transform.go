package backfill

import (
	"context"
	"errors"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/shard"
	"godwit/internal/task"
)

const (
	// rowLock and tableLock are how long, in seconds, a chunk waits for a lock:
	// the rows that it has locked already are waited for by others meanwhile.
	rowLock, tableLock = 1.0, 5.0
	// mostBusy is how often in a row a chunk is tried that meets a lock or a
	// deadlock, each time with half of the rows, before the attempt is given up:
	// some minutes.
	mostBusy = 60
	// firstRows is the size of the first chunk.
	firstRows = 1000
	// chunkBytes is how many bytes of rows a chunk has, about, at the most.
	chunkBytes = 16 << 20
)

// TransformShard goes through one shard, chunk by chunk, from its checkpoint on.
func (b *Backfill) TransformShard(ctx context.Context, run *kind.Run, in task.ShardInput) (task.ShardResult, error) {
	db, err := open(ctx, run)
	if err != nil {
		return task.ShardResult{}, err
	}
	it, err := load(ctx, run)
	if err != nil {
		return task.ShardResult{}, err
	}
	session, err := db.patientSession(ctx)
	if err != nil {
		return task.ShardResult{}, err
	}
	// Its settings are not those of the pool's other sessions.
	defer session.Destroy()
	return run.Attempt(ctx, in, session.ID(), func(lease *ledger.Lease) error {
		if err := b.unchanged(ctx, run, db, it); err != nil {
			return err
		}
		hook.At("shard claimed")
		pass, err := passOf(&lease.Shard)
		if err != nil {
			return err
		}
		before, err := changedBy(&lease.Shard)
		if err != nil {
			return err
		}
		w := &shardWork{b: b, run: run, db: db, it: it, lease: lease, session: session, pass: pass, changed: before, began: time.Now(),
			sizer: b.sizer(run, it), width: it.width()}
		return w.do(ctx)
	})
}

// sizer goes on with the size that the migration's chunks have had.
func (b *Backfill) sizer(run *kind.Run, it *item) *shard.Sizer {
	chunks := run.Spec.Backfill.Chunks
	start := int64(firstRows)
	if last, found := b.sizes.Load(run.Ref.ID); found {
		start = last.(int64)
	}
	limits := shard.Limits{Target: chunks.Time.Std(), MaxBytes: chunkBytes, Start: min(start, chunks.Rows), Min: 1, Max: chunks.Rows}
	return shard.NewSizer(limits.For(it.Table.Rows, it.Table.Bytes))
}

// patientSession is a session that does not wait long for locks.
func (s *site) patientSession(ctx context.Context) (engine.Session, error) {
	session, err := s.Session(ctx)
	if err != nil {
		return nil, err
	}
	if err := set(ctx, session, s.Impatient(rowLock, tableLock)); err != nil {
		session.Destroy()
		return nil, err
	}
	return session, nil
}

func set(ctx context.Context, session engine.Session, settings []string) error {
	tx, err := session.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	for _, statement := range settings {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return tx.Commit(ctx)
}

// width is how many bytes a row has, about.
func (it *item) width() int64 {
	if it.Table.Rows <= 0 {
		return 1
	}
	return max(1, it.Table.Bytes/it.Table.Rows)
}

// shardWork is one attempt at one shard.
type shardWork struct {
	b       *Backfill
	run     *kind.Run
	db      *site
	it      *item
	lease   *ledger.Lease
	session engine.Session
	sizer   *shard.Sizer
	pass    int
	width   int64   // bytes of a row, about
	changed changed // by all attempts
	began   time.Time
	looked  int64 // rows that this attempt has looked at
	took    time.Duration
	busy    int // chunks in a row that met a lock or a deadlock
}

func (w *shardWork) do(ctx context.Context) error {
	w.beat(0, "")
	for {
		if w.run.Stopped() {
			return fault.New(task.Stopping, "stopped at %s", w.lease.Checkpoint)
		}
		c, err := w.next(ctx)
		if err != nil {
			return err
		}
		switch err := w.write(ctx, c); {
		case err != nil && kind.Classify(err).Class == task.Busy && w.busy < mostBusy:
			if err := w.giveWay(ctx, err); err != nil {
				return err
			}
		case err != nil:
			return w.explain(ctx, c, err)
		case c.last:
			return nil
		}
	}
}

// chunk is a range that is changed in one transaction.
type chunk struct {
	within engine.Range
	rows   int64 // that it has, as far as it is known
	last   bool
}

// next fixes the bounds of the next chunk, when the throttle lets it pass.
func (w *shardWork) next(ctx context.Context) (chunk, error) {
	left := w.lease.Range
	if w.lease.Checkpoint != nil {
		left.After = w.lease.Checkpoint
	}
	rows := w.run.Throttle.Chunk(w.sizer.Rows())
	if err := w.run.Throttle.Wait(ctx, rows, rows*w.width); err != nil {
		return chunk{}, err
	}
	until, found, err := w.db.Bound(ctx, w.it.selection(left), rows)
	if err != nil {
		return chunk{}, err
	}
	if !found {
		return chunk{within: left, last: true}, nil
	}
	return chunk{within: engine.Range{After: left.After, Until: until}, rows: rows}, nil
}

// write changes the rows of a chunk and records it, in one transaction.
func (w *shardWork) write(ctx context.Context, c chunk) error {
	began := time.Now()
	statements, err := w.it.chunkStatements(ctx, w.db, w.pass, c.within)
	if errors.Is(err, errEmpty) {
		statements, err = nil, nil
	}
	if err != nil {
		return err
	}
	tx, err := w.session.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	hook.At("before change")
	rows, err := w.it.execute(ctx, tx, statements)
	if err != nil {
		return err
	}
	looked := max(c.rows, rows)
	done := changed{Rows: w.changed.Rows + rows, Chunks: w.changed.Chunks + 1, Longest: max(w.changed.Longest, time.Since(began).Seconds())}
	p := ledger.Progress{Checkpoint: c.within.Until, Rows: looked, Bytes: looked * w.width, Digest: done, Done: c.last}
	if err := w.lease.Advance(ctx, tx, p); err != nil {
		return err
	}
	hook.At("before commit")
	committing := time.Now()
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	w.took = time.Since(began)
	committed := time.Since(committing)
	w.run.Throttle.Committed(committed)
	hook.At("after commit")
	w.lease.Committed(p)
	w.changed = done
	w.looked += looked
	w.busy = 0
	w.sizer.Done(looked, looked*w.width, w.took)
	w.sizer.Commit(looked, committed, w.run.Throttle.CommitLimit())
	w.b.sizes.Store(w.run.Ref.ID, w.sizer.Rows())
	w.beat(looked, "")
	return nil
}

// execute runs the statements of a chunk and returns how many rows it changed.
// Those that have to be about the same rows are compared by their number.
func (it *item) execute(ctx context.Context, tx engine.Tx, statements []string) (int64, error) {
	locking := it.Rewrite == nil && len(statements) > 1
	var rows int64
	for i, statement := range statements {
		n, err := tx.Exec(ctx, statement)
		if err != nil {
			return 0, err
		}
		first := i == 0
		if locking {
			first = i == 1
		}
		switch {
		case locking && i == 0:
		case first:
			rows = n
		case n < rows && it.Rewrite != nil && len(it.Table.Triggers) > 0: // one of them keeps rows as they are
		case n != rows:
			return 0, fault.About(it.name(), task.Busy, "statement 1 was about %d rows and statement %d about %d: others came in between; nothing of the chunk is written", rows, i+1, n)
		}
	}
	return rows, nil
}

// giveWay waits a moment after a deadlock or a lock that was not to be had,
// and halves what is done at once.
func (w *shardWork) giveWay(ctx context.Context, cause error) error {
	w.sizer.Halve()
	w.busy++
	w.beat(0, firstLine(cause.Error()))
	return w.run.Pause(ctx, w.busy)
}

func (w *shardWork) beat(chunkRows int64, waiting string) {
	h := task.Heartbeat{Phase: task.Transform, Table: w.lease.Label(), Shard: w.lease.No, Rows: w.lease.Rows, RowsTotal: max(w.lease.RowsEstimate, w.lease.Rows),
		Bytes: w.lease.Bytes, ChunkRows: chunkRows, ChunkSeconds: w.took.Seconds(), WaitingFor: waiting}
	if w.lease.Checkpoint != nil {
		h.Checkpoint = w.lease.Checkpoint.String()
	}
	if took := time.Since(w.began).Seconds(); took > 0 {
		h.RowsPerSecond = float64(w.looked) / took
	}
	if h.RowsTotal > 0 {
		h.Percent = 100 * float64(h.Rows) / float64(h.RowsTotal)
	}
	w.run.Beat(h)
}
