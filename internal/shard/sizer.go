package shard

import (
	"slices"
	"sync"
	"time"
)

// Limits bounds the chunks that a Sizer proposes.
type Limits struct {
	Target   time.Duration // how long a chunk should take
	MaxBytes int64         // how many bytes it may have, about
	Start    int64         // rows of the first chunk
	Min, Max int64         // rows of any chunk
}

// DefaultLimits are those of a chunk that is read from one database and
// loaded into another.
var DefaultLimits = Limits{Target: 700 * time.Millisecond, MaxBytes: 16 << 20, Start: 10_000, Min: 1, Max: 1_000_000}

// For makes the first chunk fit a table of so many rows and bytes.
func (l Limits) For(rows, bytes int64) Limits {
	if rows > 0 && bytes > 0 {
		l.Start = max(l.Min, min(l.Start, l.MaxBytes*rows/bytes))
	}
	return l
}

const (
	window    = 10  // chunks that are remembered
	growth    = 1.5 // a chunk is at most this many times its predecessor
	alarmOver = 5   // times over the target, at which the size falls to a tenth
	forget    = 50  // commits, about, after which a quick one says little of the disk
)

// Sizer adapts the size of chunks to what the last ones took: the 90th
// percentile of the last ten, growing by half at the most, falling to a tenth
// when one takes five times its target. It may be used by several goroutines.
type Sizer struct {
	limits Limits
	mu     sync.Mutex
	rows   int64
	costs  []cost
	calm   int64 // rows at which commits took no longer than they may; 0 for no limit
	// quickest is what the quickest commit of late took; long tells whether the
	// last one was one of the others.
	quickest time.Duration
	long     bool
}

// cost is what one row of a chunk took.
type cost struct{ seconds, bytes float64 }

// NewSizer returns a Sizer that has seen no chunk yet.
func NewSizer(limits Limits) *Sizer { return &Sizer{limits: limits, rows: limits.Start} }

// Rows returns how many rows the next chunk should have.
func (s *Sizer) Rows() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calm > 0 {
		return min(s.rows, s.calm)
	}
	return s.rows
}

// Done tells what a chunk took.
func (s *Sizer) Done(rows, bytes int64, took time.Duration) {
	if rows <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if took > alarmOver*s.limits.Target {
		s.set(rows / 10)
		s.costs = s.costs[:0]
		return
	}
	if len(s.costs) == window {
		s.costs = slices.Delete(s.costs, 0, 1)
	}
	s.costs = append(s.costs, cost{took.Seconds() / float64(rows), float64(bytes) / float64(rows)})
	fit := s.limits.Target.Seconds() / max(s.p90(func(c cost) float64 { return c.seconds }), 1e-9)
	if perRow := s.p90(func(c cost) float64 { return c.bytes }); perRow > 0 {
		fit = min(fit, float64(s.limits.MaxBytes)/perRow)
	}
	s.set(int64(min(fit, growth*float64(max(s.rows, 1)))))
}

// Commit tells how long the commit of the last chunk took, and how long one may
// take, 0 for as long as it likes. What others feel of a big chunk is its
// commit: one that took too long halves what may follow, and each that did not
// lets it grow by a tenth again.
func (s *Sizer) Commit(rows int64, took, most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commit(rows, took, most)
}

// CommitGently is Commit for a limit that nobody has set: a commit may take as
// long as the quickest of late, which is what the disk needs for any, and more
// on top of it. One that takes longer counts when the one before it did, too:
// something else may have been in its way.
func (s *Sizer) CommitGently(rows int64, took, more time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quickest += s.quickest / forget
	if s.quickest == 0 || took < s.quickest {
		s.quickest = took
	}
	most := s.quickest + more
	long := took > most
	if !long || s.long {
		s.commit(rows, took, most)
	}
	s.long = long
}

func (s *Sizer) commit(rows int64, took, most time.Duration) {
	switch {
	case most <= 0:
		s.calm = 0
	case took > most:
		s.calm = max(s.limits.Min, 1, min(rows, s.rows)/2)
	case s.calm > 0 && rows >= s.calm*9/10:
		s.calm += max(1, s.calm/10)
	}
	if s.calm >= s.limits.Max {
		s.calm = 0
	}
}

// Halve is for a chunk that ran into a timeout or a deadlock.
func (s *Sizer) Halve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(s.rows / 2)
}

func (s *Sizer) set(rows int64) { s.rows = min(max(rows, s.limits.Min, 1), s.limits.Max) }

func (s *Sizer) p90(of func(cost) float64) float64 {
	values := make([]float64, len(s.costs))
	for i, c := range s.costs {
		values[i] = of(c)
	}
	slices.Sort(values)
	return values[(len(values)*9+9)/10-1]
}
