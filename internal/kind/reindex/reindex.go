// Package reindex is the kind of migration that rebuilds, makes and drops indexes
// of tables in use.
//
// It promises that readers and writers go on while an index is built, that an
// attempt first looks what the one before it has left, by the catalog, and never
// begins a second build beside one that still runs; that no invalid, half-made or
// doubled index is left by a build that was cancelled, killed or refused, once
// the next attempt, the cancel or the rollback has looked; and that an index which
// somebody else is building is left alone. An index is dropped in the cut-over,
// when the others are built and verified, and comes back in a rollback.
//
// One build cannot be held or slowed down. It begins when no guard of the
// throttle is above its low watermark, and it is given up when one of them stays
// far beyond its limit, to be begun again later with fewer workers and less
// memory. What a server can build beside its writers, and how far a build has
// come, is the engines' to know. Rows are counts of what is read, sizes bytes.
package reindex

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"godwit/internal/engine"
	"godwit/internal/kind"
	"godwit/internal/kind/ddl"
	"godwit/internal/task"
)

// Reindex implements kind.Kind.
type Reindex struct {
	version string
	copy    kind.Kind // which writes a table anew
	usual   memory
}

// New returns the kind; the version is noted in the ledger.
func New(version string) *Reindex { return &Reindex{version: version, copy: ddl.New(version)} }

var (
	_ kind.Kind    = (*Reindex)(nil)
	_ kind.Sweeper = (*Reindex)(nil)
)

// site is the database that is worked on.
type site struct{ kind.Site }

func open(ctx context.Context, run *kind.Run) (*site, error) {
	s, err := kind.OpenSite(ctx, run, run.Spec.Reindex.Database)
	if err != nil {
		return nil, err
	}
	return &site{s}, nil
}

// Tend keeps up an online copy. Otherwise nothing changes while the migration waits.
func (r *Reindex) Tend(ctx context.Context, run *kind.Run) (task.TendResult, error) {
	if copies(run) {
		return r.copy.Tend(ctx, run)
	}
	return task.TendResult{}, nil
}

// item is one index, as it stands in the ledger.
type item struct {
	engine.IndexWork
	no    int
	state itemState
}

// itemState says how far an index has come with what is not a shard's.
type itemState string

const (
	itemPlanned itemState = "planned"
	itemReady   itemState = "ready" // its definition is noted
	itemUndone  itemState = "undone"
	itemFinal   itemState = "final" // there is no way back any more
)

func (it *item) name() string { return it.IndexWork.Name().String() }

// load reads the plan back from the ledger.
func load(ctx context.Context, run *kind.Run) ([]*item, error) {
	rows, err := run.Ledger.Items(ctx)
	if err != nil {
		return nil, err
	}
	items := make([]*item, len(rows))
	for i, row := range rows {
		items[i] = &item{no: row.No, state: itemState(row.State)}
		if err := json.Unmarshal(row.Definition, &items[i].IndexWork); err != nil {
			return nil, fmt.Errorf("the plan of %s in the ledger cannot be read: %w", row.Name, err)
		}
	}
	return items, nil
}

// both opens the database and reads the plan.
func both(ctx context.Context, run *kind.Run) (*site, []*item, error) {
	db, err := open(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	items, err := load(ctx, run)
	return db, items, err
}

// setStates notes how the items stand, in the transaction that makes it so.
func setStates(ctx context.Context, run *kind.Run, q engine.Querier, items []*item, to itemState) error {
	for _, it := range items {
		if it.state == to {
			continue
		}
		if err := run.Ledger.SetItemState(ctx, q, it.no, string(it.state), string(to)); err != nil {
			return err
		}
		it.state = to
	}
	return nil
}

// built and dropped are the items that are built, and those that go.
func built(items []*item) []*item {
	return slices.DeleteFunc(slices.Clone(items), func(it *item) bool { return it.Action == engine.DropIndex })
}

func dropped(items []*item) []*item {
	return slices.DeleteFunc(slices.Clone(items), func(it *item) bool { return it.Action != engine.DropIndex })
}

// tablesOf are the tables of some items, each once.
func tablesOf(items []*item) (names []engine.Name) {
	for _, it := range items {
		if !slices.Contains(names, it.Table) {
			names = append(names, it.Table)
		}
	}
	return names
}
