package copydb

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// Preflight checks both sides, claims the target's tables and writes the plan
// to the ledger. A migration that the ledger knows already keeps its plan, as
// long as nothing that it was made from has changed.
func (c *Copy) Preflight(ctx context.Context, run *kind.Run) (task.PreflightResult, error) {
	dbs, err := open(ctx, run)
	if err != nil {
		return task.PreflightResult{}, err
	}
	m, err := run.Ledger.Take(ctx, task.Copy)
	if err != nil {
		return task.PreflightResult{}, err
	}
	// One that was frozen before it came this far must not begin what has been
	// ended since.
	if err := run.Alive(ctx); err != nil {
		return task.PreflightResult{}, err
	}
	planned, err := run.Ledger.Items(ctx)
	if err != nil {
		return task.PreflightResult{}, err
	}
	undone := func(row ledger.Item) bool { return row.State == string(itemUndone) }
	if len(planned) > 0 && !m.Undone() && !slices.ContainsFunc(planned, undone) {
		return c.resume(ctx, run, dbs, m)
	}
	p, err := makePlan(ctx, run, dbs)
	if err != nil {
		return task.PreflightResult{}, err
	}
	rows, err := entries(p.items)
	if err != nil {
		return task.PreflightResult{}, err
	}
	text, err := json.Marshal(run.Spec)
	if err != nil {
		return task.PreflightResult{}, err
	}
	hook.At("plan made")
	err = run.Ledger.Start(ctx, ledger.Migration{Kind: task.Copy, Name: run.Spec.Name, Spec: text, Fingerprint: p.fingerprint, Version: c.version}, claims(p.items), rows)
	hook.At("plan committed")
	return result(p.items, p.warnings), err
}

// claims are the names of the tables that are written.
func claims(items []*item) []string {
	names := make([]string, len(items))
	for i, it := range items {
		names[i] = it.target()
	}
	return names
}

func result(items []*item, warnings []string) task.PreflightResult {
	r := task.PreflightResult{Tables: len(items), Warnings: warnings}
	for _, it := range items {
		r.RowsTotal += it.Source.Rows
		r.Bytes += it.Source.Bytes
	}
	return r
}

// resume compares what the plan was made from with what is there now.
func (c *Copy) resume(ctx context.Context, run *kind.Run, dbs *databases, m *ledger.Migration) (task.PreflightResult, error) {
	items, err := load(ctx, run)
	if err != nil {
		return task.PreflightResult{}, err
	}
	if err := dbs.identify(ctx); err != nil {
		return task.PreflightResult{}, err
	}
	now := ledger.Fingerprint{"the source server": dbs.sourceID.ID, "the target server": dbs.targetID.ID}
	if now["the spec"], err = specPrint(run.Spec); err != nil {
		return task.PreflightResult{}, err
	}
	for _, it := range items {
		table, err := dbs.from.Table(ctx, it.Source.Name)
		if err != nil && !errors.Is(err, engine.ErrNoTable) {
			return task.PreflightResult{}, err
		}
		if err == nil {
			now["table "+it.source()] = kind.Hash(engine.Definition(table))
		}
		if err := stillThere(ctx, dbs, it); err != nil {
			return task.PreflightResult{}, err
		}
	}
	if err := m.Fingerprint.Compare(now); err != nil {
		return task.PreflightResult{}, err
	}
	// What may change in between (how fast, how patiently) holds from now on.
	text, err := json.Marshal(run.Spec)
	if err != nil {
		return task.PreflightResult{}, err
	}
	return result(items, nil), run.Ledger.Continue(ctx, text, claims(items))
}

// stillThere refuses to go on without a target table that has been loaded.
func stillThere(ctx context.Context, dbs *databases, it *item) error {
	if it.state != itemReady {
		return nil
	}
	exists, err := dbs.to.TableExists(ctx, it.Target.Name)
	if err == nil && !exists {
		err = fault.About(it.target(), task.Human, "the target table %s is gone, although this copy has made it: roll back and start a new migration", it.target())
	}
	return err
}
