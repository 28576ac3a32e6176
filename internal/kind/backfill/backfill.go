// Package backfill is the kind of migration that changes the rows of a big
// table in place: an UPDATE, or a statement of the user's, in many small
// transactions.
//
// It promises that each row is changed exactly once, whatever is killed
// meanwhile: the rows, their old values and the checkpoint are written in one
// transaction, guarded by the shard's epoch. Every expression sees a row as it
// was before, once. A rollback gives back the old values of every row that
// nobody else has changed since, and names the others.
//
// It leaves to others to keep a row's key as it is meanwhile: a row that moves
// from behind the checkpoint to before it is met again. A statement of the
// user's is run once for each range; what it does there is the user's.
package backfill

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// Backfill implements kind.Kind.
type Backfill struct {
	version string
	// sizes is how many rows the last chunk of a migration should have had, by
	// its id: the next shard begins with it.
	sizes sync.Map
	// looked is when this worker has last looked at a migration's table, by its
	// id: reading a definition takes some servers as long as a chunk.
	looked sync.Map
}

// New returns the kind; the version is noted in the ledger.
func New(version string) *Backfill { return &Backfill{version: version} }

var _ kind.Kind = (*Backfill)(nil)

// site is the database that is worked on.
type site struct{ kind.Site }

func open(ctx context.Context, run *kind.Run) (*site, error) {
	s, err := kind.OpenSite(ctx, run, run.Spec.Backfill.Database)
	return &site{s}, err
}

// Tend has nothing to do: nothing is noted for later.
func (b *Backfill) Tend(context.Context, *kind.Run) (task.TendResult, error) {
	return task.TendResult{}, nil
}

// item is the plan, as it stands in the ledger.
type item struct {
	Table *engine.Table `json:"table"`
	// Rewrite is the UPDATE; nil where a statement of the user's is run.
	Rewrite   *engine.Rewrite `json:"rewrite,omitempty"`
	Statement []string        `json:"statement,omitempty"`
	// Again says that the table is gone through again for rows that appear or
	// match again meanwhile.
	Again bool     `json:"again,omitempty"`
	Notes []string `json:"notes,omitempty"`

	state itemState
}

// itemNo is the number of the one item that a backfill has.
const itemNo = 1

// itemState says how far the backfill has come with what is not a shard's.
type itemState string

const (
	itemPlanned   itemState = "planned"
	itemReady     itemState = "ready"     // the table of old values is there
	itemClosing   itemState = "closing"   // the closing statement may have been run
	itemClosed    itemState = "closed"    // it has been
	itemReopening itemState = "reopening" // and what takes it back may have been, too
	itemUndoing   itemState = "undoing"   // some old values are back
	itemUndone    itemState = "undone"
	itemFinal     itemState = "final" // the old values are gone
)

// kept reports whether old values are saved.
func (it *item) kept() bool { return it.Rewrite != nil && it.Rewrite.Saved.Table != "" }

func (it *item) name() string { return it.Table.Name.String() }

// selection is a range of the table.
func (it *item) selection(within engine.Range) engine.Select {
	return engine.Select{Table: it.Table, Exprs: []string{"1"}, Range: within}
}

// load reads the plan back from the ledger.
func load(ctx context.Context, run *kind.Run) (*item, error) {
	rows, err := run.Ledger.Items(ctx)
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 {
		return nil, fmt.Errorf("the ledger has %d items of backfill %s instead of one", len(rows), run.Ref.ID)
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

// setState notes how the item stands, in the transaction that made it so.
func (it *item) setState(ctx context.Context, run *kind.Run, q engine.Querier, to itemState) error {
	if err := run.Ledger.SetItemState(ctx, q, itemNo, string(it.state), string(to)); err != nil {
		return err
	}
	it.state = to
	return nil
}

// number reads a query's one number, or two.
func number(ctx context.Context, q engine.Querier, query string, into ...any) error {
	rows, err := q.Query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return fault.New(task.Internal, "a count has no result: %s", query)
	}
	if err := rows.Scan(into...); err != nil {
		return err
	}
	for rows.Next() { //nolint:revive // to its end, where an error may be
	}
	return rows.Err()
}
