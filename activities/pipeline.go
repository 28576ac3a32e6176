package activities

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"

	"godwit/internal/engine"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
	"godwit/internal/version"
)

// OpenPipeline writes a pipeline to its ledger, with its steps. It claims no table:
// the steps' migrations do.
func (a *Activities) OpenPipeline(ctx context.Context, in task.OpenPipelineInput) error {
	p := newPulse(ctx, task.Preflight, 0)
	defer p.end()
	return p.reported(a.openPipeline(p.ctx, in))
}

func (a *Activities) openPipeline(ctx context.Context, in task.OpenPipelineInput) error {
	store, err := a.store(ctx, in.Ledger)
	if err != nil {
		return err
	}
	l := store.Migration(in.ID)
	if _, err := l.Take(ctx, task.Pipeline); err != nil {
		a.forget(in.Ledger)
		return err
	}
	var items []ledger.Item
	for i, name := range in.Steps {
		items = append(items, ledger.Item{No: i + 1, Name: name, State: string(task.Pending), Definition: json.RawMessage("{}")})
	}
	return l.Start(ctx, ledger.Migration{Kind: task.Pipeline, Name: in.Name, Spec: in.Spec, Version: version.Get().Version,
		Fingerprint: ledger.Fingerprint{"the spec": kind.Hash(string(in.Spec))}}, nil, items)
}

// RecordSteps writes how a pipeline and its steps stand to the ledger, with an event.
func (a *Activities) RecordSteps(ctx context.Context, in task.RecordStepsInput) error {
	p := newPulse(ctx, in.Phase, 0)
	defer p.end()
	err := a.recordSteps(p.ctx, in)
	if err == nil {
		hook.At("step recorded")
	}
	return p.reported(err)
}

func (a *Activities) recordSteps(ctx context.Context, in task.RecordStepsInput) error {
	store, err := a.store(ctx, in.Ledger)
	if err != nil {
		return err
	}
	l := store.Migration(in.ID)
	m, err := l.Load(ctx)
	if err != nil || m == nil {
		a.forget(in.Ledger)
		return err
	}
	items, err := l.Items(ctx)
	if err != nil {
		return err
	}
	for _, item := range items {
		at := slices.IndexFunc(in.Steps, func(s task.PhaseStatus) bool { return s.Name == item.Name })
		if at < 0 || string(in.Steps[at].State) == item.State {
			continue
		}
		if err := transaction(ctx, l.DB(), func(tx engine.Tx) error {
			return l.SetItemState(ctx, tx, item.No, item.State, string(in.Steps[at].State))
		}); err != nil {
			return err
		}
	}
	if err := l.SetState(ctx, in.State, in.Phase, in.Error); err != nil {
		return err
	}
	return l.Note(ctx, task.Event{What: in.Event, Phase: in.Phase, Detail: in.Detail, Error: in.Error, Attempt: int(activity.GetInfo(ctx).Attempt)})
}

// LookForPipeline tells a step's migration whether its pipeline is still there: one that
// was terminated in Temporal has told nobody.
func (a *Activities) LookForPipeline(ctx context.Context, in task.PipelineRef) (task.PipelineFound, error) {
	chain, open, err := chainOf(ctx, activity.GetClient(ctx), in.ID)
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return task.PipelineFound{}, nil
	}
	if err != nil {
		return task.PipelineFound{}, unasked(err)
	}
	return task.PipelineFound{Open: open && chain == in.Chain}, nil
}

func transaction(ctx context.Context, db engine.DB, f func(tx engine.Tx) error) error {
	tx, err := db.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
