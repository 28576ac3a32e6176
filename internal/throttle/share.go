package throttle

import (
	"context"
	"fmt"
	"sync"
	"time"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// recently is how long a wait for a rate is told after it has ended: a chunk
// that flows at its limit waits again in a moment.
const recently = 3 * time.Second

// Share is one call's part of a Governor. It may be used by several goroutines.
type Share struct {
	governor *Governor
	stop     <-chan struct{}
	shard    int
	once     sync.Once

	mu     sync.Mutex
	reason string    // of the guard that holds, or the rate that is waited for
	until  time.Time // when the wait for a rate ended; zero while it goes on
	rows   float64   // that were told of, and their bytes: how wide a row is
	bytes  float64
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

// Chunk cuts a number of rows down to what the limit lets this shard do in
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
	s.governor.start.Do(func() { go s.governor.watch() })
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

// Committed tells how long a commit took.
func (s *Share) Committed(took time.Duration) {}

// Holding says why the work is held at the moment; empty when it is not.
func (s *Share) Holding() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.until.IsZero() && time.Since(s.until) > recently {
		return ""
	}
	return s.reason
}

// guards waits while one of them holds.
func (s *Share) guards(ctx context.Context) error {
	for {
		if err := s.asked(ctx); err != nil {
			return err
		}
		reason, err := s.governor.verdict()
		if err != nil {
			return err
		}
		if reason == "" {
			s.say("", time.Time{})
			return nil
		}
		s.say(reason, time.Time{})
		if err := s.sleep(ctx, step); err != nil {
			return err
		}
	}
}

// pace waits for the rates.
func (s *Share) pace(ctx context.Context, rows, bytes int64) (waited time.Duration, err error) {
	g, began := s.governor, time.Now()
	s.count(rows, bytes)
	rowsPlace, bytesPlace := g.rows.Ask(float64(rows)), g.bytes.Ask(float64(bytes))
	for {
		byRows, byBytes := g.rows.Left(rowsPlace), g.bytes.Left(bytesPlace)
		left := max(byRows, byBytes)
		if left <= 0 {
			s.waited()
			return time.Since(began), s.asked(ctx)
		}
		if byRows >= byBytes {
			s.say(fmt.Sprintf("rows_per_second: this shard's part is %.0f", g.part(g.rows)), time.Time{})
		} else {
			s.say(fmt.Sprintf("bytes_per_second: this shard's part is %.0f", g.part(g.bytes)), time.Time{})
		}
		if err := s.sleep(ctx, left); err != nil {
			return time.Since(began), err
		}
	}
}

// say keeps the reason for those who ask.
func (s *Share) say(reason string, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reason, s.until = reason, until
}

// waited keeps the reason of a wait for a rate for a while.
func (s *Share) waited() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != "" && s.until.IsZero() {
		s.until = time.Now()
	}
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
