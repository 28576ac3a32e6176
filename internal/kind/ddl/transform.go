package ddl

import (
	"context"
	"encoding/json"

	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// stepsShard is the number of the one shard of a phase: its steps are done one
// after the other.
const stepsShard = 1

// progress is how far a shard has come, kept as its digest.
type progress struct {
	// Done is how many of its steps are done.
	Done int `json:"done"`
	// Began counts the one that has been begun, where its outcome may have to be
	// looked for, and Before is the table's definition before it.
	Began  int    `json:"began,omitempty"`
	Before string `json:"before,omitempty"`
}

// progressOf is how far the steps of a phase have come.
func progressOf(ctx context.Context, run *kind.Run, phase task.Phase) (p progress, err error) {
	shards, err := run.Ledger.Shards(ctx, phase)
	if err != nil || len(shards) == 0 {
		return progress{}, err
	}
	return readProgress(shards[0].Digest)
}

func readProgress(digest json.RawMessage) (p progress, err error) {
	if digest != nil {
		err = json.Unmarshal(digest, &p)
	}
	return p, err
}

// plans makes the one shard of a phase.
func plans(ctx context.Context, run *kind.Run, it *item, phase task.Phase) error {
	return run.Ledger.PlanShards(ctx, phase, []ledger.Shard{{No: stepsShard, Table: it.name(), Part: 1, Parts: 1}})
}

// PrepareTransform plans the steps that come before the cut-over, or begins an
// online copy.
func (d *DDL) PrepareTransform(ctx context.Context, run *kind.Run) (task.Work, error) {
	db, it, err := both(ctx, run)
	if err != nil {
		return task.Work{}, err
	}
	if s := d.shadowOf(run, db, it); s != nil {
		return s.prepare(ctx)
	}
	if len(it.steps(false)) == 0 {
		return task.Work{}, nil
	}
	if err := plans(ctx, run, it, task.Transform); err != nil {
		return task.Work{}, err
	}
	return run.Ledger.Work(ctx, task.Transform)
}

// TransformShard does the steps that come before the cut-over, or copies a shard.
func (d *DDL) TransformShard(ctx context.Context, run *kind.Run, in task.ShardInput) (task.ShardResult, error) {
	db, it, err := both(ctx, run)
	if err != nil {
		return task.ShardResult{}, err
	}
	if s := d.shadowOf(run, db, it); s != nil {
		return s.shard(ctx, in)
	}
	return doSteps(ctx, run, in, false)
}

// FinishTransform builds the indexes of an online copy and catches up with the
// application. After steps it has nothing to do.
func (d *DDL) FinishTransform(ctx context.Context, run *kind.Run) (task.Work, error) {
	db, it, err := both(ctx, run)
	if err != nil {
		return task.Work{}, err
	}
	if s := d.shadowOf(run, db, it); s != nil {
		return s.finish(ctx)
	}
	return task.Work{}, nil
}

// stands refuses to begin anything of a migration that has been undone while
// this attempt was frozen: its shard can be claimed like any other.
func stands(ctx context.Context, run *kind.Run) error {
	now, err := load(ctx, run)
	if err == nil && now.state == itemUndone {
		return fault.New(task.Superseded, "the migration has been undone; this attempt has done nothing")
	}
	return err
}

// doSteps is one attempt at the steps of a phase, in a session that ends with it.
func doSteps(ctx context.Context, run *kind.Run, in task.ShardInput, final bool) (task.ShardResult, error) {
	db, it, err := both(ctx, run)
	if err != nil {
		return task.ShardResult{}, err
	}
	session, err := db.Session(ctx)
	if err != nil {
		return task.ShardResult{}, err
	}
	defer session.Destroy() // its settings are not those of the pool's other sessions
	hook.At("session taken")
	return run.Attempt(ctx, in, session.ID(), func(lease *ledger.Lease) error {
		if err := stands(ctx, run); err != nil {
			return err
		}
		p, err := readProgress(lease.Digest)
		if err != nil {
			return err
		}
		w := &work{run: run, db: db, it: it, lease: lease, session: session, progress: p, steps: it.steps(final)}
		return w.do(ctx)
	})
}
