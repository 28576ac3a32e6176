package reindex

import (
	"time"

	"godwit/internal/engine"
)

// course is the course of one build: how long its phases have taken, from which
// follows how long the others will. What the phases take as a rule is only where
// it begins.
type course struct {
	phase   string
	since   time.Time // the phase began
	part    float64   // of the whole, that the phase is as a rule
	spent   float64   // seconds, in the phases before
	passed  float64   // parts of the whole that those are as a rule
	workers int
	last    float64 // that was told; it does not go back
}

// told takes over what the server tells, and returns how much of the whole is
// done, 0 to 1; negative while it cannot be told.
func (c *course) told(now time.Time, p engine.IndexProgress) float64 {
	if p.Phase == "" || p.Part == 0 && p.Before == 0 {
		c.pass(now, "", 0)
		return -1
	}
	if p.Phase != c.phase {
		c.pass(now, p.Phase, p.Part)
	}
	c.workers, c.part = max(c.workers, p.Workers), p.Part
	if p.Part == 0 { // it waits, and how long nobody knows
		c.since = now
		c.last = max(c.last, p.Before)
		return c.last
	}
	taken := now.Sub(c.since).Seconds()
	whole := taken // of this phase
	switch {
	case p.Within > 0.05:
		whole = taken / p.Within
	case c.passed > 0:
		whole = max(taken, c.spent/c.passed*p.Part)
	case p.Within >= 0:
		c.last = max(c.last, p.Part*p.Within)
		return c.last
	}
	rest := (c.spent + whole) / (c.passed + p.Part) * max(0, 1-p.Before-p.Part)
	if all := c.spent + whole + rest; all > 0 {
		c.last = max(c.last, min(1, (c.spent+min(taken, whole))/all))
	}
	return c.last
}

// pass ends a phase and begins the next.
func (c *course) pass(now time.Time, next string, part float64) {
	if c.phase != "" && c.part > 0 {
		c.spent += now.Sub(c.since).Seconds()
		c.passed += c.part
	}
	c.phase, c.since, c.part = next, now, part
}
