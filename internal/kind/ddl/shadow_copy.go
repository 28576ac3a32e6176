package ddl

import (
	"context"
	"time"

	"godwit/internal/capture"
	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/shard"
	"godwit/internal/task"
)

const (
	// rowLock and tableLock are how long, in seconds, a chunk waits for a lock of
	// the shadow, or of the table.
	rowLock, tableLock = 5.0, 5.0
	// mostBusy is how often in a row a chunk is tried that meets a lock or a
	// deadlock, before the attempt is given up.
	mostBusy = 60
	// firstRows is the size of the first chunk, and fewestRows that of the
	// smallest: a smaller one would not be committed any faster.
	firstRows, fewestRows = 2000, 100
	// chunkBytes is how many bytes of rows a chunk has, about, at the most.
	chunkBytes = 16 << 20
	// gentle is how much longer than the quickest the commit of a chunk may take
	// when the spec does not say: the application's commits wait behind it.
	gentle = 1500 * time.Microsecond
	// tolerantChunks is for how many chunks after a clash others are expected.
	tolerantChunks = 10
)

// shard does a shard of the transform: it copies rows, or builds an index.
func (s *shadow) shard(ctx context.Context, in task.ShardInput) (task.ShardResult, error) {
	session, err := s.drainSession(ctx)
	if err != nil {
		return task.ShardResult{}, err
	}
	defer session.Destroy() // its settings are not those of the pool's other sessions
	return s.run.Attempt(ctx, in, session.ID(), func(lease *ledger.Lease) error {
		if err := stands(ctx, s.run); err != nil {
			return err
		}
		_, builds, err := split([]ledger.Shard{lease.Shard})
		if err != nil {
			return err
		}
		if len(builds) > 0 {
			return s.build(ctx, lease, builds[0].Build)
		}
		if err := unchanged(ctx, s.db, s.it); err != nil {
			return err
		}
		hook.At("shard claimed")
		keyed, err := s.keyed(ctx)
		if err != nil {
			return err
		}
		terms, err := s.db.CopyTerms(ctx, s.it.Table)
		if err != nil {
			return err
		}
		w := &copyWork{shadow: s, lease: lease, session: session, sink: s.sink(false), sizer: s.sizer(terms), began: time.Now(), keyed: keyed, width: width(s.it.Table)}
		return w.do(ctx)
	})
}

// session is a session with settings of its own.
func (s *shadow) session(ctx context.Context, settings []string) (engine.Session, error) {
	session, err := s.db.Session(ctx)
	if err != nil {
		return nil, err
	}
	for _, statement := range settings {
		if _, err := session.Exec(ctx, statement); err != nil {
			session.Destroy()
			return nil, err
		}
	}
	return session, nil
}

// drainSession is one that copies and drains: what it writes to the shadow is not
// noted for the way back.
func (s *shadow) drainSession(ctx context.Context) (engine.Session, error) {
	return s.session(ctx, append(s.db.Impatient(rowLock, tableLock), s.db.Unnoted()...))
}

// sizer goes on with the size that the migration's chunks have had.
func (s *shadow) sizer(terms engine.CopyTerms) *shard.Sizer {
	chunks := s.run.Spec.DDL.Chunks
	start := int64(firstRows)
	if last, found := s.d.sizes.Load(s.run.Ref.ID); found {
		start = last.(int64)
	}
	most := chunks.Rows
	if s.isGentle() && terms.Rows > 0 {
		most = min(most, terms.Rows)
	}
	limits := shard.Limits{Target: chunks.Time.Std(), MaxBytes: chunkBytes, Start: min(start, most), Min: min(fewestRows, most), Max: most}
	return shard.NewSizer(limits.For(s.it.Table.Rows, s.it.Table.Bytes))
}

// width is how many bytes a row has, about.
func width(t *engine.Table) int64 {
	if t.Rows <= 0 {
		return 1
	}
	return max(1, t.Bytes/t.Rows)
}

// committed lets the time of a commit decide how big the next chunks are.
func (s *shadow) committed(sizer *shard.Sizer, rows int64, took time.Duration) {
	if s.isGentle() {
		sizer.CommitGently(rows, took, gentle)
		return
	}
	sizer.Commit(rows, took, s.run.Throttle.CommitLimit())
}

// isGentle reports whether nobody has said how long a commit may take.
func (s *shadow) isGentle() bool {
	return s.run.Throttle.CommitLimit() == 0 && !s.run.Spec.Throttle.None
}

// copyWork is one attempt at copying a shard.
type copyWork struct {
	*shadow
	lease    *ledger.Lease
	session  engine.Session
	sink     *capture.Local
	sizer    *shard.Sizer
	keyed    bool  // it can be drained
	width    int64 // bytes of a row, about
	began    time.Time
	took     time.Duration
	copied   int64 // rows, by this attempt
	busy     int   // chunks in a row that met a lock or a deadlock
	tolerant int   // for how many chunks clashes are expected
}

func (w *copyWork) do(ctx context.Context) error {
	w.beat(0, "")
	if w.keyed {
		w.run.Throttle.Drains(w.meanwhile)
	}
	for {
		if w.run.Stopped() {
			return fault.New(task.Stopping, "stopped at %s", w.lease.Checkpoint)
		}
		if err := w.keepUp(ctx); err != nil {
			return err
		}
		within, rows, last, err := w.next(ctx)
		if err != nil {
			return err
		}
		switch err := w.write(ctx, within, rows, last); {
		case err != nil && w.sink.IsClash(err) && w.tolerant == 0:
			w.tolerant = tolerantChunks
		case err != nil && kind.Classify(err).Class == task.Busy && w.busy < mostBusy:
			w.sizer.Halve()
			w.busy++
			w.beat(0, engine.ShortStatement(err.Error()))
			if err := w.run.Pause(ctx, w.busy); err != nil {
				return err
			}
		case err != nil:
			return w.explain(ctx, within, err)
		case last:
			return nil
		}
	}
}

// keepUp drains when it is time, where that is possible already.
func (w *copyWork) keepUp(ctx context.Context) error {
	if w.keyed {
		return w.drainNow(ctx, w.session, drainEvery)
	}
	return w.count(ctx)
}

// count looks how much is noted as long as nothing can be drained.
func (w *copyWork) count(ctx context.Context) error {
	t := w.d.turn(w.run.Ref.ID)
	if !t.mu.TryLock() {
		return nil
	}
	defer t.mu.Unlock()
	if time.Now().Before(t.next) {
		return nil
	}
	t.next = time.Now().Add(drainEvery)
	_, err := w.measure(ctx, capture.Drained{})
	return err
}

// meanwhile drains while the throttle holds the copying.
func (w *copyWork) meanwhile(ctx context.Context, full bool) error {
	every := drainEvery
	if full {
		every = 0
	}
	err := w.drainNow(ctx, w.session, every)
	w.beat(0, "")
	return err
}

// next fixes the bounds of the next chunk, when the throttle lets it pass.
func (w *copyWork) next(ctx context.Context) (within engine.Range, rows int64, last bool, err error) {
	within = w.lease.Range
	if w.lease.Checkpoint != nil {
		within.After = w.lease.Checkpoint
	}
	rows = w.run.Throttle.Chunk(w.sizer.Rows())
	if err := w.run.Throttle.Wait(ctx, rows, rows*w.width); err != nil {
		return within, 0, false, err
	}
	until, found, err := w.db.Bound(ctx, w.shadow.copied(within), rows)
	if err != nil || !found {
		return within, 0, true, err
	}
	within.Until = until
	return within, rows, false, nil
}

// write copies a chunk and records it, in one transaction.
func (w *copyWork) write(ctx context.Context, within engine.Range, rows int64, last bool) error {
	began := time.Now()
	tx, err := w.session.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	hook.At("before change")
	written, err := w.sink.CopyRange(ctx, tx, within, w.tolerant > 0)
	if err != nil {
		return err
	}
	p := ledger.Progress{Checkpoint: within.Until, Rows: written, Bytes: written * w.width, Done: last}
	if err := w.lease.Advance(ctx, tx, p); err != nil {
		return err
	}
	hook.At("before commit")
	committing := time.Now()
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	committed := time.Since(committing)
	w.took = time.Since(began)
	hook.At("after commit")
	w.run.Throttle.Committed(committed)
	w.lease.Committed(p)
	w.copied += written
	w.busy, w.tolerant = 0, max(0, w.tolerant-1)
	rows = max(rows, written)
	w.sizer.Done(rows, rows*w.width, w.took)
	w.shadow.committed(w.sizer, rows, committed)
	w.d.sizes.Store(w.run.Ref.ID, w.sizer.Rows())
	w.beat(written, "")
	return nil
}

func (w *copyWork) beat(chunkRows int64, waiting string) {
	h := task.Heartbeat{Phase: task.Transform, Table: w.lease.Label(), Shard: w.lease.No, Rows: w.lease.Rows, RowsTotal: max(w.lease.RowsEstimate, w.lease.Rows),
		Bytes: w.lease.Bytes, ChunkRows: chunkRows, ChunkSeconds: w.took.Seconds(), WaitingFor: waiting, Changelog: w.d.pending(w.run.Ref.ID)}
	if w.lease.Checkpoint != nil {
		h.Checkpoint = w.lease.Checkpoint.String()
	}
	if took := time.Since(w.began).Seconds(); took > 0 {
		h.RowsPerSecond = float64(w.copied) / took
	}
	if h.RowsTotal > 0 {
		h.Percent = 100 * float64(h.Rows) / float64(h.RowsTotal)
	}
	w.run.Beat(h)
}
