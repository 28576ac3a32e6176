package reindex

import (
	"context"
	"fmt"

	"godwit/internal/engine"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// Cutover drops what is to be dropped.
func (r *Reindex) Cutover(ctx context.Context, run *kind.Run) (task.CutoverResult, error) {
	if copies(run) {
		return r.copy.Cutover(ctx, run)
	}
	items, err := load(ctx, run)
	if err != nil {
		return task.CutoverResult{}, err
	}
	going := dropped(items)
	if len(going) == 0 {
		return keptForPipeline(run, items), nil
	}
	if err := plans(ctx, run, task.Cutover, going); err != nil {
		return task.CutoverResult{}, err
	}
	hook.At("cut-over begins")
	for i := range going {
		if _, err := r.attempt(ctx, run, task.ShardInput{Ref: run.Ref, Phase: task.Cutover, Shard: i + 1}); err != nil {
			return task.CutoverResult{}, err
		}
	}
	kept, err := keptBackups(ctx, run)
	if err != nil {
		return task.CutoverResult{}, err
	}
	out := task.CutoverResult{Kept: kept}
	if keep := run.Spec.Reindex.KeepOld; keep != nil {
		out.KeepFor = keep.Std()
	}
	return out, nil
}

// keptForPipeline keeps the way back of indexes that were made, where a pipeline may
// want them gone again. Of one that was built anew there is none, and none is needed.
func keptForPipeline(run *kind.Run, items []*item) task.CutoverResult {
	var out task.CutoverResult
	for _, it := range items {
		if it.Action == engine.CreateIndex {
			out.Kept = append(out.Kept, task.BackupItem{What: "index " + it.name() + ", which was made", Where: it.Table.String(), Restore: fmt.Sprintf("`godwit rollback %s` drops it", run.Ref.ID)})
		}
	}
	keep := run.Spec.Reindex.KeepOld
	if !run.Step || len(out.Kept) == 0 || keep == nil || *keep == 0 {
		return task.CutoverResult{}
	}
	out.KeepFor = keep.Std()
	return out
}

// Cleanup gives up the way back and releases the claims.
func (r *Reindex) Cleanup(ctx context.Context, run *kind.Run) error {
	if copies(run) {
		return r.copy.Cleanup(ctx, run)
	}
	db, items, err := both(ctx, run)
	if err != nil {
		return err
	}
	if err := db.Transaction(ctx, func(tx engine.Tx) error {
		if err := closeBackups(ctx, run, tx, items, ledger.BackupRemoved); err != nil {
			return err
		}
		return setStates(ctx, run, tx, items, itemFinal)
	}); err != nil {
		return err
	}
	return run.Ledger.Release(ctx)
}
