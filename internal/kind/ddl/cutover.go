package ddl

import (
	"context"
	"errors"

	"godwit/internal/engine"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// Cutover does the last step and compares the definition with what was asked
// for. When its window ends before, it says so, and is called again in the next one.
func (d *DDL) Cutover(ctx context.Context, run *kind.Run) (task.CutoverResult, error) {
	db, it, err := both(ctx, run)
	if err != nil {
		return task.CutoverResult{}, err
	}
	if s := d.shadowOf(run, db, it); s != nil {
		return s.cutover(ctx)
	}
	if it.state != itemAltered {
		err := alter(ctx, run, it)
		if errors.Is(err, errShut) {
			return task.CutoverResult{Shut: true}, nil
		}
		if err != nil {
			return task.CutoverResult{}, err
		}
	}
	if run.Spec.DDL.Undo == "" {
		return task.CutoverResult{}, nil
	}
	kept, err := keptBackups(ctx, run)
	if err != nil {
		return task.CutoverResult{}, err
	}
	result := task.CutoverResult{Kept: kept}
	if keep := run.Spec.DDL.KeepOld; keep != nil {
		result.KeepFor = keep.Std()
	}
	return result, nil
}

func alter(ctx context.Context, run *kind.Run, it *item) error {
	if err := plans(ctx, run, it, task.Cutover); err != nil {
		return err
	}
	hook.At("cut-over begins")
	if _, err := doSteps(ctx, run, task.ShardInput{Ref: run.Ref, Phase: task.Cutover, Shard: stepsShard}, true); err != nil {
		return err
	}
	db, err := open(ctx, run)
	if err != nil {
		return err
	}
	if err := areThere(ctx, db, it, lasting(it)); err != nil {
		return err
	}
	if err := compare(ctx, run, db, it); err != nil {
		return err
	}
	return it.setState(ctx, run, db, itemAltered)
}

// lasting are the steps whose result stays: what only served the last step is
// gone with it, and what it has turned into something else is compared as that.
func lasting(it *item) []engine.Step {
	if len(it.steps(true)) == 0 {
		return it.steps(false)
	}
	return nil
}

// Cleanup gives up the way back and releases the claim.
func (d *DDL) Cleanup(ctx context.Context, run *kind.Run) error {
	db, it, err := both(ctx, run)
	if err != nil {
		return err
	}
	if s := d.shadowOf(run, db, it); s != nil {
		return s.cleanup(ctx)
	}
	if it.state != itemFinal {
		if err := db.Transaction(ctx, func(tx engine.Tx) error {
			if err := run.Ledger.SetBackupState(ctx, tx, definitionBackup, ledger.BackupRemoved); err != nil {
				return err
			}
			return it.setState(ctx, run, tx, itemFinal)
		}); err != nil {
			return err
		}
	}
	return run.Ledger.Release(ctx)
}
