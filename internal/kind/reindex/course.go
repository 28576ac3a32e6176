package reindex

import (
	"time"

	"godwit/internal/engine"
)

// course is the course of one build: how long its phases have taken, from which
// follows how long the others will. What the phases take as a rule is only where
// it begins.
type course struct {
	now     stretch
	spent   float64 // seconds, in the phases before
	passed  float64 // parts of the whole that those are as a rule
	workers int
	last    float64 // that was told
	// pace is in parts of the whole per second, until the phase is over by what it
	// is expected to take; 0 where it cannot be told.
	pace, until float64
	usual       map[string]share
	passes      []pass // the phases that are over
}

// stretch is the phase that a build is in.
type stretch struct {
	phase string
	part  float64 // of the whole, that the phase is as a rule
	since time.Time
	// first is how much of it was done when it was seen first, and last how much was
	// done at a time: the server tells of some phases in few steps.
	first, last float64
	at          time.Time
}

// pass is a phase that is over.
type pass struct {
	phase   string
	seconds float64
}

const (
	// enough is the part of a phase that has to be done before its pace is believed.
	enough = 0.05
	// brief is the part of a whole that a phase is taken for that the last build was
	// too quick in.
	brief = 0.01
)

// told takes over what the server tells, and returns how much of the whole is
// done, 0 to 1; negative while it cannot be told. It is an estimate, which may
// also turn out to have been too high.
func (c *course) told(now time.Time, p engine.IndexProgress) float64 {
	c.pace = 0
	if c.usual != nil && p.Part > 0 {
		s, known := c.usual[p.Phase]
		if !known { // it was over before anybody had seen it
			s = share{before: min(1, c.passed), part: brief}
		}
		p.Before, p.Part = s.before, s.part
	}
	if p.Phase == "" || p.Part == 0 && p.Before == 0 {
		c.pass(now, "", 0)
		return -1
	}
	if p.Phase != c.now.phase {
		c.pass(now, p.Phase, p.Part)
		c.now.first, c.now.last = p.Within, p.Within
	}
	c.workers, c.now.part = max(c.workers, p.Workers), p.Part
	if p.Part == 0 { // it waits, and how long nobody knows
		c.now.since = now
		c.last = min(1, max(c.last, c.passed))
		return c.last
	}
	if p.Within > c.now.last {
		c.now.last, c.now.at = p.Within, now
	}
	taken := now.Sub(c.now.since).Seconds()
	whole, known := c.whole(now, taken, p.Part)
	if !known {
		c.last = min(1, max(c.last, p.Before+p.Part*max(0, p.Within)))
		return c.last
	}
	rest := (c.spent + whole) / (c.passed + p.Part) * max(0, 1-p.Before-p.Part)
	all := c.spent + whole + rest
	c.last, c.pace, c.until = min(1, (c.spent+taken)/all), 1/all, min(1, (c.spent+whole)/all)
	return c.last
}

// whole is how long the present phase takes in all, in seconds: by its own pace,
// or by that of the phases before.
func (c *course) whole(now time.Time, taken, part float64) (seconds float64, known bool) {
	s := &c.now
	if done := s.last - max(0, s.first); s.last >= 0 && done > enough || c.passed == 0 && done > 0 {
		rest := (1 - s.last) / done * s.at.Sub(s.since).Seconds()
		return taken + max(0, rest-now.Sub(s.at).Seconds()), true
	}
	if c.passed > 0 {
		return max(taken, c.spent/c.passed*part), true
	}
	return 0, false
}

// pass ends a phase and begins the next.
func (c *course) pass(now time.Time, next string, part float64) {
	if seconds := now.Sub(c.now.since).Seconds(); c.now.phase != "" && c.now.part > 0 {
		c.spent += seconds
		c.passed += c.now.part
		c.passes = append(c.passes, pass{c.now.phase, seconds})
	}
	c.now = stretch{phase: next, part: part, since: now, at: now}
}
