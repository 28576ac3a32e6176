package activities

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"

	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// rollback is the one call that also makes sense when everything is undone: to
// carry through what is left of it.
const rollback = "rollback"

// step is one call of a kind within an activity.
type step[R any] func(ctx context.Context, k kind.Kind, run *kind.Run) (R, error)

// phase runs one call that does a phase's work as a whole, with its entries in
// the ledger.
func phase[R any](ctx context.Context, a *Activities, in task.PhaseInput, name string, call step[R]) (R, error) {
	p := newPulse(ctx, in.Phase, 0)
	defer p.end()
	began := time.Now()
	var none R
	k, run, m, err := a.known(p.ctx, in.Ref)
	if err != nil {
		return none, p.report(err)
	}
	p.attach(run)
	switch {
	case m.Undone() && name != rollback:
		return none, p.report(fault.New(task.Superseded, "the migration has been undone; this attempt has written nothing"))
	case !m.Undone():
		if err := run.Ledger.SetPhase(p.ctx, in.State, in.Phase); err != nil {
			return none, p.report(err)
		}
	}
	if err := run.Ledger.Note(p.ctx, task.Event{What: name + " started", Phase: in.Phase, Attempt: p.attempt, Detail: in.Reason}); err != nil {
		return none, p.report(err)
	}
	done, err := a.governors.share(p.ctx, run, in.Phase, 0)
	if err != nil {
		return none, p.report(err)
	}
	defer done()
	log := logger(ctx, in.Ref, in.Phase)
	log.Info(name + " started")
	result, err := guarded(p.ctx, k, run, call)
	event := task.Event{What: name + " finished", Phase: in.Phase, Attempt: p.attempt, Duration: time.Since(began)}
	if err != nil {
		event.What, event.Error = name+" failed", p.classify(err)
		event.Stack = fault.Stack(err)
		if p.interrupted() {
			event.What, event.Error, event.Stack = name+" interrupted", nil, ""
		}
	}
	if noted := p.note(run, event); noted != nil && err == nil {
		err = noted
	}
	if err != nil {
		log.Warn(event.What, "took", event.Duration, "error", err)
		return none, p.report(err)
	}
	if work, is := any(&result).(*task.Work); is {
		work.Changelog = cmp.Or(work.Changelog, p.changelog())
	}
	log.Info(event.What, "took", event.Duration)
	return result, nil
}

// logger names the migration in every line.
func logger(ctx context.Context, ref task.Ref, phase task.Phase) log.Logger {
	return log.With(activity.GetLogger(ctx), "task", ref.ID, "phase", phase)
}

// shard runs one attempt at a shard; its entries in the ledger are the kind's.
func shard(ctx context.Context, a *Activities, in task.ShardInput, call step[task.ShardResult]) (task.ShardResult, error) {
	p := newPulse(ctx, in.Phase, in.Shard)
	defer p.end()
	k, run, _, err := a.known(p.ctx, in.Ref)
	if err != nil {
		return task.ShardResult{}, p.report(err)
	}
	p.attach(run)
	done, err := a.governors.share(p.ctx, run, in.Phase, in.Shard)
	if err != nil {
		return task.ShardResult{}, p.report(err)
	}
	defer done()
	p.held(run.Throttle)
	began := time.Now()
	log := log.With(logger(ctx, in.Ref, in.Phase), "shard", in.Shard)
	result, err := guarded(p.ctx, k, run, call)
	if err != nil {
		log.Warn("shard not done", "took", time.Since(began), "error", err)
		return task.ShardResult{}, p.report(err)
	}
	result.Held, result.Changelog = run.Throttle.Held(), cmp.Or(result.Changelog, p.changelog())
	log.Info("shard done", "table", result.Table, "rows", result.Rows, "took", time.Since(began))
	return result, nil
}

// known opens a migration that the ledger must know.
func (a *Activities) known(ctx context.Context, ref task.Ref) (kind.Kind, *kind.Run, *ledger.Migration, error) {
	k, run, m, err := a.open(ctx, ref)
	if err == nil && (m == nil || !m.Planned()) {
		a.forget(ref.Ledger)
		err = fault.New(task.Config, "the ledger on connection %s knows no migration %s: was its database replaced, or the ledger removed?", ref.Ledger, ref.ID)
	}
	return k, run, m, err
}

// attach gives a run the means to report progress and to notice a stop.
func (p *pulse) attach(run *kind.Run) {
	run.Beat, run.Touch, run.Alive, run.Stop = p.beat, p.touch, p.alive, p.stop
	p.run = run
}

// note writes an event also after the activity's context has ended.
func (p *pulse) note(run *kind.Run, event task.Event) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), 10*time.Second)
	defer cancel()
	return run.Ledger.Note(ctx, event)
}

// guarded calls a kind and turns a panic into an error: a worker serves many
// migrations, and one must not take the others down.
func guarded[R any](ctx context.Context, k kind.Kind, run *kind.Run, call step[R]) (result R, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fault.New(task.Internal, "panic: %v\n%s", r, debug.Stack())
		}
	}()
	result, err = call(ctx, k, run)
	if err == nil && ctx.Err() != nil {
		return result, fmt.Errorf("ended before it was done: %w", context.Cause(ctx))
	}
	return result, err
}
