package activities

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/task"
	"godwit/internal/throttle"
)

const (
	// beatEvery is how often a heartbeat is offered to the SDK, which sends
	// as many as the worker's throttle interval lets through.
	beatEvery = time.Second
	// grace is how long a chunk may still take after an operator's pause or
	// cancel before it is broken off and rolled back.
	grace = time.Second
	// stuckAfter is how long a shard may be without any progress before its
	// attempt is given up: a heartbeat alone must not make a stuck one look alive.
	stuckAfter = 15 * time.Minute
)

// pulse keeps an activity's heartbeat going and turns what Temporal and the
// worker want of it into two signs: stop, to end after the current chunk, and
// the end of the context, to break it off.
type pulse struct {
	activity context.Context // heartbeats must be sent with the activity's own
	ctx      context.Context
	cancel   context.CancelCauseFunc
	stop     chan struct{}
	done     chan struct{}
	watchdog bool
	attempt  int

	run     *kind.Run       // nil until it is attached
	share   *throttle.Share // nil when nothing holds the work back
	mu      sync.Mutex
	last    task.Heartbeat
	moved   time.Time
	most    int64 // of rows that was told: what is estimated may go back
	stopped bool
}

// newPulse starts the heartbeat; end stops it.
func newPulse(ctx context.Context, phase task.Phase, shard int) *pulse {
	p := &pulse{activity: ctx, stop: make(chan struct{}), done: make(chan struct{}), moved: time.Now(), watchdog: shard > 0,
		attempt: int(activity.GetInfo(ctx).Attempt)}
	p.ctx, p.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	p.last = task.Heartbeat{Phase: phase, Shard: shard, Attempt: p.attempt, At: time.Now().UTC()}
	activity.RecordHeartbeat(ctx, p.last)
	go p.watch()
	return p
}

func (p *pulse) end() {
	close(p.done)
	p.cancel(context.Canceled)
}

// beat takes over what a kind reports.
func (p *pulse) beat(h task.Heartbeat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// The first one of a shard tells what earlier attempts have done.
	if rows := h.Rows - p.most; rows > 0 && h.Shard > 0 && p.last.Table != "" {
		metrics := activity.GetMetricsHandler(p.activity).WithTags(map[string]string{"phase": string(h.Phase)})
		metrics.Counter("godwit_rows").Inc(rows)
		metrics.Counter("godwit_bytes").Inc(max(0, h.Bytes-p.last.Bytes))
	}
	p.most = max(p.most, h.Rows)
	if h.ChunkSeconds > 0 {
		activity.GetMetricsHandler(p.activity).WithTags(map[string]string{"phase": string(h.Phase)}).
			Timer("godwit_chunk").Record(time.Duration(h.ChunkSeconds * float64(time.Second)))
	}
	h.Attempt, h.At = p.attempt, time.Now().UTC()
	h.Changelog = cmp.Or(h.Changelog, p.last.Changelog)
	h.Holding, h.HoldingSince, h.Guards, h.Held = p.last.Holding, p.last.HoldingSince, p.last.Guards, p.last.Held
	p.last, p.moved = h, time.Now()
}

// changelog is what was told of it last; nil for nothing.
func (p *pulse) changelog() *task.ChangelogStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last.Changelog
}

// held makes the heartbeat tell what holds the work back.
func (p *pulse) held(share *throttle.Share) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.share = share
}

// touch says that the work goes on.
func (p *pulse) touch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved = time.Now()
}

// alive asks the server, past the SDK's throttle, whether it still waits for
// this attempt.
func (p *pulse) alive(ctx context.Context) error {
	err := activity.GetClient(p.activity).RecordActivityHeartbeat(ctx, activity.GetInfo(p.activity).TaskToken)
	var gone *serviceerror.NotFound
	switch {
	case errors.As(err, &gone):
		return fault.New(task.Superseded, "Temporal no longer waits for this attempt; it has written nothing")
	case err != nil && !orderly(err):
		return fault.New(task.Transient, "cannot ask Temporal whether this attempt still counts: %w", err)
	}
	return nil
}

func (p *pulse) watch() {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	stopping := activity.GetWorkerStopChannel(p.activity)
	var breakOff <-chan time.Time
	ended := p.activity.Done()
	for {
		select {
		case <-p.done:
			return
		case <-ticker.C:
			p.tick()
		case <-stopping:
			stopping = nil
			p.ask()
		case <-ended:
			ended = nil
			if !orderly(context.Cause(p.activity)) {
				p.cancel(context.Cause(p.activity))
				break
			}
			p.ask()
			breakOff = time.After(grace)
		case <-breakOff:
			p.cancel(context.Cause(p.activity))
		}
	}
}

func (p *pulse) tick() {
	p.mu.Lock()
	if p.share != nil {
		p.tellHold()
	}
	last, still := p.last, time.Since(p.moved)
	p.mu.Unlock()
	if p.watchdog && still > stuckAfter {
		p.cancel(fault.New(task.Transient, "no progress for %s: the attempt is given up", stuckAfter))
		return
	}
	activity.RecordHeartbeat(p.activity, last)
}

// tellHold adds to the heartbeat what holds the work back. A shard that is held
// is not stuck.
func (p *pulse) tellHold() {
	reason, since := p.share.HoldingSince()
	p.last.Holding, p.last.HoldingSince = reason, nil
	if reason != "" {
		p.moved, p.last.HoldingSince = time.Now(), &since
	}
	p.last.Guards, p.last.Held = p.share.Guards(), p.share.Held()
}

// ask closes stop, once.
func (p *pulse) ask() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		p.stopped = true
		close(p.stop)
	}
}

// orderly tells an end that somebody wants from a lost or timed-out attempt,
// which must write nothing more.
func orderly(cause error) bool {
	return temporal.IsCanceledError(cause) || errors.Is(cause, activity.ErrActivityPaused) ||
		errors.Is(cause, activity.ErrActivityReset) || errors.Is(cause, worker.ErrWorkerShutdown)
}
