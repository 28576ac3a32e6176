package ddl

import (
	"context"
	"slices"

	"godwit/internal/capture"
	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// shadow is a change by an online copy, as one call of the kind sees it: a new
// table beside the one in use, the shadow, gets its rows shard by shard, while
// triggers note what the application changes and a drainer follows it. When
// both have been compared, the shadow takes the table's place.
type shadow struct {
	d   *DDL
	run *kind.Run
	db  *site
	it  *item
	r   *engine.Reshaping
}

// shadowOf is the online copy of an item; nil where it is altered directly.
func (d *DDL) shadowOf(run *kind.Run, db *site, it *item) *shadow {
	if it.Reshaping == nil {
		return nil
	}
	return &shadow{d: d, run: run, db: db, it: it, r: it.Reshaping}
}

// reshape plans an online copy.
func reshape(ctx context.Context, run *kind.Run, db *site, table *engine.Table) (*item, error) {
	s := run.Spec.DDL
	if len(table.Key) == 0 {
		return nil, fault.About(table.Name.String(), task.Config, "%s has no key that ranges can be cut by (%s): give it a primary key, or a unique key without NULLs", table.Name, table.KeyProblem)
	}
	inline, err := inlineIndexes(ctx, run, db)
	if err != nil {
		return nil, err
	}
	r, err := db.Reshape(ctx, &engine.Reshape{Table: table, Alter: s.Alter, Renames: s.Renames, Columns: s.Columns, Inline: inline, KeepOld: keeps(run.Spec)})
	if err != nil {
		return nil, err
	}
	if err := capture.CheckProjection(r.Capture, r.Forward); err != nil {
		return nil, err
	}
	if r.Reverse != nil {
		if err := capture.CheckProjection(r.Back, r.Reverse); err != nil {
			r.Reverse, r.OneWay = nil, err.Error()
		}
	}
	if err := db.ExplainRange(ctx, engine.Select{Table: table}); err != nil {
		return nil, err
	}
	it := &item{Table: table, Reshaping: r, Alteration: engine.Alteration{Before: r.Before, After: r.After, Notes: slices.Clone(r.Notes), Tests: r.Tests}}
	switch {
	case !keeps(run.Spec):
		it.Notes = append(it.Notes, "the cut-over is the point of no return: keep_old is 0")
	case r.OneWay != "":
		it.Notes = append(it.Notes, "the cut-over is the point of no return: "+r.OneWay)
	}
	return it, nil
}

// keeps reports whether a way back is wanted after the cut-over.
func keeps(s *spec.Spec) bool { return s.DDL.KeepOld != nil && *s.DDL.KeepOld > 0 }

// inlineIndexes decides when the shadow gets the indexes that only serve
// readers. One long statement that builds them puts replicas behind.
func inlineIndexes(ctx context.Context, run *kind.Run, db *site) (bool, error) {
	switch run.Spec.DDL.Indexes {
	case spec.InlineIndexes:
		return true, nil
	case spec.AfterIndexes:
		return false, nil
	}
	if len(run.Spec.Throttle.Replicas) > 0 {
		return true, nil
	}
	return db.RepeatsStatements(ctx)
}

// copied is the selection of the table's rows that a range has.
func (s *shadow) copied(within engine.Range) engine.Select {
	return engine.Select{Table: s.r.Table, Range: within}
}

// sink writes rows of the table to the shadow; the fence, where there is one,
// shuts out an attempt that no longer steers the migration.
func (s *shadow) sink(fenced bool) *capture.Local {
	sink := &capture.Local{DB: s.db, Capture: s.r.Capture, Projection: s.r.Forward}
	if fenced {
		sink.Fence = s.run.Ledger.Steers
	}
	return sink
}

// steered refuses an attempt that no longer steers the migration.
func (s *shadow) steered(ctx context.Context) error {
	return s.db.Transaction(ctx, func(tx engine.Tx) error { return s.run.Ledger.Steers(ctx, tx) })
}

// keyed reports whether the shadow has the key by which rows are found again.
func (s *shadow) keyed(ctx context.Context) (bool, error) {
	if !s.r.Keyless {
		return true, nil
	}
	shards, err := s.run.Ledger.Shards(ctx, task.Transform)
	if err != nil {
		return false, err
	}
	_, builds, err := split(shards)
	return slices.ContainsFunc(builds, func(b buildShard) bool { return b.Key && b.done }), err
}

// live is the way back as it is after the cut-over: the new table has the name,
// and the old one follows it.
func (s *shadow) live() *engine.Reshaping {
	table := *s.r.Made
	table.Name = s.r.Table.Name
	back := *s.r.Back
	back.Table = &table
	old := *s.r.Table
	old.Name = s.r.Old
	return &engine.Reshaping{Table: &table, Made: &old, Shadow: s.r.Old, Old: s.r.Shadow, Capture: &back, Forward: s.r.Reverse}
}
