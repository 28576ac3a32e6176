package capture

import (
	"context"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

const (
	// suspect is in how many sweeps a row is held back before it is looked at
	// closely, and stuck in how many before it is given up although nothing that
	// is in its way can be named.
	suspect, stuck = 4, 40
	// forgetHeld bounds the memory of rows that were held back.
	forgetHeld = 100_000
)

// remember counts rows that were held back, and forgets those that were not.
func (d *Drainer) remember(keys, held []engine.Key) {
	if len(d.held) > forgetHeld {
		clear(d.held)
	}
	back := make(map[string]bool, len(held))
	for _, key := range held {
		name := key.String()
		back[name] = true
		d.held[name]++
	}
	for _, key := range keys {
		if name := key.String(); !back[name] {
			delete(d.held, name)
		}
	}
}

// Held is how many rows are held back, because of a value that another row of
// the copy still has: another sweep will write them, or find out that it has it
// in truth.
func (d *Drainer) Held() int { return len(d.held) }

// judge looks at rows that are held back again and again, while the door is
// held. When what is in the way has no entry, the copy has it as the table has
// it: then both rows really have the same value. The door keeps others from
// removing entries between the two looks; an entry that comes in between only
// makes it look like a passing clash.
func (d *Drainer) judge(ctx context.Context, tx engine.Querier, held []engine.Key) error {
	var suspects []engine.Key
	most := 0
	for _, key := range held {
		if times := d.held[key.String()]; times >= suspect {
			suspects = append(suspects, key)
			most = max(most, times)
		}
	}
	if len(suspects) == 0 {
		return nil
	}
	t := d.capture.Table
	name := t.Name.String()
	clashes, err := d.sink.Clashes(ctx, tx, suspects)
	if err != nil {
		return err
	}
	for _, c := range clashes {
		entries, err := d.db.EntriesOf(ctx, tx, d.capture, []engine.Key{c.Rival}, 1)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return fault.About(name, task.Data, "rows %s and %s of %s cannot both be written: they have the same value in %s, which has to be unique: change one of them, and retry",
				t.RowName(c.Row), t.RowName(c.Rival), name, c.Index)
		}
	}
	if most >= stuck {
		return fault.About(name, task.Data, "row %s of %s cannot be written: another one has a value of it that has to be unique: change either, and retry", t.RowName(suspects[0]), name)
	}
	return nil
}
