package backfill

import (
	"context"
	"encoding/json"

	"godwit/internal/engine"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/shard"
	"godwit/internal/task"
)

// part is what a transform shard knows besides its range.
type part struct {
	Pass int `json:"pass"`
}

// changed is what a transform shard has done, kept as its digest.
type changed struct {
	Rows int64 `json:"rows"`
	// Chunks is how many transactions it took, and Longest how long, in
	// seconds, the longest of them before its commit.
	Chunks  int64   `json:"chunks"`
	Longest float64 `json:"longest_seconds"`
}

// PrepareTransform cuts the table into shards.
func (b *Backfill) PrepareTransform(ctx context.Context, run *kind.Run) (task.Work, error) {
	db, err := open(ctx, run)
	if err != nil {
		return task.Work{}, err
	}
	it, err := load(ctx, run)
	if err != nil {
		return task.Work{}, err
	}
	planned, err := run.Ledger.Shards(ctx, task.Transform)
	if err != nil {
		return task.Work{}, err
	}
	if len(planned) == 0 {
		shards, err := cut(ctx, run, db, it, 1, 0)
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

// cut divides the table for a pass; before is how many shards there are already.
func cut(ctx context.Context, run *kind.Run, db *site, it *item, pass, before int) ([]ledger.Shard, error) {
	now, err := db.Table(ctx, it.Table.Name) // the table grows meanwhile
	if err != nil {
		return nil, err
	}
	bounds, err := db.Split(ctx, it.selection(engine.Range{}), shard.Rows(run.Spec.Backfill.Shards.Rows, now.Rows, shard.RewriteRows))
	if err != nil {
		return nil, err
	}
	definition, err := json.Marshal(part{Pass: pass})
	if err != nil {
		return nil, err
	}
	shards := make([]ledger.Shard, len(bounds)+1)
	var low engine.Key
	for i := range shards {
		var high engine.Key
		if i < len(bounds) {
			high = bounds[i]
		}
		shards[i] = ledger.Shard{No: before + i + 1, Table: it.name(), Part: i + 1, Parts: len(shards), Range: engine.Range{After: low, Until: high},
			Definition: definition, RowsEstimate: now.Rows / int64(len(shards))}
		low = high
	}
	return shards, nil
}

// passOf is the pass that a transform shard belongs to.
func passOf(s *ledger.Shard) (int, error) {
	var p part
	err := json.Unmarshal(s.Definition, &p)
	return p.Pass, err
}

// changedBy is what a transform shard has done so far.
func changedBy(s *ledger.Shard) (c changed, err error) {
	if s.Digest != nil {
		err = json.Unmarshal(s.Digest, &c)
	}
	return c, err
}
