package ddl

import (
	"context"
	"encoding/json"
	"fmt"

	"godwit/internal/engine"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/shard"
	"godwit/internal/task"
)

// prepare makes the shadow and what notes changes, in this order, and cuts the
// table: a chunk is copied when its changes are noted, and not before.
func (s *shadow) prepare(ctx context.Context) (task.Work, error) {
	if s.it.state == itemReady {
		if err := s.make(ctx); err != nil {
			return task.Work{}, s.leaveNothing(ctx, err)
		}
	}
	if s.it.state == itemCopying { // a call before this one may not have come to note its end
		swapped, err := isSwapped(ctx, s.db, s.it)
		if err != nil {
			return task.Work{}, err
		}
		if swapped {
			if err := s.it.setState(ctx, s.run, s.db, itemAltered); err != nil {
				return task.Work{}, err
			}
		}
	}
	work, err := s.run.Ledger.Work(ctx, task.Transform)
	if err != nil || s.run.Spec.Throttle.None {
		return work, err
	}
	terms, err := s.db.CopyTerms(ctx, s.it.Table)
	work.Streams = terms.Streams
	return work, err
}

func (s *shadow) make(ctx context.Context) error {
	if err := s.steered(ctx); err != nil {
		return err
	}
	if err := s.db.CreateShadow(ctx, s.r); err != nil {
		return err
	}
	hook.At("shadow made")
	if err := s.noteChanges(ctx, task.Transform, s.r.Capture); err != nil {
		return err
	}
	hook.At("capture made")
	shards, err := s.cut(ctx)
	if err != nil {
		return err
	}
	if err := s.run.Ledger.PlanShards(ctx, task.Transform, shards); err != nil {
		return err
	}
	return s.it.setState(ctx, s.run, s.db, itemCopying)
}

// leaveNothing removes what an attempt has made that was frozen for so long that
// the migration has been undone meanwhile: nobody else would. What another
// attempt, or another migration, goes on with is left to it.
func (s *shadow) leaveNothing(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	now, err := load(ctx, s.run)
	if err != nil || now.state != itemUndone || s.run.Ledger.CheckClaims(ctx, []string{s.it.name()}) != nil {
		return cause
	}
	if err := s.db.DropCapture(ctx, s.r.Capture); err != nil {
		return fmt.Errorf("%w (and the triggers that it has made could not be removed: %v)", cause, err)
	}
	if err := s.db.DropBeside(ctx, s.r, s.r.Shadow); err != nil {
		return fmt.Errorf("%w (and the table that it has made could not be removed: %v)", cause, err)
	}
	return cause
}

// noteChanges makes what notes changes, when a gap is found for its lock. An
// attempt that no longer steers makes none.
func (s *shadow) noteChanges(ctx context.Context, phase task.Phase, c *engine.Capture) error {
	l := s.lock(phase, "the triggers that note changes", []engine.Name{c.Table.Name})
	return l.patiently(ctx, func(ctx context.Context) error {
		if err := s.steered(ctx); err != nil {
			return err
		}
		hook.At("before capture")
		return s.db.CreateCapture(ctx, c)
	})
}

// lock is the wait for the lock of some tables, for what it is needed.
func (s *shadow) lock(phase task.Phase, what string, tables []engine.Name) *lock {
	return &lock{run: s.run, db: s.db, it: s.it, phase: phase, tables: tables, brief: true, tell: func(waiting string) {
		s.run.Beat(task.Heartbeat{Phase: phase, Table: s.it.name(), Checkpoint: what, WaitingFor: waiting})
	}}
}

// cut divides the table into shards. What is there by now ends at the last key;
// all that comes after it is noted and needs no copying, or a table that grows
// faster than it is copied would have no end.
func (s *shadow) cut(ctx context.Context) ([]ledger.Shard, error) {
	now, err := s.db.Table(ctx, s.r.Table.Name)
	if err != nil {
		return nil, err
	}
	last, found, err := s.db.Last(ctx, s.copied(engine.Range{}))
	if err != nil {
		return nil, err
	}
	rest := ledger.Shard{No: 1, Table: s.it.name(), Part: 1, Parts: 1, State: ledger.ShardDone}
	if !found {
		return []ledger.Shard{rest}, nil
	}
	bounds, err := s.db.Split(ctx, s.copied(engine.Range{Until: last}), shard.Rows(s.run.Spec.DDL.Shards.Rows, now.Rows, shard.RewriteRows))
	if err != nil {
		return nil, err
	}
	shards := make([]ledger.Shard, len(bounds)+1)
	var low engine.Key
	for i, high := range append(bounds, last) {
		shards[i] = ledger.Shard{No: i + 1, Table: s.it.name(), Part: i + 1, Parts: len(shards), Range: engine.Range{After: low, Until: high},
			RowsEstimate: now.Rows / int64(len(shards))}
		low = high
	}
	rest.No, rest.Part, rest.Parts, rest.Range = len(shards)+1, len(shards)+1, len(shards)+1, engine.Range{After: last}
	return append(shards, rest), nil
}

// buildShard is a transform shard that builds an index or a key of the shadow.
type buildShard struct {
	engine.Build
	no   int
	done bool
}

// split tells the shards that copy rows from those that build something.
func split(all []ledger.Shard) (copies []ledger.Shard, builds []buildShard, err error) {
	for i := range all {
		if all[i].Definition == nil {
			copies = append(copies, all[i])
			continue
		}
		b := buildShard{no: all[i].No, done: all[i].State == ledger.ShardDone}
		if err := json.Unmarshal(all[i].Definition, &b.Build); err != nil {
			return nil, nil, fmt.Errorf("shard %d in the ledger cannot be read: %w", all[i].No, err)
		}
		builds = append(builds, b)
	}
	return copies, builds, nil
}

// shards are the transform shards as the ledger has them.
func (s *shadow) shards(ctx context.Context) (copies []ledger.Shard, builds []buildShard, err error) {
	all, err := s.run.Ledger.Shards(ctx, task.Transform)
	if err != nil {
		return nil, nil, err
	}
	return split(all)
}

// finish plans what is built when the rows are there, first the keys; and when
// everything is built, it catches up with the application.
func (s *shadow) finish(ctx context.Context) (task.Work, error) {
	if s.it.state == itemAltered {
		return task.Work{}, nil
	}
	copies, builds, err := s.shards(ctx)
	if err != nil {
		return task.Work{}, err
	}
	if next := s.unplanned(builds); len(next) > 0 {
		more := make([]ledger.Shard, len(next))
		for i, b := range next {
			definition, err := json.Marshal(b)
			if err != nil {
				return task.Work{}, err
			}
			more[i] = ledger.Shard{Table: s.it.name() + ": " + b.Name, Part: 1, Parts: 1, Definition: definition}
		}
		if err := s.run.Ledger.AppendShards(ctx, task.Transform, len(copies)+len(builds), more); err != nil {
			return task.Work{}, err
		}
	}
	work, err := s.run.Ledger.Work(ctx, task.Transform)
	if err != nil || len(work.Open) > 0 {
		return work, err
	}
	stop := s.run.KeepTouching()
	defer stop()
	if err := s.db.FreshenShadow(ctx, s.r); err != nil {
		return task.Work{}, err
	}
	return task.Work{}, s.catchUp(ctx)
}

// unplanned are the next builds that have no shard yet: keys before the others.
func (s *shadow) unplanned(planned []buildShard) []engine.Build {
	var keys, others []engine.Build
	for _, b := range s.r.Builds {
		known := false
		for _, p := range planned {
			known = known || p.Name == b.Name
		}
		switch {
		case known:
		case b.Key:
			keys = append(keys, b)
		default:
			others = append(others, b)
		}
	}
	if len(keys) > 0 {
		return keys
	}
	return others
}

// build does the shard of a build.
func (s *shadow) build(ctx context.Context, lease *ledger.Lease, b engine.Build) error {
	if err := s.run.Throttle.Wait(ctx, 0, 0); err != nil {
		return err
	}
	s.run.Beat(task.Heartbeat{Phase: task.Transform, Table: s.it.name(), Shard: lease.No, Checkpoint: engine.ShortStatement(b.SQL)})
	stop := s.run.KeepTouching()
	defer stop()
	hook.At("before build")
	err := s.db.BuildShadow(ctx, s.r, b)
	for try := 1; err != nil && s.db.IsClash(err) && !b.Key && try <= mostSweeps; try++ {
		// The copy may have rows of different moments, as long as it is not drained.
		if err := s.catchUp(ctx); err != nil {
			return err
		}
		err = s.db.BuildShadow(ctx, s.r, b)
	}
	if err != nil && ctx.Err() == nil && kind.Classify(err).Class != task.Busy {
		// An attempt before this one may have had it built just now.
		err = s.db.BuildShadow(ctx, s.r, b)
	}
	if err != nil {
		return err
	}
	hook.At("built")
	p := ledger.Progress{Done: true}
	if err := lease.Advance(ctx, s.run.Ledger.DB(), p); err != nil {
		return err
	}
	lease.Committed(p)
	return nil
}
