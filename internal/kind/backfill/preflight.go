package backfill

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// Preflight checks the table and what is to be done to it, claims it and
// writes the plan to the ledger. A migration that the ledger knows already
// keeps its plan, as long as nothing that it was made from has changed.
func (b *Backfill) Preflight(ctx context.Context, run *kind.Run) (task.PreflightResult, error) {
	db, err := open(ctx, run)
	if err != nil {
		return task.PreflightResult{}, err
	}
	m, err := run.Ledger.Take(ctx, task.Backfill)
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
	if len(planned) == 1 && !m.Undone() && planned[0].State != string(itemUndone) {
		return b.resume(ctx, run, db, m, planned[0])
	}
	p, err := makePlan(ctx, run, db)
	if err != nil {
		return task.PreflightResult{}, err
	}
	definition, err := json.Marshal(p.item)
	if err != nil {
		return task.PreflightResult{}, err
	}
	text, err := json.Marshal(run.Spec)
	if err != nil {
		return task.PreflightResult{}, err
	}
	hook.At("plan made")
	items := []ledger.Item{{No: itemNo, Name: p.item.name(), State: string(itemPlanned), Definition: definition}}
	err = run.Ledger.Start(ctx, ledger.Migration{Kind: task.Backfill, Name: run.Spec.Name, Spec: text, Fingerprint: p.fingerprint, Version: b.version},
		[]string{p.item.name()}, items)
	hook.At("plan committed")
	return result(p.item, p.warnings), err
}

func result(it *item, warnings []string) task.PreflightResult {
	return task.PreflightResult{Tables: 1, RowsTotal: it.Table.Rows, Bytes: it.Table.Bytes, Warnings: warnings}
}

// resume compares what the plan was made from with what is there now.
func (b *Backfill) resume(ctx context.Context, run *kind.Run, db *site, m *ledger.Migration, row ledger.Item) (task.PreflightResult, error) {
	it, err := parse(row)
	if err != nil {
		return task.PreflightResult{}, err
	}
	if it.state == itemReopening || it.state == itemUndoing {
		return task.PreflightResult{}, fault.About(it.name(), task.Config, "the rollback of %s has begun, and some rows have their old values again: `godwit rollback %s` carries it through", run.Ref.ID, run.Ref.ID)
	}
	identity, err := db.Identity(ctx)
	if err != nil {
		return task.PreflightResult{}, err
	}
	now := ledger.Fingerprint{"the server": identity.ID}
	if now["the spec"], err = specPrint(run.Spec); err != nil {
		return task.PreflightResult{}, err
	}
	table, err := db.Table(ctx, it.Table.Name)
	if err != nil && !errors.Is(err, engine.ErrNoTable) {
		return task.PreflightResult{}, err
	}
	if err == nil {
		now["table "+it.name()] = kind.Hash(engine.Definition(table))
	}
	if it.state == itemClosing || it.state == itemClosed {
		now["table "+it.name()] = m.Fingerprint["table "+it.name()] // the closing statement may have changed it
	}
	if err := m.Fingerprint.Compare(now); err != nil {
		return task.PreflightResult{}, err
	}
	text, err := json.Marshal(run.Spec)
	if err != nil {
		return task.PreflightResult{}, err
	}
	return result(it, it.Notes), run.Ledger.Continue(ctx, text, []string{it.name()})
}

// definitionAge is how long a look at the table's definition holds.
const definitionAge = 5 * time.Second

// unchanged refuses to go on when the table is not what was planned.
func (b *Backfill) unchanged(ctx context.Context, run *kind.Run, db *site, it *item) error {
	if at, found := b.looked.Load(run.Ref.ID); found && time.Since(at.(time.Time)) < definitionAge {
		return nil
	}
	now, err := db.Table(ctx, it.Table.Name)
	if err != nil {
		return err
	}
	if engine.Definition(now) != engine.Definition(it.Table) {
		return fault.About(it.name(), task.Config,
			"the definition of %s has changed since the migration began: put it back and retry, or roll back and start a new migration", it.name())
	}
	b.looked.Store(run.Ref.ID, time.Now())
	return nil
}
