package reindex

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/task"
)

// lookEvery is how often it is looked how far a build has come.
const lookEvery = 500 * time.Millisecond

// givenUp is the cause of a build's end that the throttle wanted.
type givenUp struct {
	reason string
	since  time.Duration
}

func (g *givenUp) Error() string {
	return fmt.Sprintf("%s for %s: the build is given up", g.reason, g.since.Round(time.Second))
}

// watched runs a statement and tells meanwhile how far it has come. It ends it
// when the call is to end, or when the throttle has been critical for too long.
func (w *work) watched(ctx context.Context, step *engine.IndexStep) error {
	running, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { w.watch(running, step, end) })
	var err error
	for _, statement := range step.SQL {
		if _, err = w.session.Exec(running, statement); err != nil {
			break
		}
		hook.At("index statement done")
	}
	cause := context.Cause(running)
	end(context.Canceled)
	watching.Wait()
	if err != nil && cause != nil && ctx.Err() == nil {
		return cause
	}
	return err
}

func (w *work) watch(ctx context.Context, step *engine.IndexStep, end context.CancelCauseFunc) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	began := time.Now()
	var critical time.Time
	course := &course{since: began}
	for {
		w.tell(ctx, began, course)
		hook.At("watched build")
		if step.Builds {
			if given := w.critical(&critical); given != nil {
				end(given)
				return
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		case <-w.run.Stop:
			end(fault.New(task.Stopping, "stopped while index %s was built; it is built anew", w.it.name()))
			return
		}
	}
}

// critical reports whether the build is to be given up; since is when the
// throttle became critical, and zero while it is not.
func (w *work) critical(since *time.Time) *givenUp {
	c := w.run.Spec.Reindex.Critical
	if c.After == nil || *c.After == 0 {
		return nil
	}
	reason := w.run.Throttle.Critical(c.Percent)
	switch {
	case reason == "":
		*since = time.Time{}
	case since.IsZero():
		*since = time.Now()
	case time.Since(*since) >= c.After.Std():
		return &givenUp{reason: reason, since: time.Since(*since)}
	}
	return nil
}

// giveUp notes that a build was given up. Its shard waits in the retry queue, and
// the next build takes less.
func (w *work) giveUp(ctx context.Context, given *givenUp, clean error) error {
	w.progress.GivenUp++
	if err := w.lease.Advance(ctx, w.run.Ledger.DB(), w.noted()); err != nil {
		return err
	}
	_, how, err := w.db.BuildSettings(ctx, limits(w.run.Spec.Reindex, w.progress.GivenUp))
	if err != nil {
		return err
	}
	event := task.Event{What: "build given up", Phase: w.lease.Phase, Table: w.it.Table.String(), Shard: w.lease.No, Attempt: w.lease.Attempt,
		Detail: given.Error() + "; the next one is done " + how}
	if clean != nil {
		event.Detail += "; what is left of this one is removed before: " + clean.Error()
	}
	if err := w.run.Ledger.Note(ctx, event); err != nil {
		return err
	}
	return &kind.Deferred{Cause: fault.About(w.it.Table.String(), task.Busy, "%s: %w; it is begun again %s", w.it.name(), given, how)}
}

// tell reports how far a build has come. It is for show: what cannot be found out
// is asked again.
func (w *work) tell(ctx context.Context, began time.Time, c *course) {
	p, err := w.db.IndexProgress(ctx, w.session.ID(), c.workers)
	if err != nil {
		w.run.Touch()
		return
	}
	waits := p.Waits
	if who, err := w.db.WaitsFor(ctx, w.session.ID(), w.it.Table); err == nil && len(who) > 0 {
		waits = strings.TrimSuffix(who[0].String()+", to end: this has to wait for it; "+p.Waits, "; ")
	}
	h := w.told
	h.WaitingFor = waits
	if p.Phase != "" {
		h.Checkpoint = p.Phase
	}
	if done := c.told(time.Now(), p); done >= 0 {
		h.Percent, h.RowsTotal, h.Rows = 100*done, w.it.Rows, int64(done*float64(w.it.Rows))
		if seconds := time.Since(began).Seconds(); seconds > 0 {
			h.RowsPerSecond = float64(h.Rows) / seconds
		}
	}
	w.send(h)
}

// beat says what the attempt waits for, empty for nothing.
func (w *work) beat(waits string) {
	h := w.told
	h.WaitingFor = waits
	w.send(h)
}

func (w *work) send(h task.Heartbeat) {
	h.Phase, h.Table = w.lease.Phase, w.lease.Label()
	if w.lease.Phase == task.Transform {
		h.Shard = w.lease.No
	}
	w.told = h
	w.run.Beat(h)
}
