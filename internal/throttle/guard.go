package throttle

import (
	"context"
	"fmt"
	"sync"
	"time"

	"godwit/internal/fault"
	"godwit/internal/spec"
	"godwit/internal/task"
)

const (
	// probeEvery is how often a guard looks.
	probeEvery = time.Second
	// probeTime limits one look.
	probeTime = 2 * time.Second
	// staleAfter is how old a reading may get before it holds.
	staleAfter = 5 * time.Second
)

// probe reads what a guard watches. The remark says more about the value: who
// it is, empty for nothing.
type probe func(ctx context.Context) (value float64, remark string, err error)

// definition is a guard as the limits ask for it.
type definition struct {
	key    string // what it is called in a spec: max_lag
	name   string // with what it watches: max_lag shop_r1
	source string // tells another question under the same name: the text of a query
	mark   watermark
	show   func(value float64) string
	rule   string // in words, where the high watermark says nothing
	stop   bool   // it ends the migration instead of holding it
	early  bool   // it holds from its low watermark on
	probe  probe
}

// guard watches one thing. What it says is decided when it is asked, by the
// reading that is known then.
type guard struct {
	end context.CancelFunc

	mu      sync.Mutex
	of      definition
	since   time.Time // it watches
	value   float64
	remark  string
	at      time.Time // of the last reading
	failed  error     // of the last look, nil when it read something
	holding bool      // beyond its watermarks
}

// newGuard starts a guard; end stops it.
func newGuard(d definition) *guard {
	ctx, end := context.WithCancel(context.Background())
	g := &guard{of: d, end: end, since: time.Now()}
	go g.watch(ctx, d.probe)
	return g
}

// watch looks once a second. A look that does not return, whatever its limit
// of time, keeps only this guard: its reading gets stale.
func (g *guard) watch(ctx context.Context, look probe) {
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		limited, cancel := context.WithTimeout(ctx, probeTime)
		value, remark, err := look(limited)
		cancel()
		if ctx.Err() != nil {
			return
		}
		g.observe(time.Now(), value, remark, err)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// change gives the guard another limit.
func (g *guard) change(d definition) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.of = d
	g.decide()
}

// observe takes over what a look has found.
func (g *guard) observe(now time.Time, value float64, remark string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed = err; err != nil {
		return
	}
	g.value, g.remark, g.at = value, remark, now
	g.decide()
}

func (g *guard) decide() {
	switch {
	case g.at.IsZero():
	case g.of.mark.passed(g.value), g.of.early && !g.of.mark.calm(g.value):
		g.holding = true
	case g.of.mark.calm(g.value):
		g.holding = false
	}
}

// unread is the reason of a guard that has not looked for the first time yet.
const unread = "its first reading is not there yet"

// says tells why the guard holds, empty when it does not, and the fault when
// it ends the migration. Without a fresh reading it holds: it fails closed.
func (g *guard) says(now time.Time) (reason string, stop error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	known := g.at
	if known.IsZero() {
		known = g.since
	}
	switch age := now.Sub(known); {
	case age > staleAfter && g.failed != nil:
		return fmt.Sprintf("%s: no answer for %s: %v", g.of.name, age.Round(time.Second), g.failed), nil
	case age > staleAfter:
		return fmt.Sprintf("%s: no answer for %s", g.of.name, age.Round(time.Second)), nil
	case g.failed != nil:
		return fmt.Sprintf("%s: %v", g.of.name, g.failed), nil
	case g.at.IsZero():
		return unread, nil
	case !g.holding:
		return "", nil
	}
	reason = g.of.name + ": " + g.reading()
	switch {
	case !g.of.mark.passed(g.value):
		return reason + ", until it is back at " + g.of.show(g.of.mark.resume()), nil
	case g.of.stop:
		return "", fault.New(task.Human, "%s, and %s: stopped with everything kept, as the throttle says; make room or raise the limit, then retry",
			reason, g.of.limit())
	}
	return reason + ", and " + g.of.limit(), nil
}

// limit is the high watermark in words.
func (d *definition) limit() string {
	if d.rule != "" {
		return d.rule
	}
	return "the limit is " + d.show(d.mark.high)
}

func (g *guard) reading() string {
	text := g.of.show(g.value)
	if g.remark != "" {
		text += " (" + g.remark + ")"
	}
	return text
}

// status is the guard as it is shown.
func (g *guard) status(now time.Time) task.GuardStatus {
	reason, stop := g.says(now)
	g.mu.Lock()
	defer g.mu.Unlock()
	s := task.GuardStatus{Guard: g.of.name, Limit: g.of.show(g.of.mark.high), Holding: reason != "" || stop != nil}
	switch {
	case g.failed != nil:
		s.Reading = g.failed.Error()
	case !g.at.IsZero():
		s.Reading = g.reading()
	}
	s.Reading = clip(s.Reading, mostShown)
	return s
}

// mostShown is how much of a text goes into a heartbeat, in bytes.
const mostShown = 120

// reaction reports whether a guard is to end the migration.
func reaction(then spec.Reaction) bool { return then == spec.ThenStop }
