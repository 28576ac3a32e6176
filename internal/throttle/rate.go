package throttle

import (
	"sync"
	"time"
)

// step is the longest that a wait goes without looking around: at a limit that
// was changed, at a stop that was asked for.
const step = 250 * time.Millisecond

// Rate limits how many units per second pass. The limit can be changed while it
// is used: those who wait go by the new one at once. Nothing is saved up: what
// was not used in the past lets nothing through faster later.
type Rate struct {
	mu     sync.Mutex
	limit  float64 // units per second, 0 for none
	asked  float64 // units that were asked for, ever
	passed float64 // units of them that have passed
	at     time.Time
}

// NewRate returns a Rate of so many units per second; 0 for no limit.
func NewRate(limit float64) *Rate { return &Rate{limit: limit, at: time.Now()} }

// Set changes the limit, in units per second; 0 for no limit.
func (r *Rate) Set(limit float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advance()
	r.limit = max(limit, 0)
}

// Limit is the limit in force, 0 for none.
func (r *Rate) Limit() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limit
}

// advance lets through what the time since it was called last is worth.
func (r *Rate) advance() {
	now := time.Now()
	r.passed = min(r.asked, r.passed+now.Sub(r.at).Seconds()*r.limit)
	if r.limit <= 0 {
		r.passed = r.asked
	}
	r.at = now
}

// Ask takes a place in the queue for so many units. They have passed when Left
// of the place is 0. One who does not wait for it leaves a debt, which those
// who ask later wait for.
func (r *Rate) Ask(units float64) (place float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advance()
	r.asked += units
	return r.asked
}

// Left is how long a place has to wait yet, at the limit in force.
func (r *Rate) Left(place float64) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advance()
	if r.passed >= place || r.limit <= 0 {
		return 0
	}
	return time.Duration((place - r.passed) / r.limit * float64(time.Second))
}
