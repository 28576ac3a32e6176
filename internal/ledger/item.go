package ledger

import (
	"context"
	"encoding/json"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Item is one thing that a migration works on: of a copy, a table. Its
// definition is the plan, kept so that a newer Godwit goes on by it.
type Item struct {
	No         int
	Name       string
	State      string
	Definition json.RawMessage
}

func (l *Ledger) putItems(ctx context.Context, tx engine.Tx, items []Item) error {
	for _, item := range items {
		definition, err := encode(item.Definition)
		if err != nil {
			return err
		}
		if _, err := l.store.exec(ctx, tx, `insert into {item} (migration, "no", name, state, definition) values (?, ?, ?, ?, ?)`,
			l.ID, item.No, item.Name, item.State, definition); err != nil {
			return err
		}
	}
	return nil
}

// Items returns the migration's items in their order.
func (l *Ledger) Items(ctx context.Context) ([]Item, error) {
	var items []Item
	err := l.store.each(ctx, l.store.db, `select "no", name, state, definition from {item} where migration = ? order by "no"`, []any{l.ID},
		func(rows engine.Rows) error {
			var item Item
			var definition string
			if err := rows.Scan(&item.No, &item.Name, &item.State, &definition); err != nil {
				return err
			}
			item.Definition = json.RawMessage(definition)
			items = append(items, item)
			return nil
		})
	return items, err
}

// SetItemState notes how an item stands, in the transaction that made it so.
// When the item does not stand as expected, another attempt or a rollback has
// been at it: a fault of class superseded, and the caller rolls back.
func (l *Ledger) SetItemState(ctx context.Context, q engine.Querier, no int, from, to string) error {
	if err := l.guard(ctx, q); err != nil {
		return err
	}
	n, err := l.store.exec(ctx, q, `update {item} set state = ? where migration = ? and "no" = ? and state = ?`, to, l.ID, no, from)
	if err != nil {
		return err
	}
	if n != 1 {
		return fault.New(task.Superseded, "item %d of migration %s is no longer %s: another attempt has been at it", no, l.ID, from)
	}
	return nil
}

// Replan notes another plan of an item, made anew for the same work.
func (l *Ledger) Replan(ctx context.Context, q engine.Querier, no int, definition json.RawMessage) error {
	if err := l.guard(ctx, q); err != nil {
		return err
	}
	text, err := encode(definition)
	if err != nil {
		return err
	}
	_, err = l.store.exec(ctx, q, `update {item} set definition = ? where migration = ? and "no" = ?`, text, l.ID, no)
	return err
}
