package reindex

import (
	"sync"
	"time"
)

// share is what a phase is of a whole build: what is before it, and itself.
type share struct{ before, part float64 }

const (
	// teaches is how long a build has to take to teach anything.
	teaches = 3 * time.Second
	// nearEnd is how far a build has to have come by its course, to have come to its
	// end.
	nearEnd = 0.9
	// alike is how many times as many rows another build may have to be like it.
	alike = 4
)

// memory is how the time of a build was shared out among its phases, the last one
// on each server: the next one will be more like it than like any that was
// measured elsewhere. It goes with the worker.
type memory struct {
	mu    sync.Mutex
	known map[string]lesson
}

type lesson struct {
	rows   int64
	shares map[string]share
}

// of are the shares of a build of so many rows; nil where nothing is known.
func (m *memory) of(server string, rows int64) map[string]share {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.known[server]
	if rows > alike*l.rows || l.rows > alike*rows {
		return nil
	}
	return l.shares
}

func (m *memory) learn(server string, rows int64, shares map[string]share) {
	if shares == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[string]lesson{}
	}
	m.known[server] = lesson{rows, shares}
}

// shares tells how the time of a build that is over was shared out; nil for one
// that teaches nothing: it was too short, or did not come to its end.
func (c *course) shares(now time.Time) map[string]share {
	c.pass(now, "", 0)
	if c.last < nearEnd || c.spent < teaches.Seconds() {
		return nil
	}
	shares, before := map[string]share{}, 0.0
	for _, p := range c.passes {
		if _, again := shares[p.phase]; again { // what was told of was more than this build
			return nil
		}
		part := p.seconds / c.spent
		shares[p.phase] = share{before: before, part: part}
		before += part
	}
	return shares
}
