package ddl

import (
	"context"
	"fmt"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// PrepareVerify cuts an online copy into shards. Of a direct change there are
// none: what is verified is the catalog.
func (d *DDL) PrepareVerify(ctx context.Context, run *kind.Run) (task.Work, error) {
	db, it, err := both(ctx, run)
	if err != nil {
		return task.Work{}, err
	}
	if s := d.shadowOf(run, db, it); s != nil {
		return s.prepareVerify(ctx)
	}
	return task.Work{}, nil
}

// VerifyShard compares a shard of an online copy.
func (d *DDL) VerifyShard(ctx context.Context, run *kind.Run, in task.ShardInput) (task.ShardResult, error) {
	db, it, err := both(ctx, run)
	if err != nil {
		return task.ShardResult{}, err
	}
	if s := d.shadowOf(run, db, it); s != nil {
		return s.verifyShard(ctx, in)
	}
	return task.ShardResult{}, fault.New(task.Internal, "a direct change of a table has no shards to be verified")
}

// FinishVerify makes sure that everything is there that was prepared. The
// definition itself is compared when it has been changed, in the cut-over.
func (d *DDL) FinishVerify(ctx context.Context, run *kind.Run) (task.VerifySummary, error) {
	summary := task.VerifySummary{Mode: string(run.Spec.Verify.Mode), Tables: 1}
	if run.Spec.Verify.Mode == spec.NoVerify {
		return summary, nil
	}
	db, it, err := both(ctx, run)
	if err != nil {
		return summary, err
	}
	if s := d.shadowOf(run, db, it); s != nil {
		return s.finishVerify(ctx)
	}
	prepared := it.steps(false)
	if err := areThere(ctx, db, it, prepared); err != nil {
		return summary, err
	}
	if len(prepared) > 0 {
		summary.Checked = append(summary.Checked, fmt.Sprintf("all %d steps before the cut-over are done and valid", len(prepared)))
	}
	summary.Checked = append(summary.Checked, "the definition is compared with that of an altered clone in the cut-over")
	return summary, nil
}

// areThere looks for what the steps have made.
func areThere(ctx context.Context, db *site, it *item, steps []engine.Step) error {
	for _, step := range steps {
		if step.Look == "" {
			continue
		}
		state, err := word(ctx, db, step.Look)
		if err != nil {
			return err
		}
		if state != engine.StepDone {
			return fault.About(it.name(), task.Mismatch, "%s has been undone by somebody: %s", it.name(), strings.Join(step.SQL, "; "))
		}
	}
	return nil
}

// compare compares the table's definition with what was asked for.
func compare(ctx context.Context, run *kind.Run, db *site, it *item) error {
	now, err := db.shape(ctx, it.Table.Name)
	if err != nil {
		return err
	}
	if wrong := engine.Differs(now, it.Before, it.After); len(wrong) > 0 {
		return fault.About(it.name(), task.Mismatch, "the definition of %s is not what was asked for: %s", it.name(), strings.Join(wrong, "; "))
	}
	added, removed := engine.Changes(it.Before, it.After)
	return run.Ledger.Note(ctx, task.Event{What: "definition compared", Phase: task.Cutover, Table: it.name(),
		Detail: fmt.Sprintf("%d lines of it have come and %d have gone, as asked for", len(added), len(removed))})
}
