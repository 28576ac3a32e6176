package backfill

import (
	"context"
	"fmt"

	"godwit/internal/engine"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// FinishTransform looks for rows that have appeared, or match again, behind
// the place that was reached, and goes through the table again when there are
// any, as often as the spec allows.
func (b *Backfill) FinishTransform(ctx context.Context, run *kind.Run) (task.Work, error) {
	db, err := open(ctx, run)
	if err != nil {
		return task.Work{}, err
	}
	b.sizes.Delete(run.Ref.ID)
	b.looked.Delete(run.Ref.ID)
	it, err := load(ctx, run)
	if err != nil || !it.Again {
		return task.Work{}, err
	}
	shards, err := run.Ledger.Shards(ctx, task.Transform)
	if err != nil {
		return task.Work{}, err
	}
	work, err := run.Ledger.Work(ctx, task.Transform)
	if err != nil || len(work.Open) > 0 {
		return work, err // a pass that was planned before a crash
	}
	pass, err := passOf(&shards[len(shards)-1])
	if err != nil {
		return task.Work{}, err
	}
	since, err := passesSinceResume(ctx, run)
	if err != nil || since >= run.Spec.Backfill.Passes {
		return task.Work{}, err // verification tells what is left
	}
	left, err := matching(ctx, db, it, pass+1, engine.Range{}, true)
	if err != nil || left == 0 {
		return task.Work{}, err
	}
	more, err := cut(ctx, run, db, it, pass+1, len(shards))
	if err != nil {
		return task.Work{}, err
	}
	if err := run.Ledger.Note(ctx, task.Event{What: passBegins, Phase: task.Transform, Table: it.name(),
		Detail: fmt.Sprintf("pass %d: rows have appeared or match again", pass+1)}); err != nil {
		return task.Work{}, err
	}
	if err := run.Ledger.AppendShards(ctx, task.Transform, len(shards), more); err != nil {
		return task.Work{}, err
	}
	return run.Ledger.Work(ctx, task.Transform)
}

// The events that the passes are counted by.
const (
	passBegins = "pass begins"
	resumed    = "preflight passed again"
)

// eventsPage is how many events are read at once.
const eventsPage = 500

// passesSinceResume counts the passes since the migration began or was
// continued: who retries one whose table keeps getting rows that match wants
// more of them.
func passesSinceResume(ctx context.Context, run *kind.Run) (int, error) {
	passes, after := 1, int64(0)
	for {
		events, err := run.Ledger.Events(ctx, after, eventsPage)
		if err != nil {
			return 0, err
		}
		for _, e := range events {
			switch e.What {
			case passBegins:
				passes++
			case resumed:
				passes = 0
			}
			after = e.No
		}
		if len(events) < eventsPage {
			return passes, nil
		}
	}
}

// matching counts the rows of a range that a pass would change.
func matching(ctx context.Context, db *site, it *item, pass int, within engine.Range, any bool) (n int64, err error) {
	query, err := db.Matching(it.Rewrite, pass, within, any)
	if err != nil {
		return 0, err
	}
	return n, number(ctx, db, query, &n)
}

// lastPass is the pass of the last transform shard.
func lastPass(shards []ledger.Shard) (int, error) {
	if len(shards) == 0 {
		return 0, fmt.Errorf("the ledger has no shards of the backfill")
	}
	return passOf(&shards[len(shards)-1])
}
