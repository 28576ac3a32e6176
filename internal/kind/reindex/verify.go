package reindex

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"godwit/internal/engine"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// PrepareVerify makes a shard of each table.
func (r *Reindex) PrepareVerify(ctx context.Context, run *kind.Run) (task.Work, error) {
	if copies(run) {
		return r.copy.PrepareVerify(ctx, run)
	}
	items, err := load(ctx, run)
	if err != nil {
		return task.Work{}, err
	}
	items = built(items)
	var shards []ledger.Shard
	for i, table := range tablesOf(items) {
		own := slices.DeleteFunc(slices.Clone(items), func(it *item) bool { return it.Table != table })
		s, err := shardFor(i+1, table.String(), own...)
		if err != nil {
			return task.Work{}, err
		}
		shards = append(shards, s)
	}
	if err := run.Ledger.PlanShards(ctx, task.Verify, shards); err != nil {
		return task.Work{}, err
	}
	hook.At("verify begins")
	return run.Ledger.Work(ctx, task.Verify)
}

// VerifyShard looks at the indexes of a table.
func (r *Reindex) VerifyShard(ctx context.Context, run *kind.Run, in task.ShardInput) (task.ShardResult, error) {
	if copies(run) {
		return r.copy.VerifyShard(ctx, run, in)
	}
	db, all, err := both(ctx, run)
	if err != nil {
		return task.ShardResult{}, err
	}
	return run.Attempt(ctx, in, "", func(lease *ledger.Lease) error {
		items, err := itemsOf(&lease.Shard, all)
		if err != nil {
			return err
		}
		stop := run.KeepTouching()
		defer stop()
		checked := map[string]int{}
		p := ledger.Progress{Done: true}
		for i, it := range items {
			if err := run.Throttle.Wait(ctx, 0, 0); err != nil {
				return err
			}
			run.Beat(task.Heartbeat{Phase: task.Verify, Table: lease.Label(), Shard: lease.No, Checkpoint: it.Index, Rows: p.Rows, RowsTotal: lease.RowsEstimate,
				Percent: 100 * float64(p.Rows) / float64(max(1, lease.RowsEstimate))})
			// MySQL and MariaDB check a table as a whole.
			deep := run.Spec.Verify.Mode == spec.Checksum && (i == 0 || db.Dialect() == engine.PostgresDialect)
			how, err := db.CheckIndex(ctx, &it.IndexWork, deep)
			if err != nil {
				return err
			}
			checked[how]++
			p.Rows += it.Rows
		}
		p.Digest = checked
		hook.At("shard compared")
		if err := lease.Advance(ctx, run.Ledger.DB(), p); err != nil {
			return err
		}
		lease.Committed(p)
		return nil
	})
}

// FinishVerify sums up what was found right.
func (r *Reindex) FinishVerify(ctx context.Context, run *kind.Run) (task.VerifySummary, error) {
	if copies(run) {
		return r.copy.FinishVerify(ctx, run)
	}
	summary := task.VerifySummary{Mode: string(run.Spec.Verify.Mode)}
	shards, err := run.Ledger.Shards(ctx, task.Verify)
	if err != nil {
		return summary, err
	}
	sums := map[string]int{}
	for i := range shards {
		var checked map[string]int
		if err := json.Unmarshal(shards[i].Digest, &checked); err != nil {
			return summary, fmt.Errorf("the outcome of verify shard %d in the ledger cannot be read: %w", shards[i].No, err)
		}
		for how, count := range checked {
			sums[how] += count
		}
		summary.Tables++
	}
	for how, count := range sums {
		noun := "indexes are"
		if count == 1 {
			noun = "index is"
		}
		summary.Checked = append(summary.Checked, fmt.Sprintf("%d %s as defined, %s", count, noun, how))
	}
	slices.Sort(summary.Checked)
	if len(shards) == 0 {
		summary.Checked = []string{"no index was built"}
	}
	return summary, nil
}
