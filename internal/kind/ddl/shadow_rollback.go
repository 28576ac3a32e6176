package ddl

import (
	"context"
	"fmt"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/task"
)

// undo takes everything back, whatever has been done. Where the new table is in
// use already, the old one gets what has changed since, and its name back.
func (s *shadow) undo(ctx context.Context) error {
	if err := s.backWhereSwapped(ctx); err != nil {
		return err
	}
	if err := s.drop(ctx, task.Cleanup, s.r.Capture, s.r.Table.Name); err != nil {
		return err
	}
	// Where a session with the lock has just been ended, a RENAME may have come
	// through meanwhile. Removing the triggers has waited for it.
	if err := s.backWhereSwapped(ctx); err != nil {
		return err
	}
	if err := s.drop(ctx, task.Cleanup, s.r.Back, s.r.Shadow); err != nil {
		return err
	}
	hook.At("capture dropped")
	if err := s.dropTable(ctx, task.Cleanup, s.r.Shadow); err != nil {
		return err
	}
	s.d.forget(s.run.Ref.ID)
	return nil
}

// backWhereSwapped puts the old table in its place again where the new one has it.
func (s *shadow) backWhereSwapped(ctx context.Context) error {
	stand, err := s.db.Stand(ctx, s.r)
	if err != nil || stand != engine.StandSwapped {
		return err
	}
	return s.back(ctx)
}

// back puts the old table in its place again, with the changes made since.
func (s *shadow) back(ctx context.Context) error {
	if s.r.Reverse == nil || !keeps(s.run.Spec) {
		why := s.r.OneWay
		if why == "" {
			why = "keep_old is 0"
		}
		return fault.About(s.it.name(), task.Human, "%s has been cut over, and there is no way back: %s; `godwit retry %s` finishes it", s.it.name(), why, s.run.Ref.ID)
	}
	live := s.live()
	now, err := s.db.Table(ctx, live.Table.Name)
	if err != nil {
		return err
	}
	if columnsOf(now) != columnsOf(live.Table) {
		return fault.About(s.it.name(), task.Human, "the definition of %s has changed since the cut-over, and the old table does not have that: put it back, then roll back again", s.it.name())
	}
	if err := s.db.VerifyCapture(ctx, live.Capture, live.Table.Name); err != nil {
		return err
	}
	began := time.Now()
	l := s.lock(task.Cleanup, "the way back", append([]engine.Name{s.r.Table.Name}, s.r.Also...))
	err = l.patiently(ctx, func(ctx context.Context) error { return s.tryBack(ctx, live, l.tries) })
	if err != nil {
		return err
	}
	if err := s.db.Settle(ctx, s.r, true); err != nil {
		return err
	}
	return s.run.Ledger.Note(ctx, task.Event{What: "change taken back", Phase: task.Cleanup, Table: s.it.name(), Duration: time.Since(began),
		Detail: fmt.Sprintf("the old table is %s again, with the changes made since%s", s.r.Table.Name, l.story())})
}

// tryBack brings the old table up to date, and tries once to change the names.
func (s *shadow) tryBack(ctx context.Context, live *engine.Reshaping, try int) error {
	if err := s.follow(ctx); err != nil {
		return err
	}
	session, err := s.db.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Destroy()
	err = s.db.Swap(ctx, session, s.oneTry(try, live, &lockReport{limit: s.share()}, s.run.Ledger.Steers))
	if err != nil && kind.Classify(err).Class != task.Busy {
		if stand, looked := s.db.Stand(ctx, s.r); looked == nil && stand == engine.StandBeside {
			return nil
		}
	}
	return err
}
