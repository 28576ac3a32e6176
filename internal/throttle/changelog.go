package throttle

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"godwit/internal/fault"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// changelogKey is what the guard of noted changes is called in a spec.
const changelogKey = "max_changelog"

// changelog is the guard of noted changes. It has no probe: those who apply the
// changes tell how many are left, and it is they who are held, by applying more.
type changelog struct {
	pending int64
	applied int64     // by the last draining
	at      time.Time // of the last reading; zero for none
	holding bool
}

// worthwhile is the part of the limit that one draining has to apply for the
// next one to be waited for. Where it is less, what is left is of rows that the
// copy has yet to come to: it must go on, or that would never be less.
const worthwhile = 0.1

// decide takes over a reading, by the limit that is in force.
func (c *changelog) decide(limit spec.ChangelogLimit, low float64) {
	mark := watermark{high: float64(limit.Rows), low: low}
	switch {
	case limit.Rows == 0 || c.at.IsZero() || mark.calm(float64(c.pending)) || float64(c.applied) < worthwhile*mark.high:
		c.holding = false
	case mark.passed(float64(c.pending)):
		c.holding = true
	}
}

func (c *changelog) reason(limit spec.ChangelogLimit) string {
	reading := fmt.Sprintf("%s: %s", changelogKey, noted(c.pending))
	if c.pending > limit.Rows {
		return reading + ", and the limit is " + humanize.Comma(limit.Rows)
	}
	return reading + ", until most of them are applied"
}

func noted(changes int64) string { return humanize.Comma(changes) + " noted changes are pending" }

// status is the guard as it is shown; nil as long as nobody has told it anything.
func (c *changelog) status(limit spec.ChangelogLimit) *task.GuardStatus {
	if c.at.IsZero() || limit.Rows == 0 {
		return nil
	}
	return &task.GuardStatus{Guard: changelogKey, Reading: noted(c.pending), Limit: humanize.Comma(limit.Rows), Holding: c.holding}
}

// Drains says how this shard applies noted changes, which is what Wait does in
// between for as long as anything holds; full says that it is max_changelog
// that does. A share that does not drain is not held by that.
func (s *Share) Drains(drain func(ctx context.Context, full bool) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drain = drain
}

// Noted tells how many noted changes are pending after a draining, and how many
// it has applied. It is a fault of class human when max_changelog says that
// these are too many to go on.
func (s *Share) Noted(pending, applied int64) error {
	g := s.governor
	g.mu.Lock()
	defer g.mu.Unlock()
	limit := g.limits.Changelog()
	g.changelog.pending, g.changelog.applied, g.changelog.at = pending, applied, time.Now()
	g.changelog.decide(limit, g.limits.Low())
	if limit.Then != spec.ThenStop || limit.Rows == 0 || pending <= limit.Rows {
		return nil
	}
	return fault.New(task.Human, "%s: stopped with everything kept, as the throttle says; raise the limit, or retry when fewer rows are changed: a retry begins with applying them",
		g.changelog.reason(limit))
}

// fullness is what holds a share that drains while too many changes are
// pending; nil when nothing does.
func (g *Governor) fullness() *hold {
	g.mu.Lock()
	defer g.mu.Unlock()
	limit := g.limits.Changelog()
	if g.changelog.decide(limit, g.limits.Low()); !g.changelog.holding {
		return nil
	}
	return &hold{changelogKey, g.changelog.reason(limit)}
}

// meanwhile drains, where this share can, as long as something holds.
func (s *Share) meanwhile(ctx context.Context, held *hold) error {
	s.mu.Lock()
	drain := s.drain
	s.mu.Unlock()
	if drain == nil {
		return nil
	}
	return drain(ctx, held.key == changelogKey || s.governor.fullness() != nil)
}

// full is the hold of a share that drains by max_changelog.
func (s *Share) full() *hold {
	s.mu.Lock()
	drains := s.drain != nil
	s.mu.Unlock()
	if !drains {
		return nil
	}
	return s.governor.fullness()
}
