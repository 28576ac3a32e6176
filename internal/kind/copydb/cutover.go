package copydb

import (
	"context"

	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/task"
)

// Cutover gives the identity columns their next values: the last thing that a
// table lacks before an application can write to it. What was set aside is
// kept for a while. One try takes no longer than cutover.timeout.
func (c *Copy) Cutover(ctx context.Context, run *kind.Run) (task.CutoverResult, error) {
	limit := run.Spec.Copy.Cutover.Timeout.Std()
	trying, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	result, err := cutover(trying, run)
	if err != nil && ctx.Err() == nil && trying.Err() != nil {
		return result, fault.New(task.Busy, "the cut-over was given up after cutover.timeout (%s) and is tried again: %w", limit, err)
	}
	return result, err
}

func cutover(ctx context.Context, run *kind.Run) (task.CutoverResult, error) {
	dbs, err := open(ctx, run)
	if err != nil {
		return task.CutoverResult{}, err
	}
	items, err := load(ctx, run)
	if err != nil {
		return task.CutoverResult{}, err
	}
	for i, it := range items {
		if run.Stopped() {
			return task.CutoverResult{}, fault.New(task.Stopping, "stopped before the cut-over of %s", it.target())
		}
		run.Beat(task.Heartbeat{Phase: task.Cutover, Table: it.target(), Rows: int64(i), RowsTotal: int64(len(items))})
		hook.At("before sequence")
		if err := setIdentity(ctx, dbs, it); err != nil {
			return task.CutoverResult{}, err
		}
		hook.At("after sequence")
	}
	kept, err := keptBackups(ctx, run)
	if err != nil || len(kept) == 0 {
		return task.CutoverResult{}, err
	}
	result := task.CutoverResult{Kept: kept}
	if keep := run.Spec.Copy.KeepOld; keep != nil {
		result.KeepFor = keep.Std()
	}
	return result, nil
}

// setIdentity reads the source's counter now: rows that were inserted and
// deleted again have moved it on.
func setIdentity(ctx context.Context, dbs *databases, it *item) error {
	var next uint64
	if counting(it) {
		now, err := dbs.from.Table(ctx, it.Source.Name)
		if err != nil {
			return err
		}
		next = now.NextIdentity
	}
	for i := range it.Target.Columns {
		if column := &it.Target.Columns[i]; column.Identity {
			if err := dbs.to.SetSequence(ctx, it.Target.Name, column.Name, next); err != nil {
				return err
			}
		}
	}
	return nil
}

func counting(it *item) bool {
	for i := range it.Source.Columns {
		if it.Source.Columns[i].Identity {
			return true
		}
	}
	return false
}
