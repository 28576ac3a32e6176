package copydb

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"godwit/internal/codec"
	"godwit/internal/engine"
	"godwit/internal/engine/postgres"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// item is one table's plan, as it stands in the ledger.
type item struct {
	No     int           `json:"no"`
	Source *engine.Table `json:"source"`
	// Target is the table to be made, or the existing one.
	Target *engine.Table `json:"target"`
	Row    *codec.Row    `json:"row"`
	Where  string        `json:"where,omitempty"`
	// Create says that Godwit makes the table; otherwise it uses what is there.
	Create bool `json:"create"`
	// Replace says that a table with rows is there, which is set aside first.
	Replace bool `json:"replace,omitempty"`
	// ForeignKeys are those of an existing table. Its rows come in any order, so
	// they are taken off for the load and put back, and checked, after it.
	ForeignKeys []postgres.Constraint `json:"foreign_keys,omitempty"`
	// Sequences are where those of an existing table stood; the cut-over moves them on.
	Sequences []postgres.SequenceState `json:"sequences,omitempty"`
	// MakeSchema says that the table's schema is not there yet.
	MakeSchema bool     `json:"make_schema,omitempty"`
	Notes      []string `json:"notes,omitempty"`

	state itemState
}

// itemState says what has been done to a target table, written in the
// transaction that did it.
type itemState string

const (
	itemPlanned itemState = "planned"
	itemAside   itemState = "aside"   // the old table, or its rows, are set aside
	itemReady   itemState = "ready"   // the table is there to be loaded
	itemUndone  itemState = "undone"  // rolled back
	itemDropped itemState = "dropped" // what was set aside is gone: the copy is final
)

func (it *item) source() string { return it.Source.Name.String() }
func (it *item) target() string { return it.Target.Name.String() }

// sourceSelect reads the columns that are copied, in key order.
func (it *item) sourceSelect(bounds engine.Range) engine.Select {
	return engine.Select{Table: it.Source, Exprs: it.Row.SourceExprs(), Range: bounds, Where: it.Where, Ordered: len(it.Source.Key) > 0}
}

// load reads the plan back from the ledger.
func load(ctx context.Context, run *kind.Run) ([]*item, error) {
	rows, err := run.Ledger.Items(ctx)
	if err != nil {
		return nil, err
	}
	items := make([]*item, len(rows))
	for i, row := range rows {
		it := &item{state: itemState(row.State)}
		if err := json.Unmarshal(row.Definition, it); err != nil {
			return nil, fmt.Errorf("the plan of %s in the ledger cannot be read: %w", row.Name, err)
		}
		if err := it.Row.Bind(); err != nil {
			return nil, fmt.Errorf("the plan of %s: %w", row.Name, err)
		}
		items[i] = it
	}
	return items, nil
}

// find returns the item of a shard's table.
func find(items []*item, target string) (*item, error) {
	for _, it := range items {
		if it.target() == target {
			return it, nil
		}
	}
	return nil, fmt.Errorf("the ledger has no plan for %s", target)
}

// entries makes the ledger's rows of a plan.
func entries(items []*item) ([]ledger.Item, error) {
	rows := make([]ledger.Item, len(items))
	for i, it := range items {
		definition, err := json.Marshal(it)
		if err != nil {
			return nil, err
		}
		rows[i] = ledger.Item{No: it.No, Name: it.target(), State: string(itemPlanned), Definition: definition}
	}
	return rows, nil
}

// keyText shows the key of a row that was read with sourceSelect.
func (it *item) keyText(raw [][]byte) string {
	if len(it.Source.Key) == 0 {
		return "(no key)"
	}
	parts := make([]string, len(it.Source.Key))
	for i, name := range it.Source.Key {
		parts[i] = name + "=?"
		for j := range it.Row.Columns {
			if it.Row.Columns[j].Source == name {
				parts[i] = name + "=" + show(raw[j])
			}
		}
	}
	return strings.Join(parts, ", ")
}

// show shortens a value for an error message.
func show(raw []byte) string {
	const most = 200
	if raw == nil {
		return "NULL"
	}
	text := string(raw)
	if strings.ToValidUTF8(text, "") != text || strings.ContainsRune(text, 0) {
		text = fmt.Sprintf("0x%x", raw)
	}
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// badValue is the fault of a value that the target cannot hold.
func (it *item) badValue(raw [][]byte, bad *codec.ValueError) error {
	return fault.About(it.target(), task.Data, "%s, row %s, column %s: value %s: %s; mend the row in the source and retry",
		it.source(), it.keyText(raw), bad.Column, bad.Value, bad.Reason)
}
