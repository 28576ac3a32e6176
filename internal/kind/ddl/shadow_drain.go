package ddl

import (
	"context"
	"sync"
	"time"

	"godwit/internal/capture"
	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/task"
)

const (
	// drainEvery is how often the changelog is drained while rows are copied, and
	// drainShare bounds the part of the time that it takes.
	drainEvery = 500 * time.Millisecond
	drainShare = 5
	// drainWhileWaiting is how often it is drained while the migration waits for
	// its cut-over.
	drainWhileWaiting = 10 * time.Second
	// few noted changes are left to the next one who drains: a cut-over, which
	// drains them while the application waits.
	few = 200
)

// turn lets one of a worker's shards drain at a time.
type turn struct {
	mu   sync.Mutex
	next time.Time

	look      sync.Mutex
	changelog *task.ChangelogStatus
}

// turn is that of a migration.
func (d *DDL) turn(id string) *turn {
	t, _ := d.turns.LoadOrStore(id, &turn{})
	return t.(*turn)
}

// pending is what the changelog had when it was drained last; nil when it was not.
func (d *DDL) pending(id string) *task.ChangelogStatus {
	t := d.turn(id)
	t.look.Lock()
	defer t.look.Unlock()
	return t.changelog
}

// forget drops what is known of a migration whose copy is over.
func (d *DDL) forget(id string) {
	d.turns.Delete(id)
	d.sizes.Delete(id)
}

// drainNow drains when it is time, or at once when there is no time to lose
// (0), and nobody else is at it.
func (s *shadow) drainNow(ctx context.Context, session capture.Session, every time.Duration) error {
	t := s.d.turn(s.run.Ref.ID)
	if !t.mu.TryLock() {
		return nil
	}
	defer t.mu.Unlock()
	began := time.Now()
	if every > 0 && began.Before(t.next) {
		return nil
	}
	defer func() { t.next = time.Now().Add(max(every, drainShare*time.Since(began))) }()
	done, err := s.drainer(session).Sweep(ctx)
	if err != nil {
		return err
	}
	_, err = s.measure(ctx, done)
	return err
}

// drainer drains what is noted of rows that are copied.
func (s *shadow) drainer(session capture.Session) *capture.Drainer {
	d := capture.NewDrainer(s.db, s.r.Capture, session, s.sink(true), func(ctx context.Context) (capture.Coverage, error) {
		copies, _, err := s.shards(ctx)
		return capture.Covered(copies), err
	})
	d.Wait = s.mayDrain
	return d
}

// mayDrain lets draining go on: what the application changes is never held
// back, or it would be more and more.
func (s *shadow) mayDrain(context.Context, int64) error {
	s.run.Touch()
	if s.run.Stopped() {
		return fault.New(task.Stopping, "stopped while it drained the changelog")
	}
	return nil
}

// measure notes how much waits in the changelog after a draining; when that is
// too much, the throttle says so.
func (s *shadow) measure(ctx context.Context, done capture.Drained) (engine.Pending, error) {
	p, err := s.db.Pending(ctx, s.r.Capture)
	if err != nil {
		return p, err
	}
	t := s.d.turn(s.run.Ref.ID)
	t.look.Lock()
	defer t.look.Unlock()
	t.changelog = &task.ChangelogStatus{Pending: p.Rows}
	if !p.Oldest.IsZero() {
		t.changelog.Oldest = &p.Oldest
	}
	return p, s.run.Throttle.Noted(p.Rows, done.Entries)
}

// catchUp drains until few changes are left, and no row is held back by
// another one that has the same unique value: one that has it in truth is found
// out here.
func (s *shadow) catchUp(ctx context.Context) error {
	session, err := s.drainSession(ctx)
	if err != nil {
		return err
	}
	defer session.Destroy()
	d := s.drainer(session)
	for try := 1; ; try++ {
		done, err := d.Sweep(ctx)
		if err != nil {
			return err
		}
		p, err := s.measure(ctx, done)
		if err != nil || d.Held() == 0 && (p.Rows <= few || try >= busySweeps && p.Rows <= mostUnderLock) {
			return err
		}
		s.run.Beat(task.Heartbeat{Phase: task.Transform, Table: s.it.name(), Changelog: s.d.pending(s.run.Ref.ID), WaitingFor: "the changelog to be drained"})
	}
}

// tend keeps what is noted few while the migration waits.
func (s *shadow) tend(ctx context.Context) (task.TendResult, error) {
	switch s.it.state {
	case itemCopying:
		if err := s.db.VerifyCapture(ctx, s.r.Capture, s.r.Table.Name); err != nil {
			return task.TendResult{}, err
		}
		err := s.catchUp(ctx)
		p := s.d.pending(s.run.Ref.ID)
		if err != nil || p == nil {
			return task.TendResult{}, err
		}
		return task.TendResult{Pending: p.Pending}, nil
	case itemAltered:
		// As long as it is to be found out whether anybody else has written to the
		// old table, nobody does.
		if noted, err := s.noted(ctx); err != nil || noted {
			return task.TendResult{}, err
		}
		return task.TendResult{}, s.follow(ctx)
	}
	return task.TendResult{}, nil
}

// follow brings the old table up to date with the new one.
func (s *shadow) follow(ctx context.Context) error {
	if s.r.Reverse == nil || !keeps(s.run.Spec) {
		return nil
	}
	session, err := s.session(ctx, s.db.Impatient(rowLock, tableLock))
	if err != nil {
		return err
	}
	defer session.Destroy()
	back := s.live()
	sink := &capture.Local{DB: s.db, Capture: back.Capture, Projection: back.Forward, Fence: s.run.Ledger.Steers}
	d := capture.NewDrainer(s.db, back.Capture, session, sink, whole)
	d.Wait = s.mayDrain
	for {
		done, err := d.Sweep(ctx)
		if err != nil || done.Entries <= few && d.Held() == 0 {
			return err
		}
	}
}

// whole says that every row is there.
func whole(context.Context) (capture.Coverage, error) { return capture.Coverage{Whole: true}, nil }

// explain names the row of an error that is about a value.
func (w *copyWork) explain(ctx context.Context, within engine.Range, cause error) error {
	if kind.Classify(cause).Class != task.Data {
		return cause
	}
	key, err := kind.Locate(ctx, w.db, w.shadow.copied(within), w.sizer.Rows(), func(ctx context.Context, part engine.Range) (bool, error) {
		tx, err := w.session.Begin(ctx)
		if err != nil {
			return false, err
		}
		defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // nothing of it is to stay
		_, err = w.sink.CopyRange(ctx, tx, part, true)
		if err != nil && kind.Classify(err).Class != task.Data {
			return false, err
		}
		return err != nil, nil
	})
	if err != nil || key == nil {
		return cause // what was wrong is not so any more, or cannot be found out
	}
	return fault.About(w.it.name(), task.Data, "%s, row %s: the new form has no place for it: %w; mend the row, and retry", w.it.name(), w.it.Table.RowName(key), cause)
}
