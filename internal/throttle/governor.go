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
	// staleAfter is how old a reading may get before it holds.
	staleAfter = 5 * time.Second
)

// Config is what a Governor needs to know of its migration.
type Config struct {
	Spec        *spec.Spec
	Written     string // the connection of the database that is written
	Connections *connection.Registry
	Ledger      *ledger.Ledger
}

// Governor watches one migration's guards in one worker.
type Governor struct {
	config Config
	rows   *Rate
	bytes  *Rate
	end    context.CancelFunc
	ctx    context.Context
	start  sync.Once

	mu      sync.Mutex
	limits  spec.Throttle // the spec's, with what the operator has changed
	phase   task.Phase
	running int // shards at work in all workers
	shares  int // of shards, in this one
	read    time.Time
	failed  error // why the settings could not be read at the last try
}

// New returns a Governor, which does nothing until a Share of it is used.
// Close ends it.
func New(c Config) *Governor {
	g := &Governor{config: c, rows: NewRate(0), bytes: NewRate(0), limits: c.Spec.Throttle}
	g.ctx, g.end = context.WithCancel(context.Background())
	return g
}

// Follow goes by a spec from now on: a migration that is continued may have
// another throttle.
func (g *Governor) Follow(s *spec.Spec) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.config.Spec = s
}

// Close ends the probes.
func (g *Governor) Close() { g.end() }

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

// watch keeps the settings fresh.
func (g *Governor) watch() {
	ticker := time.NewTicker(settingsAge)
	defer ticker.Stop()
	for {
		select {
		case <-g.ctx.Done():
			return
		case <-ticker.C:
			_ = g.readSettings(g.ctx) // kept, and told when they get stale
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
	set, running, err := g.config.Ledger.Throttle(ctx, phase)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed = err; err != nil {
		return err
	}
	limits, err := g.config.Spec.Throttle.With(set)
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

// verdict says whether a chunk may begin: the reason when it has to wait, an
// error when it never will.
func (g *Governor) verdict() (reason string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if fault.Of(g.failed) != nil {
		return "", g.failed
	}
	if age := time.Since(g.read); age > staleAfter {
		return fmt.Sprintf("the operator's settings cannot be read from the ledger for %s", age.Round(time.Second)), nil
	}
	return "", nil
}
