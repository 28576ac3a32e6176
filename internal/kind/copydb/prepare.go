package copydb

import (
	"context"
	"slices"

	"godwit/internal/engine"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/shard"
	"godwit/internal/task"
)

// PrepareTransform makes the target's tables and cuts the source's into shards.
func (c *Copy) PrepareTransform(ctx context.Context, run *kind.Run) (task.Work, error) {
	dbs, err := open(ctx, run)
	if err != nil {
		return task.Work{}, err
	}
	items, err := load(ctx, run)
	if err != nil {
		return task.Work{}, err
	}
	for i, it := range items {
		run.Beat(task.Heartbeat{Phase: task.Transform, Table: it.target(), WaitingFor: "", Rows: int64(i), RowsTotal: int64(len(items))})
		if err := makeTable(ctx, run, dbs, it); err != nil {
			return task.Work{}, err
		}
	}
	planned, err := run.Ledger.Shards(ctx, task.Transform)
	if err != nil {
		return task.Work{}, err
	}
	if len(planned) == 0 {
		shards, err := cut(ctx, run, dbs, items)
		if err != nil {
			return task.Work{}, err
		}
		hook.At("table cut")
		if err := run.Ledger.PlanShards(ctx, task.Transform, shards); err != nil {
			return task.Work{}, err
		}
	}
	return run.Ledger.Work(ctx, task.Transform)
}

// cut divides every table by its key, the biggest table first.
func cut(ctx context.Context, run *kind.Run, dbs *databases, items []*item) ([]ledger.Shard, error) {
	var shards []ledger.Shard
	for _, it := range bySize(items) {
		if len(it.Source.Key) == 0 {
			shards = append(shards, ledger.Shard{No: len(shards) + 1, Table: it.target(), Part: 1, Parts: 1, RowsEstimate: it.Source.Rows})
			continue
		}
		size := shard.Rows(run.Spec.Copy.Shards.Rows, it.Source.Rows, shard.DefaultRows)
		bounds, err := dbs.from.Split(ctx, it.sourceSelect(engine.Range{}), size)
		if err != nil {
			return nil, err
		}
		var low engine.Key
		parts := len(bounds) + 1
		for i := range parts {
			var high engine.Key
			if i < len(bounds) {
				high = bounds[i]
			}
			shards = append(shards, ledger.Shard{No: len(shards) + 1, Table: it.target(), Part: i + 1, Parts: parts,
				Range: engine.Range{After: low, Until: high}, RowsEstimate: it.Source.Rows / int64(parts)})
			low = high
		}
	}
	return shards, nil
}

func bySize(items []*item) []*item {
	sorted := slices.Clone(items)
	slices.SortStableFunc(sorted, func(a, b *item) int { return int(min(1, max(-1, b.Source.Bytes-a.Source.Bytes))) })
	return sorted
}

// shardsOf are the transform shards of one table.
func shardsOf(shards []ledger.Shard, table string) []ledger.Shard {
	return slices.DeleteFunc(slices.Clone(shards), func(s ledger.Shard) bool { return s.Table != table })
}
