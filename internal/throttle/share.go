package throttle

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// recently is how long a wait for a rate is told after it has ended: a chunk
// that flows at its limit waits again in a moment.
const recently = 3 * time.Second

// Share is one call's part of a Governor. It may be used by several goroutines,
// of which one at a time waits.
type Share struct {
	governor *Governor
	stop     <-chan struct{}
	shard    int
	once     sync.Once

	mu    sync.Mutex
	held  hold      // what holds; no key for nothing
	since time.Time // it holds
	until time.Time // when the wait for a rate ended; zero while it goes on
	rows  float64   // that were told of, and their bytes: how wide a row is
	bytes float64
	drain func(ctx context.Context, full bool) error // nil when it has no part in that
}

// Close gives the part back to the others.
func (s *Share) Close() {
	s.once.Do(func() {
		g := s.governor
		g.mu.Lock()
		defer g.mu.Unlock()
		if s.shard > 0 {
			g.shares--
		}
		g.divide()
	})
}

// Chunk cuts a number of rows down to what the limits let this shard do in
// about a second, so that the work flows instead of coming in gushes.
func (s *Share) Chunk(rows int64) int64 {
	if part := s.governor.part(s.governor.rows); part > 0 {
		rows = min(rows, int64(part))
	}
	s.mu.Lock()
	wide := s.bytes / max(s.rows, 1)
	s.mu.Unlock()
	if part := s.governor.part(s.governor.bytes); part > 0 && wide > 0 {
		rows = min(rows, int64(part/wide))
	}
	return max(1, rows)
}

// count keeps how wide rows are.
func (s *Share) count(rows, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows += float64(rows)
	s.bytes += float64(bytes)
}

// Wait blocks before a chunk: while a guard holds, and until so many rows and
// bytes may pass; 0 for what is not known yet (see Owe). No transaction, lock
// or snapshot may be open.
func (s *Share) Wait(ctx context.Context, rows, bytes int64) error {
	s.governor.begin()
	for {
		if err := s.guards(ctx); err != nil {
			return err
		}
		waited, err := s.pace(ctx, rows, bytes)
		if err != nil || waited < recently {
			return err
		}
		rows, bytes = 0, 0 // that was long: look at the guards again
	}
}

// Pace blocks until so many rows and bytes may pass, whatever the guards say:
// for what is read in one piece and cannot stop in its middle.
func (s *Share) Pace(ctx context.Context, rows, bytes int64) error {
	s.governor.begin()
	_, err := s.pace(ctx, rows, bytes)
	return err
}

// Owe tells of rows and bytes that were not waited for: those who come later
// wait for them.
func (s *Share) Owe(rows, bytes int64) {
	s.count(rows, bytes)
	s.governor.rows.Ask(float64(rows))
	s.governor.bytes.Ask(float64(bytes))
}

// Committed tells how long a commit took: a small write of our own, by which
// max_commit_latency goes.
func (s *Share) Committed(took time.Duration) { s.governor.commits.add(time.Now(), took) }

// CommitLimit is max_commit_latency, for who makes chunks smaller by it
// (shard.Sizer.Commit); 0 for none.
func (s *Share) CommitLimit() time.Duration {
	g := s.governor
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.limits.MaxCommitLatency.Std()
}

// Holding says why the work is held at the moment; empty when it is not.
func (s *Share) Holding() string {
	reason, _ := s.HoldingSince()
	return reason
}

// HoldingSince is Holding, and when it began.
func (s *Share) HoldingSince() (reason string, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held.key == "" || !s.until.IsZero() && time.Since(s.until) > recently {
		return "", time.Time{}
	}
	return s.held.reason, s.since
}

// Guards are the migration's guards with what they read last.
func (s *Share) Guards() []task.GuardStatus { return s.governor.statuses() }

// Held tells how long what has held the migration back, in all workers.
func (s *Share) Held() []task.HeldTime {
	g := s.governor
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.holds)
}

// guards waits while one of them holds.
func (s *Share) guards(ctx context.Context) error {
	var last *hold
	defer func() { s.change(last, nil) }()
	for {
		if err := s.asked(ctx); err != nil {
			return err
		}
		held, err := s.governor.verdict()
		if err != nil {
			return err
		}
		if held == nil {
			held = s.full()
		}
		s.change(last, held)
		if last = held; held == nil {
			return nil
		}
		if err := s.meanwhile(ctx, held); err != nil {
			return err
		}
		if held.key == changelogKey && s.full() == nil {
			continue // it has just been drained
		}
		if err := s.sleep(ctx, step); err != nil {
			return err
		}
	}
}

// change takes a wait from one reason to the next; nil for none.
func (s *Share) change(from, to *hold) {
	now, account := time.Now(), s.governor.account
	if from != nil && from.key != "" && (to == nil || to.key != from.key) {
		account.end(now, from.key)
	}
	if to != nil && to.key != "" && (from == nil || to.key != from.key) {
		account.begin(now, to.key, to.reason)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case to == nil:
		s.held = hold{}
	case s.held.key != to.key || !s.until.IsZero() && now.Sub(s.until) > recently:
		s.since = now
		fallthrough
	default:
		s.held, s.until = *to, time.Time{}
	}
}

// pace waits for the rates.
func (s *Share) pace(ctx context.Context, rows, bytes int64) (waited time.Duration, err error) {
	g, began := s.governor, time.Now()
	s.count(rows, bytes)
	rowsPlace, bytesPlace := g.rows.Ask(float64(rows)), g.bytes.Ask(float64(bytes))
	var last *hold
	defer func() { s.paced(last) }()
	for {
		byRows, byBytes := g.rows.Left(rowsPlace), g.bytes.Left(bytesPlace)
		left := max(byRows, byBytes)
		if left <= 0 {
			return time.Since(began), s.asked(ctx)
		}
		held := &hold{rowsKey, fmt.Sprintf("rows_per_second: this shard's part is %.0f", g.part(g.rows))}
		if byBytes > byRows {
			held = &hold{bytesKey, fmt.Sprintf("bytes_per_second: this shard's part is %s", humanize.IBytes(uint64(g.part(g.bytes))))}
		}
		s.change(last, held)
		last = held
		if err := s.sleep(ctx, left); err != nil {
			return time.Since(began), err
		}
	}
}

// paced ends a wait for a rate, whose reason is told for a while yet.
func (s *Share) paced(last *hold) {
	if last == nil {
		return
	}
	now := time.Now()
	s.governor.account.end(now, last.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = now
}

// asked tells whether the call is to end.
func (s *Share) asked(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.stop:
		return fault.New(task.Stopping, "stopped while it waited for its turn")
	default:
		return nil
	}
}

// sleep waits for a while, no longer than a step.
func (s *Share) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(min(d, step))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-s.stop:
	case <-timer.C:
	}
	return s.asked(ctx)
}
