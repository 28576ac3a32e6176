package activities

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"godwit/internal/kind"
	"godwit/internal/task"
	"godwit/internal/throttle"
)

// lingers is how long a governor outlives its last share, so that the shard
// that comes next finds its readings: one that begins has none and holds.
const lingers = 30 * time.Second

// governors are the migrations' governors in this worker.
type governors struct {
	watch *throttle.Watch

	mu   sync.Mutex
	byID map[string]*governed
}

type governed struct {
	*throttle.Governor
	shares int
	unused int // times that it was let go: tells a timer of the past
}

// share gives a run its part of its migration's governor; done gives it back.
func (g *governors) share(ctx context.Context, run *kind.Run, phase task.Phase, shard int) (done func(), err error) {
	held := g.enter(ctx, run)
	share, err := held.Share(ctx, phase, shard, run.Stop)
	if err != nil {
		g.leave(run.Ref.ID, held)
		return nil, err
	}
	run.Throttle = share
	return func() {
		share.Close()
		g.leave(run.Ref.ID, held)
	}, nil
}

func (g *governors) enter(ctx context.Context, run *kind.Run) *governed {
	g.mu.Lock()
	defer g.mu.Unlock()
	held := g.byID[run.Ref.ID]
	if held == nil {
		metrics := activity.GetMetricsHandler(ctx)
		count := func(guard string, held time.Duration) {
			metrics.WithTags(map[string]string{"guard": guard}).Timer("godwit_held").Record(held)
		}
		held = &governed{Governor: throttle.New(throttle.Config{
			Spec: run.Spec, Written: run.Ref.Ledger, Watch: g.watch, Ledger: run.Ledger, Count: count})}
		g.byID[run.Ref.ID] = held
	}
	held.Follow(run.Spec)
	held.shares++
	return held
}

func (g *governors) leave(id string, held *governed) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if held.shares--; held.shares > 0 {
		return
	}
	held.unused++
	unused := held.unused
	time.AfterFunc(lingers, func() {
		if g.forget(id, held, unused) {
			held.Close() // it may have to write to a ledger that does not answer
		}
	})
}

// forget takes out a governor that nobody has used since.
func (g *governors) forget(id string, held *governed, unused int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if held.shares > 0 || held.unused != unused {
		return false
	}
	delete(g.byID, id)
	return true
}
