package throttle

import (
	"context"
	"sync"
	"time"
)

const (
	// reportEvery is how much time held is lost at the most when a worker is
	// killed.
	reportEvery = 10 * time.Second
	// reportTime limits one report.
	reportTime = 5 * time.Second
)

// account adds up how long what has held the work back: time in which at least
// one share waited for it. It is reported in small steps.
type account struct {
	mu   sync.Mutex
	open map[string]*span
}

// span is what has not been reported yet of one guard.
type span struct {
	detail  string
	waiting int       // shares
	since   time.Time // the first of them began, or the last report was made
	pending time.Duration
	first   time.Time // the beginning of what is pending
}

func newAccount() *account { return &account{open: map[string]*span{}} }

// begin says that a share waits for a guard.
func (a *account) begin(now time.Time, key, detail string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.open[key]
	if s == nil {
		s = &span{first: now}
		a.open[key] = s
	}
	if s.detail = detail; s.waiting == 0 {
		s.since = now
	}
	s.waiting++
}

// end says that a share waits no more.
func (a *account) end(now time.Time, key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.open[key]; s != nil {
		if s.waiting--; s.waiting == 0 {
			s.pending += now.Sub(s.since)
		}
	}
}

// due takes out what is to be reported: what has ended, and what has gone on
// for long enough. A rate is waited for again and again, and is reported like
// what goes on.
func (a *account) due(now time.Time, all bool) map[string]span {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := map[string]span{}
	for key, s := range a.open {
		if s.waiting > 0 {
			s.pending, s.since = s.pending+now.Sub(s.since), now
		}
		ended := s.waiting == 0 && !rate(key)
		if !all && !ended && now.Sub(s.first) < reportEvery {
			continue
		}
		found[key] = *s
		if s.waiting == 0 {
			delete(a.open, key)
			continue
		}
		s.pending, s.first = 0, now
	}
	return found
}

// again puts back what could not be reported.
func (a *account) again(key string, lost span) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.open[key]
	if s == nil {
		s = &span{detail: lost.detail}
		a.open[key] = s
	}
	s.pending, s.first = s.pending+lost.pending, lost.first
}

// The keys of what holds without being a guard.
const (
	rowsKey  = "rows_per_second"
	bytesKey = "bytes_per_second"
	holdKey  = "hold"
	noKey    = "settings"
)

func rate(key string) bool { return key == rowsKey || key == bytesKey }

// report writes what is due to the ledger.
func (g *Governor) report(ctx context.Context, all bool) {
	now := time.Now()
	due := g.account.due(now, all)
	if len(due) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	for key, s := range due {
		if err := g.config.Ledger.Held(ctx, key, s.detail, s.pending, now.Sub(s.first)); err != nil {
			g.account.again(key, s)
			continue
		}
		if g.config.Count != nil {
			g.config.Count(key, s.pending)
		}
	}
	g.readHolds(ctx)
}

// readHolds keeps what the ledger says of all workers together. Until it can
// be read again, the last answer is shown.
func (g *Governor) readHolds(ctx context.Context) {
	holds, err := g.config.Ledger.Holds(ctx)
	if err != nil {
		return
	}
	for i := range holds {
		holds[i].Detail = clip(holds[i].Detail, mostShown)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds = holds
}
