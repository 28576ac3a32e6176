package reindex

import (
	"context"
	"encoding/json"
	"fmt"

	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// shardOf is what a shard of any phase is about: items, by their numbers.
type shardOf struct {
	Items []int `json:"items"`
}

// shardFor makes the shard of some items of a table.
func shardFor(no int, label string, items ...*item) (ledger.Shard, error) {
	of := shardOf{}
	s := ledger.Shard{No: no, Table: label, Part: 1, Parts: 1}
	for _, it := range items {
		of.Items = append(of.Items, it.no)
		s.RowsEstimate += it.Rows
	}
	var err error
	s.Definition, err = json.Marshal(of)
	return s, err
}

// itemsOf are the items of a shard.
func itemsOf(s *ledger.Shard, all []*item) ([]*item, error) {
	var of shardOf
	if err := json.Unmarshal(s.Definition, &of); err != nil {
		return nil, fmt.Errorf("shard %d in the ledger cannot be read: %w", s.No, err)
	}
	var items []*item
	for _, no := range of.Items {
		for _, it := range all {
			if it.no == no {
				items = append(items, it)
			}
		}
	}
	if len(items) != len(of.Items) {
		return nil, fault.New(task.Internal, "the ledger does not have all indexes of shard %d", s.No)
	}
	return items, nil
}

// PrepareTransform makes a shard of each index that is built, the largest first.
func (r *Reindex) PrepareTransform(ctx context.Context, run *kind.Run) (task.Work, error) {
	if copies(run) {
		return r.copy.PrepareTransform(ctx, run)
	}
	items, err := load(ctx, run)
	if err != nil {
		return task.Work{}, err
	}
	if err := plans(ctx, run, task.Transform, built(items)); err != nil {
		return task.Work{}, err
	}
	hook.At("table cut")
	return run.Ledger.Work(ctx, task.Transform)
}

// plans makes a shard of each item.
func plans(ctx context.Context, run *kind.Run, phase task.Phase, items []*item) error {
	var shards []ledger.Shard
	for i, it := range items {
		s, err := shardFor(i+1, it.name(), it)
		if err != nil {
			return err
		}
		shards = append(shards, s)
	}
	return run.Ledger.PlanShards(ctx, phase, shards)
}

// TransformShard builds one index.
func (r *Reindex) TransformShard(ctx context.Context, run *kind.Run, in task.ShardInput) (task.ShardResult, error) {
	if copies(run) {
		return r.copy.TransformShard(ctx, run, in)
	}
	return r.attempt(ctx, run, in)
}

// FinishTransform ends an online copy. Otherwise what is built is in use already.
func (r *Reindex) FinishTransform(ctx context.Context, run *kind.Run) (task.Work, error) {
	if copies(run) {
		return r.copy.FinishTransform(ctx, run)
	}
	return task.Work{}, nil
}

// stands refuses to begin anything of a migration that has been undone while
// this attempt was frozen: its shard can be claimed like any other.
func stands(ctx context.Context, run *kind.Run) error {
	now, err := load(ctx, run)
	if err == nil && len(now) > 0 && now[0].state == itemUndone {
		return fault.New(task.Superseded, "the migration has been undone; this attempt has done nothing")
	}
	return err
}

// attempt is one attempt at an index, in a session that ends with it.
func (r *Reindex) attempt(ctx context.Context, run *kind.Run, in task.ShardInput) (task.ShardResult, error) {
	db, all, err := both(ctx, run)
	if err != nil {
		return task.ShardResult{}, err
	}
	session, err := db.Session(ctx)
	if err != nil {
		return task.ShardResult{}, err
	}
	w := &work{run: run, db: db, session: session, usual: &r.usual}
	defer w.leave()
	hook.At("session taken")
	return run.Attempt(ctx, in, session.ID(), func(lease *ledger.Lease) error {
		hook.At("shard claimed")
		if err := stands(ctx, run); err != nil {
			return err
		}
		items, err := itemsOf(&lease.Shard, all)
		if err != nil {
			return err
		}
		w.lease, w.it = lease, items[0]
		if lease.Digest != nil {
			if err := json.Unmarshal(lease.Digest, &w.progress); err != nil {
				return fmt.Errorf("the progress of %s in the ledger cannot be read: %w", w.it.name(), err)
			}
		}
		return w.do(ctx)
	})
}

// progress is how far an index has come, kept as its shard's digest.
type progress struct {
	// Begun is how many of its steps have been begun, and Mark the index's mark
	// before the last of them.
	Begun int    `json:"begun"`
	Mark  string `json:"mark,omitempty"`
	// GivenUp is how many times its build was given up because of the throttle.
	GivenUp int `json:"given_up,omitempty"`
}

// progressOf reads the progress of the shards of a phase, by item.
func progressOf(ctx context.Context, run *kind.Run, phase task.Phase, all []*item) (map[int]progress, error) {
	shards, err := run.Ledger.Shards(ctx, phase)
	if err != nil {
		return nil, err
	}
	found := map[int]progress{}
	for i := range shards {
		items, err := itemsOf(&shards[i], all)
		if err != nil {
			return nil, err
		}
		var p progress
		if shards[i].Digest != nil {
			if err := json.Unmarshal(shards[i].Digest, &p); err != nil {
				return nil, err
			}
		}
		found[items[0].no] = p
	}
	return found, nil
}
