package reindex

import (
	"context"
	"encoding/json"

	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// Preflight finds the indexes, claims their tables and writes the plan to the
// ledger. A migration that the ledger knows already keeps its plan.
func (r *Reindex) Preflight(ctx context.Context, run *kind.Run) (task.PreflightResult, error) {
	other, err := asCopy(ctx, run)
	if err != nil {
		return task.PreflightResult{}, err
	}
	if other != nil {
		return r.copy.Preflight(ctx, other)
	}
	db, err := open(ctx, run)
	if err != nil {
		return task.PreflightResult{}, err
	}
	m, err := run.Ledger.Take(ctx, task.Reindex)
	if err != nil {
		return task.PreflightResult{}, err
	}
	// One that was frozen before it came this far must not begin what has been
	// ended since.
	if err := run.Alive(ctx); err != nil {
		return task.PreflightResult{}, err
	}
	planned, err := load(ctx, run)
	if err != nil {
		return task.PreflightResult{}, err
	}
	if len(planned) > 0 && !m.Undone() && planned[0].state != itemUndone {
		return resume(ctx, run, db, m, planned)
	}
	p, err := makePlan(ctx, run, db)
	if err != nil {
		return task.PreflightResult{}, err
	}
	var items []ledger.Item
	for _, it := range p.items {
		definition, err := json.Marshal(it.IndexWork)
		if err != nil {
			return task.PreflightResult{}, err
		}
		items = append(items, ledger.Item{No: it.no, Name: it.name(), State: string(itemPlanned), Definition: definition})
	}
	text, err := json.Marshal(run.Spec)
	if err != nil {
		return task.PreflightResult{}, err
	}
	hook.At("plan made")
	err = run.Ledger.Start(ctx, ledger.Migration{Kind: task.Reindex, Name: run.Spec.Name, Spec: text, Fingerprint: p.fingerprint, Version: r.version}, claims(p.items), items)
	hook.At("plan committed")
	return result(p.items, p.notes), err
}

func result(items []*item, notes []string) task.PreflightResult {
	out := task.PreflightResult{Tables: len(tablesOf(items)), Warnings: notes}
	for _, it := range built(items) {
		out.RowsTotal += it.Rows
		out.Bytes += it.Bytes
	}
	return out
}

// resume compares what the plan was made from with what is there now. What has
// become of the indexes is looked at when it is their turn.
func resume(ctx context.Context, run *kind.Run, db *site, m *ledger.Migration, items []*item) (task.PreflightResult, error) {
	identity, err := db.Identity(ctx)
	if err != nil {
		return task.PreflightResult{}, err
	}
	now := ledger.Fingerprint{"the server": identity.ID}
	if now["the spec"], err = specPrint(run.Spec); err != nil {
		return task.PreflightResult{}, err
	}
	if err := m.Fingerprint.Compare(now); err != nil {
		return task.PreflightResult{}, err
	}
	text, err := json.Marshal(run.Spec)
	if err != nil {
		return task.PreflightResult{}, err
	}
	return result(items, nil), run.Ledger.Continue(ctx, text, claims(items))
}
