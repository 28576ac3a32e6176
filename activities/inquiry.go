package activities

import (
	"context"
	"time"

	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/spec"
	"godwit/internal/task"
)

const (
	pollEvents = 500 * time.Millisecond
	mostEvents = 500 // in one page
	mostWait   = 20 * time.Second
)

// Plan finds out what a migration would do. Nothing is changed.
func (a *Activities) Plan(ctx context.Context, in task.PlanInput) (task.Plan, error) {
	p := newPulse(ctx, task.Preflight, 0)
	defer p.end()
	plan, err := a.plan(p, in)
	if err != nil {
		return task.Plan{}, p.report(err)
	}
	return *plan, nil
}

func (a *Activities) plan(p *pulse, in task.PlanInput) (*task.Plan, error) {
	s, err := readSpec(in.Spec)
	if err != nil {
		return nil, err
	}
	if s.Pipeline != nil {
		return a.planSteps(p, s), nil
	}
	return a.planOne(p, s)
}

// planOne plans a single migration.
func (a *Activities) planOne(p *pulse, s *spec.Spec) (*task.Plan, error) {
	k, err := a.kind(s.Kind)
	if err != nil {
		return nil, err
	}
	run := &kind.Run{Ref: task.Ref{Kind: s.Kind}, Spec: s, Connections: a.connections}
	p.attach(run)
	return guarded(p.ctx, k, run, func(ctx context.Context, k kind.Kind, run *kind.Run) (*task.Plan, error) {
		return k.Plan(ctx, run)
	})
}

// Events reads a page of a migration's audit trail, and waits a while for its
// first event when there is none yet.
func (a *Activities) Events(ctx context.Context, in task.EventsInput) (task.EventsPage, error) {
	p := newPulse(ctx, task.Preflight, 0)
	defer p.end()
	page, err := a.events(p, in)
	if err != nil {
		return task.EventsPage{}, p.report(err)
	}
	return page, nil
}

func (a *Activities) events(p *pulse, in task.EventsInput) (task.EventsPage, error) {
	l, err := a.inLedger(p.ctx, in.Ref)
	if err != nil {
		return task.EventsPage{}, err
	}
	limit := mostEvents
	if in.Limit > 0 {
		limit = min(limit, in.Limit)
	}
	until := time.Now().Add(min(in.Wait, mostWait))
	for {
		page, err := l.Page(p.ctx, in.After, limit)
		if err != nil {
			return task.EventsPage{}, err
		}
		if len(page.Events) > 0 || page.State.Final() || time.Now().After(until) {
			return *page, nil
		}
		select {
		case <-p.ctx.Done():
			return task.EventsPage{}, context.Cause(p.ctx)
		case <-p.stop:
			return *page, nil
		case <-time.After(pollEvents):
		}
	}
}

// LedgerStatus tells how a migration stands by its ledger alone.
func (a *Activities) LedgerStatus(ctx context.Context, in task.Ref) (task.Status, error) {
	p := newPulse(ctx, task.Preflight, 0)
	defer p.end()
	l, err := a.inLedger(p.ctx, in)
	if err != nil {
		return task.Status{}, p.report(err)
	}
	status, err := l.Status(p.ctx)
	if err != nil {
		return task.Status{}, p.report(err)
	}
	return *status, nil
}

func (a *Activities) inLedger(ctx context.Context, ref task.Ref) (*ledger.Ledger, error) {
	store, err := a.store(ctx, ref.Ledger)
	if err != nil {
		return nil, err
	}
	return store.Migration(ref.ID), nil
}
