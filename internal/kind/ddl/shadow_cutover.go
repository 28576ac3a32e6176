package ddl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

const (
	// firstWait is how long the first try waits for the table's lock; each one
	// waits twice as long, up to half of cutover.timeout.
	firstWait = 100 * time.Millisecond
	// mostUnderLock is how many noted changes may be left for the moment in which
	// the application waits, when it is tried in vain to have only a few left: an
	// application that takes the whole machine makes as many in the time of a
	// sweep. When nobody else works, they are drained within a second.
	mostUnderLock = 10_000
	// busySweeps is for how many sweeps it is tried to have only a few left.
	busySweeps = 4
	// mostSweeps is how often it is tried to come below that before a try is given up.
	mostSweeps = 20
)

// cutover puts the shadow in the table's place.
func (s *shadow) cutover(ctx context.Context) (task.CutoverResult, error) {
	if s.it.state != itemAltered {
		err := s.swap(ctx)
		if errors.Is(err, errShut) {
			return task.CutoverResult{Shut: true}, nil
		}
		if err != nil {
			return task.CutoverResult{}, err
		}
	}
	if err := s.conclude(ctx); err != nil {
		return task.CutoverResult{}, err
	}
	s.d.forget(s.run.Ref.ID)
	if !keeps(s.run.Spec) {
		return task.CutoverResult{}, nil
	}
	kept, err := keptBackups(ctx, s.run)
	if err != nil {
		return task.CutoverResult{}, err
	}
	result := task.CutoverResult{Kept: kept, KeepFor: s.run.Spec.DDL.KeepOld.Std()}
	if s.r.Reverse != nil {
		result.TendEvery = tendEvery
	}
	return result, nil
}

// tendEvery is how often the old table is brought up to date while it is kept.
const tendEvery = time.Minute

// swap changes the names, in as many tries as it takes.
func (s *shadow) swap(ctx context.Context) error {
	if err := plans(ctx, s.run, s.it, task.Cutover); err != nil {
		return err
	}
	hook.At("cut-over begins")
	stand, err := s.db.Stand(ctx, s.r)
	if err != nil {
		return err
	}
	hook.At("names looked at")
	if stand == engine.StandBeside {
		if err := s.prepareSwap(ctx); err != nil && !s.hasCome(ctx, err) {
			return err
		}
	}
	if stand == engine.StandBeside || stand == engine.StandSwapped {
		in := task.ShardInput{Ref: s.run.Ref, Phase: task.Cutover, Shard: stepsShard}
		if _, err := s.run.Attempt(ctx, in, "", func(lease *ledger.Lease) error { return s.swapPatiently(ctx, lease) }); err != nil {
			return err
		}
		if stand, err = s.db.Stand(ctx, s.r); err != nil {
			return err
		}
	}
	if stand != engine.StandSwapped {
		return fault.About(s.it.name(), task.Human, "the tables of the online copy are not there as they were left: %s, %s; roll back and start again", s.r.Shadow, s.r.Old)
	}
	return s.it.setState(ctx, s.run, s.db, itemAltered)
}

// hasCome reports whether the names have been changed all the same, which is what
// a try failed for: one that was lost on its way, of this attempt or of one before,
// may still have come through. Who was superseded is not to go on.
func (s *shadow) hasCome(ctx context.Context, cause error) bool {
	switch kind.Classify(cause).Class {
	case task.Superseded, task.Undone:
		return false
	}
	stand, err := s.db.Stand(ctx, s.r)
	return err == nil && stand == engine.StandSwapped
}

// prepareSwap looks whether everything is as it was left, and makes what will
// note changes for the way back.
func (s *shadow) prepareSwap(ctx context.Context) error {
	if err := unchanged(ctx, s.db, s.it); err != nil {
		return err
	}
	if err := s.db.VerifyCapture(ctx, s.r.Capture, s.r.Table.Name); err != nil {
		return err
	}
	if s.r.Reverse == nil || !keeps(s.run.Spec) {
		return nil
	}
	return s.noteChanges(ctx, task.Cutover, s.r.Back)
}

// swapPatiently tries the swap until it has had its lock.
func (s *shadow) swapPatiently(ctx context.Context, lease *ledger.Lease) error {
	if err := stands(ctx, s.run); err != nil {
		return err
	}
	began := time.Now()
	l := s.lock(task.Cutover, "cut-over", append([]engine.Name{s.r.Table.Name}, s.r.Also...))
	l.window = true
	stand, err := s.db.Stand(ctx, s.r)
	if err != nil {
		return err
	}
	if stand != engine.StandSwapped { // by an attempt that did not come to say so
		if err := l.patiently(ctx, func(ctx context.Context) error { return s.trySwap(ctx, lease, l.tries) }); err != nil {
			return err
		}
	}
	p := ledger.Progress{Done: true}
	if err := lease.Advance(ctx, s.run.Ledger.DB(), p); err != nil {
		return err
	}
	lease.Committed(p)
	return s.run.Ledger.Note(ctx, task.Event{What: "cut over", Phase: task.Cutover, Table: s.it.name(), Attempt: lease.Attempt, Duration: time.Since(began),
		Detail: fmt.Sprintf("%s is the new table, the old one is %s%s", s.r.Table.Name, s.r.Old, l.story())})
}

// trySwap drains until little is left, and then tries once. Whatever it comes
// to is found out from the catalog.
func (s *shadow) trySwap(ctx context.Context, lease *ledger.Lease, try int) error {
	report := &lockReport{limit: s.share()}
	if err := s.swapOnce(ctx, lease, try, report); err != nil {
		if kind.Classify(err).Class == task.Busy || !s.hasCome(ctx, err) {
			return err
		}
	}
	return s.run.Ledger.Note(ctx, task.Event{What: "swapped", Phase: task.Cutover, Table: s.it.name(), Attempt: try, Duration: report.took(), Detail: report.String()})
}

func (s *shadow) swapOnce(ctx context.Context, lease *ledger.Lease, try int, report *lockReport) error {
	if err := s.drainTo(ctx, mostUnderLock); err != nil {
		return err
	}
	if err := s.freshen(ctx); err != nil {
		return err
	}
	session, err := s.session(ctx, s.db.Unnoted())
	if err != nil {
		return err
	}
	defer session.Destroy()
	if err := lease.Move(ctx, session.ID()); err != nil {
		return err
	}
	return s.db.Swap(ctx, session, s.oneTry(try, s.r, report, func(ctx context.Context, q engine.Querier) error {
		if err := s.run.Ledger.Steers(ctx, q); err != nil {
			return err
		}
		return lease.Advance(ctx, q, ledger.Progress{})
	}))
}

// oneTry is a try to change the names, forwards or back, for a copy r.
func (s *shadow) oneTry(try int, r *engine.Reshaping, report *lockReport, certain func(ctx context.Context, q engine.Querier) error) *engine.Swap {
	return &engine.Swap{Reshaping: s.r, Back: r != s.r, Wait: s.wait(try), Hold: s.hold(),
		Locked: func(ctx context.Context, q engine.Querier) error {
			report.since = time.Now()
			return report.within(ctx, func(ctx context.Context) error { return s.last(ctx, q, r, report) })
		},
		Certain: func(ctx context.Context, q engine.Querier) error {
			return report.within(ctx, func(ctx context.Context) error { return certain(ctx, q) })
		}}
}

// hold is how long a frozen worker keeps the application waiting at the most.
func (s *shadow) hold() time.Duration {
	return max(2*time.Second, s.run.Spec.DDL.Cutover.Timeout.Std())
}

// share is how long a try may wait for the lock, and how long it may then have
// it: together they are cutover.timeout, which nobody waits longer than.
func (s *shadow) share() time.Duration { return s.run.Spec.DDL.Cutover.Timeout.Std() / 2 }

// wait is how long a try waits for the lock.
func (s *shadow) wait(try int) time.Duration {
	return min(firstWait<<min(max(try-1, 0), 10), s.share())
}

// drainTo drains until so many changes are left at the most.
func (s *shadow) drainTo(ctx context.Context, most int64) error {
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
		switch {
		case err != nil:
			return err
		case d.Held() > 0 && try < mostSweeps:
		case p.Rows <= few, done.Entries <= few && p.Rows <= most:
			return nil
		case try >= busySweeps && p.Rows <= most:
			return nil
		case try >= mostSweeps:
			return fault.About(s.it.name(), task.Busy, "%d noted changes of %s are left, more than are drained while the application waits: it changes rows faster than they are drained", p.Rows, s.it.name())
		}
	}
}

// conclude does what follows the swap, and may be done again.
func (s *shadow) conclude(ctx context.Context) error {
	slipped, err := s.slipped(ctx)
	if err != nil {
		return err
	}
	if slipped > 0 {
		return fault.About(s.it.name(), task.Human, "%d changes of the old table %s were noted after it had been drained to the end, and are not in the new one: somebody writes to it by its own name; see %s", slipped, s.r.Old, s.r.Capture.Log)
	}
	if err := s.noteHung(ctx); err != nil {
		return err
	}
	if err := s.db.Settle(ctx, s.r, false); err != nil {
		return err
	}
	if err := compare(ctx, s.run, s.db, s.it); err != nil {
		return err
	}
	l := s.lock(task.Cutover, "the triggers of the old table", []engine.Name{s.r.Old})
	return l.patiently(ctx, s.steering(func(ctx context.Context) error { return s.db.DropCapture(ctx, s.r.Capture) }))
}

// noted reports whether changes of the old table are noted still.
func (s *shadow) noted(ctx context.Context) (bool, error) {
	_, err := s.db.Table(ctx, s.r.Capture.Log)
	if errors.Is(err, engine.ErrNoTable) {
		return false, nil
	}
	return err == nil, err
}

// slipped counts changes that were noted of the old table after the swap.
func (s *shadow) slipped(ctx context.Context) (int64, error) {
	if noted, err := s.noted(ctx); err != nil || !noted {
		return 0, err
	}
	p, err := s.db.Pending(ctx, s.r.Capture)
	return p.Rows, err
}

// cleanup gives up the way back: what is kept for it goes.
func (s *shadow) cleanup(ctx context.Context) error {
	if s.it.state != itemFinal {
		if err := s.db.Transaction(ctx, func(tx engine.Tx) error {
			if err := s.run.Ledger.SetBackupState(ctx, tx, definitionBackup, ledger.BackupRemoved); err != nil {
				return err
			}
			return s.it.setState(ctx, s.run, tx, itemFinal)
		}); err != nil {
			return err
		}
	}
	hook.At("cleanup begins")
	if err := s.drop(ctx, task.Cleanup, s.r.Back, s.r.Table.Name); err != nil {
		return err
	}
	if err := s.dropTable(ctx, task.Cleanup, s.r.Old); err != nil {
		return err
	}
	return s.run.Ledger.Release(ctx)
}

// drop removes what notes changes of a table.
func (s *shadow) drop(ctx context.Context, phase task.Phase, c *engine.Capture, on engine.Name) error {
	if c == nil {
		return nil
	}
	l := s.lock(phase, "the triggers that note changes", []engine.Name{on})
	return l.patiently(ctx, s.steering(func(ctx context.Context) error { return s.db.DropCapture(ctx, c) }))
}

// dropTable drops a table beside the one in use.
func (s *shadow) dropTable(ctx context.Context, phase task.Phase, name engine.Name) error {
	l := s.lock(phase, "to drop "+name.String(), []engine.Name{name})
	stop := s.run.KeepTouching()
	defer stop()
	return l.patiently(ctx, s.steering(func(ctx context.Context) error { return s.db.DropBeside(ctx, s.r, name) }))
}

// steering is an act of one who steers the migration still: an attempt that was
// frozen must not remove what the next migration of the table has made meanwhile,
// under the same names.
func (s *shadow) steering(act func(ctx context.Context) error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if err := s.steered(ctx); err != nil {
			return err
		}
		return act(ctx)
	}
}
