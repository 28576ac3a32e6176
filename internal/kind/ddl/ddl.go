// Package ddl is the kind of migration that changes the definition of a big
// table while it is being used: directly, by a change of the catalog alone or
// in steps that keep nobody out while rows are read; or by an online copy, the
// shadow, that takes the table's place in the end (the files shadow_….go).
//
// It promises that nobody waits behind the table's lock for longer than one try
// may take (cutover.timeout), that a statement whose outcome is not known is
// looked for in the catalog before it is run again, and that until the last
// step everything can be taken back: no clone, no half-made constraint or index,
// no trigger and no copy is left behind. What an ALTER does is found out on an
// empty clone beforehand. A shadow takes the table's place when all rows have
// been compared with it, and what has changed since under the table's lock; the
// old table is then kept up to date until there is no way back any more.
//
// It leaves to others to take back a direct change (undo), to note and apply
// what changes meanwhile (package capture), and to know what hangs on a table
// (the engines).
package ddl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// DDL implements kind.Kind.
type DDL struct {
	version string
	// sizes are how many rows the chunks of the migrations have had, and turns
	// whose turn it is to drain.
	sizes, turns sync.Map
}

// New returns the kind; the version is noted in the ledger.
func New(version string) *DDL { return &DDL{version: version} }

var (
	_ kind.Kind    = (*DDL)(nil)
	_ kind.Sweeper = (*DDL)(nil)
)

// site is the database that is worked on.
type site struct{ kind.Site }

func open(ctx context.Context, run *kind.Run) (*site, error) {
	return openNamed(ctx, run, run.Spec.DDL.Database)
}

func openNamed(ctx context.Context, run *kind.Run, name string) (*site, error) {
	s, err := kind.OpenSite(ctx, run, name)
	return &site{s}, err
}

// Tend drains what an online copy has noted.
func (d *DDL) Tend(ctx context.Context, run *kind.Run) (task.TendResult, error) {
	db, it, err := both(ctx, run)
	if err != nil {
		return task.TendResult{}, err
	}
	if s := d.shadowOf(run, db, it); s != nil {
		return s.tend(ctx)
	}
	return task.TendResult{}, nil
}

// Sweep drops what a preflight that was cut short may have left.
func (d *DDL) Sweep(ctx context.Context, run *kind.Run) error {
	db, err := openNamed(ctx, run, run.Ref.Ledger)
	if err != nil {
		return err
	}
	return db.SweepClones(ctx)
}

// item is the plan, as it stands in the ledger.
type item struct {
	Table *engine.Table `json:"table"`
	engine.Alteration
	// Reshaping is the plan of an online copy; nil where the table is altered directly.
	Reshaping *engine.Reshaping `json:"reshaping,omitempty"`

	state itemState
}

// itemNo is the number of the one item that a change of a table has.
const itemNo = 1

// itemState says how far the change has come with what is not a shard's.
type itemState string

const (
	itemPlanned itemState = "planned"
	itemReady   itemState = "ready"   // the definition before is noted
	itemCopying itemState = "copying" // the shadow is there, and changes are noted
	itemAltered itemState = "altered" // the last step has been done
	itemUndone  itemState = "undone"
	itemFinal   itemState = "final" // there is no way back any more
)

func (it *item) name() string { return it.Table.Name.String() }

// steps are the steps before the cut-over, or those of the cut-over.
func (it *item) steps(final bool) []engine.Step {
	var list []engine.Step
	for _, step := range it.Steps {
		if step.Final == final {
			list = append(list, step)
		}
	}
	return list
}

// load reads the plan back from the ledger.
func load(ctx context.Context, run *kind.Run) (*item, error) {
	rows, err := run.Ledger.Items(ctx)
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 {
		return nil, fmt.Errorf("the ledger has %d items of migration %s instead of one", len(rows), run.Ref.ID)
	}
	return parse(rows[0])
}

func parse(row ledger.Item) (*item, error) {
	it := &item{state: itemState(row.State)}
	if err := json.Unmarshal(row.Definition, it); err != nil {
		return nil, fmt.Errorf("the plan of %s in the ledger cannot be read: %w", row.Name, err)
	}
	return it, nil
}

// both opens the database and reads the plan.
func both(ctx context.Context, run *kind.Run) (*site, *item, error) {
	db, err := open(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	it, err := load(ctx, run)
	return db, it, err
}

// setState notes how the item stands, in the transaction that made it so.
func (it *item) setState(ctx context.Context, run *kind.Run, q engine.Querier, to itemState) error {
	if err := run.Ledger.SetItemState(ctx, q, itemNo, string(it.state), string(to)); err != nil {
		return err
	}
	it.state = to
	return nil
}

// shape is the table's definition as it is now, as lines.
func (s *site) shape(ctx context.Context, name engine.Name) (engine.Shape, error) {
	t, err := s.Table(ctx, name)
	if err != nil {
		return nil, err
	}
	return engine.ShapeOf(t, s.Dialect() == engine.PostgresDialect), nil
}

// word is the one text that a query gives.
func word(ctx context.Context, q engine.Querier, query string) (text string, err error) {
	rows, err := q.Query(ctx, query)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return "", err
		}
		return "", fault.New(task.Internal, "no answer to: %s", query)
	}
	if err := rows.Scan(&text); err != nil {
		return "", err
	}
	for rows.Next() { //nolint:revive // to its end, where an error may be
	}
	return text, rows.Err()
}
