package ddl

import (
	"context"
	"encoding/json"
	"errors"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// Preflight finds out how the table can be changed, tests its rows, claims it
// and writes the plan to the ledger. A migration that the ledger knows already
// keeps its plan, as long as nothing that it was made from has changed.
func (d *DDL) Preflight(ctx context.Context, run *kind.Run) (task.PreflightResult, error) {
	db, err := open(ctx, run)
	if err != nil {
		return task.PreflightResult{}, err
	}
	m, err := run.Ledger.Take(ctx, task.DDL)
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
		return d.resume(ctx, run, db, m, planned[0])
	}
	p, err := makePlan(ctx, run, db)
	if err != nil {
		return task.PreflightResult{}, keptByStep(ctx, run, err)
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
	err = run.Ledger.Start(ctx, ledger.Migration{Kind: task.DDL, Name: run.Spec.Name, Spec: text, Fingerprint: p.fingerprint, Version: d.version},
		[]string{p.item.name()}, items)
	hook.At("plan committed")
	return result(p.item), err
}

// keptByStep says of a second online copy in a pipeline what really stands in its way:
// the tables and triggers that an earlier step keeps, which are not to be dropped by hand.
func keptByStep(ctx context.Context, run *kind.Run, refusal error) error {
	failure := kind.Classify(refusal)
	if failure.Class != task.Config || failure.Table == "" {
		return refusal
	}
	id, err := run.Ledger.Changed(ctx, failure.Table)
	if err != nil || id == "" {
		return refusal
	}
	return fault.About(failure.Table, task.Config, "%w. Step %s has changed the table and keeps its way back: where that is what is in the way, drop nothing by hand. "+
		"`godwit cleanup %s` gives it up, then retry; or let one step do both changes", refusal, id, id)
}

func result(it *item) task.PreflightResult {
	out := task.PreflightResult{Tables: 1, Bytes: it.Table.Bytes, Warnings: it.Notes}
	if it.Reshaping != nil { // elsewhere rows are read by the server, if at all
		out.RowsTotal, out.TendEvery = it.Table.Rows, drainWhileWaiting
	}
	return out
}

// resume compares what the plan was made from with what is there now.
func (d *DDL) resume(ctx context.Context, run *kind.Run, db *site, m *ledger.Migration, row ledger.Item) (task.PreflightResult, error) {
	it, err := parse(row)
	if err != nil {
		return task.PreflightResult{}, err
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
		now["table "+it.name()] = kind.Hash(columnsOf(table))
	}
	last, err := progressOf(ctx, run, task.Cutover)
	if err != nil {
		return task.PreflightResult{}, err
	}
	swapped, err := isSwapped(ctx, db, it)
	if err != nil {
		return task.PreflightResult{}, err
	}
	if last.Began > 0 || it.state == itemAltered || swapped {
		now["table "+it.name()] = m.Fingerprint["table "+it.name()] // the last step may have changed it
	}
	if err := m.Fingerprint.Compare(now); err != nil {
		return task.PreflightResult{}, err
	}
	text, err := json.Marshal(run.Spec)
	if err != nil {
		return task.PreflightResult{}, err
	}
	return result(it), run.Ledger.Continue(ctx, text, []string{it.name()})
}

// columnsOf is what must not change of the table before the last step. Its key
// may: an index that is prepared can be one.
func columnsOf(t *engine.Table) string {
	keyless := *t
	keyless.Key, keyless.KeyName = nil, ""
	return engine.Definition(&keyless)
}

// unchanged refuses to go on when the table is not what was planned.
func unchanged(ctx context.Context, db *site, it *item) error {
	now, err := db.Table(ctx, it.Table.Name)
	if err != nil {
		return err
	}
	if columnsOf(now) != columnsOf(it.Table) {
		return fault.About(it.name(), task.Config,
			"the definition of %s has changed since the migration began: put it back and retry, or roll back and start a new migration", it.name())
	}
	return nil
}
