package throttle

import (
	"context"
	"fmt"
	"sync"
	"time"

	"godwit/internal/connection"
	"godwit/internal/fault"
	"godwit/internal/ledger"
	"godwit/internal/spec"
	"godwit/internal/task"
)

const (
	// settingsAge is how old the operator's settings may get.
	settingsAge = time.Second
	// settingsTime limits one reading of them.
	settingsTime = 2 * time.Second
)

// Config is what a Governor needs to know of its migration.
type Config struct {
	Spec    *spec.Spec
	Written string // the connection of the database that is written
	Ledger  *ledger.Ledger
	// Watch is the worker's; without it the governor has one of its own, over
	// Connections.
	Watch       *Watch
	Connections *connection.Registry
	// Count is told of time held, for metrics; nil for nobody.
	Count func(guard string, held time.Duration)
}

// Governor watches one migration's guards in one worker.
type Governor struct {
	config  Config
	rows    *Rate
	bytes   *Rate
	account *account
	commits latency
	ctx     context.Context
	end     context.CancelFunc
	start   sync.Once
	ended   chan struct{} // when it has reported for the last time

	mu        sync.Mutex
	spec      spec.Throttle
	limits    spec.Throttle // the spec's, with what the operator has changed
	phase     task.Phase
	running   int // shards at work in all workers
	shares    int // of shards, in this one
	read      time.Time
	failed    error    // why the settings could not be read at the last try
	order     []string // of the guards
	guards    map[string]*guard
	holds     []task.HeldTime
	changelog changelog
	beaten    bool // the row of the small writes is there
}

// New returns a Governor, which looks at nothing until a Share of it waits.
// Close ends it.
func New(c Config) *Governor {
	if c.Watch == nil {
		c.Watch = NewWatch(c.Connections)
	}
	g := &Governor{config: c, rows: NewRate(0), bytes: NewRate(0), account: newAccount(), ended: make(chan struct{}),
		spec: c.Spec.Throttle, limits: c.Spec.Throttle, guards: map[string]*guard{}}
	g.ctx, g.end = context.WithCancel(context.Background())
	return g
}

// Follow goes by a spec from now on: a migration that is continued may have
// another throttle.
func (g *Governor) Follow(s *spec.Spec) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.spec = s.Throttle
}

// Close ends the guards, and reports the last of the time held.
func (g *Governor) Close() {
	g.end()
	g.start.Do(func() { close(g.ended) })
	<-g.ended
}

// Share returns the part of one call: of a shard, or, with shard 0, of a
// phase. Stop is closed when the call is to end. The Share is to be closed.
func (g *Governor) Share(ctx context.Context, phase task.Phase, shard int, stop <-chan struct{}) (*Share, error) {
	s := &Share{governor: g, stop: stop, shard: shard}
	g.mu.Lock()
	g.phase = phase
	if shard > 0 {
		g.shares++
	}
	g.mu.Unlock()
	if err := g.readSettings(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// begin starts the guards, once; nobody gets past it before they are there.
func (g *Governor) begin() {
	g.start.Do(func() {
		g.arrange()
		go g.watch()
	})
}

// watch keeps the settings fresh and reports time held.
func (g *Governor) watch() {
	defer close(g.ended)
	g.readHolds(g.ctx)
	ticker := time.NewTicker(settingsAge)
	defer ticker.Stop()
	for {
		select {
		case <-g.ctx.Done():
			g.mu.Lock()
			for _, guard := range g.guards {
				guard.end()
			}
			g.mu.Unlock()
			g.report(context.Background(), true)
			return
		case <-ticker.C:
			_ = g.readSettings(g.ctx) // kept, and told when they get stale
			g.arrange()
			g.report(g.ctx, false)
		}
	}
}

// readSettings takes over what an operator has changed.
func (g *Governor) readSettings(ctx context.Context) error {
	g.mu.Lock()
	phase := g.phase
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, settingsTime)
	defer cancel()
	var set *task.ThrottleSettings
	var running int
	err := g.config.Watch.alone(ctx, g.config.Written, func(ctx context.Context) (err error) {
		set, running, err = g.config.Ledger.Throttle(ctx, phase)
		return err
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed = err; err != nil {
		return err
	}
	limits, err := g.spec.With(set)
	if err != nil {
		return fault.New(task.Config, "the limits in the ledger cannot be read: %w", err)
	}
	g.limits, g.running, g.read = limits, running, time.Now()
	g.divide()
	return nil
}

// divide gives this worker its part of the limits, which are the migration's:
// the shards at work share them.
func (g *Governor) divide() {
	all := max(g.running, g.shares, 1)
	part := float64(max(g.shares, 1)) / float64(all)
	g.rows.Set(float64(g.limits.RowsPerSecond) * part)
	g.bytes.Set(float64(g.limits.BytesPerSecond) * part)
}

// part is what of a rate belongs to one shard.
func (g *Governor) part(r *Rate) float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return r.Limit() / float64(max(g.shares, 1))
}

// arrange starts the guards that the limits ask for and ends those that they
// do not ask for any more.
func (g *Governor) arrange() {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := question{watch: g.config.Watch, limits: g.limits, written: g.config.Written, read: Databases(g.config.Spec, g.config.Written),
		first: g.config.Ledger.Baseline, commit: g.smallWrite, early: g.config.Spec.Kind == task.Reindex}
	wanted := map[string]bool{}
	g.order = g.order[:0]
	for _, d := range q.definitions() {
		id := d.name + "\x00" + d.source
		wanted[id] = true
		g.order = append(g.order, id)
		if known := g.guards[id]; known != nil {
			known.change(d)
			continue
		}
		g.guards[id] = newGuard(d)
	}
	for id, guard := range g.guards {
		if !wanted[id] {
			guard.end()
			delete(g.guards, id)
		}
	}
}

// smallWrite measures how long a write of our own takes, next to the commits
// of the chunks, of which there are none while the work is held.
func (g *Governor) smallWrite(ctx context.Context) (float64, string, error) {
	g.mu.Lock()
	beaten := g.beaten
	g.mu.Unlock()
	if !beaten {
		if err := g.config.Ledger.StartBeat(ctx); err != nil {
			return 0, "", err
		}
		g.mu.Lock()
		g.beaten = true
		g.mu.Unlock()
	}
	began := time.Now()
	if err := g.config.Ledger.Beat(ctx); err != nil {
		return 0, "", err
	}
	g.commits.add(time.Now(), time.Since(began))
	return g.commits.median(time.Now()).Seconds(), "", nil
}

// hold is what holds the work back. That a guard has not looked yet has no key:
// it is over in a moment, and not worth telling.
type hold struct{ key, reason string }

// verdict says whether a chunk may begin: what has to be waited for, and an
// error when it never may.
func (g *Governor) verdict() (held *hold, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := fault.Of(g.failed); f != nil && !f.Class.Retryable() {
		return nil, g.failed
	}
	now := time.Now()
	var holds []hold
	begins := false
	if age := now.Sub(g.read); age > staleAfter {
		holds = append(holds, hold{noKey, fmt.Sprintf("the operator's settings cannot be read from the ledger for %s", age.Round(time.Second))})
	}
	if g.limits.Hold != "" {
		holds = append(holds, hold{holdKey, "hold: " + g.limits.Hold})
	}
	for _, id := range g.order {
		guard := g.guards[id]
		reason, stop := guard.says(now)
		switch {
		case stop != nil:
			return nil, stop
		case reason == unread:
			begins = true
		case reason != "":
			holds = append(holds, hold{guard.of.key, reason})
		}
	}
	switch {
	case len(holds) == 0 && begins:
		return &hold{}, nil
	case len(holds) == 0:
		return nil, nil
	}
	first := holds[0]
	if more := len(holds) - 1; more > 0 {
		first.reason += fmt.Sprintf(" (and %d more)", more)
	}
	return &first, nil
}

// statuses are the guards as they are shown.
func (g *Governor) statuses() []task.GuardStatus {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	list := make([]task.GuardStatus, 0, min(len(g.order), mostGuards))
	for _, id := range g.order {
		if len(list) < mostGuards {
			list = append(list, g.guards[id].status(now))
		}
	}
	if s := g.changelog.status(g.limits.Changelog()); s != nil {
		list = append(list, *s)
	}
	return list
}

// mostGuards are shown in a heartbeat.
const mostGuards = 12
