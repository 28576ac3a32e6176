package capture

import (
	"context"
	"slices"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Sink makes rows of a copy what the table's are. The transactions are those of
// the changelog: what is written elsewhere has to be committed on return.
type Sink interface {
	// Refresh does so for some keys, all of whose rows are removed before any is
	// written: they are not in each other's way. emptied says that also every row
	// that the table does not have is to go. When it is tolerant, it holds back rows whose
	// values have to be unique and are not, and returns them; they are noted as
	// changed. Otherwise it fails with an error that IsClash knows.
	Refresh(ctx context.Context, tx engine.Querier, keys []engine.Key, emptied, tolerant bool) (held []engine.Key, err error)
	IsClash(err error) bool
	// Clashes finds which rows of the copy are in the way of some keys.
	Clashes(ctx context.Context, tx engine.Querier, keys []engine.Key) ([]engine.Clash, error)
}

// Local is the Sink of a copy on the same server. It locks no row of the table:
// what it reads is what is committed, and what changes afterwards is noted.
type Local struct {
	DB         Database
	Capture    *engine.Capture
	Projection *engine.Projection
	// Fence refuses, in the transaction, one who is not to write any more.
	Fence func(ctx context.Context, tx engine.Querier) error
}

var _ Sink = (*Local)(nil)

// Refresh removes the rows of the keys and writes those that there are.
func (l *Local) Refresh(ctx context.Context, tx engine.Querier, keys []engine.Key, emptied, tolerant bool) (held []engine.Key, err error) {
	if err := l.removeLost(ctx, tx, emptied); err != nil {
		return nil, err
	}
	if len(keys) > 0 {
		replace := l.replace
		if len(l.Projection.Kept) > 0 {
			replace = l.replaceKept
		}
		if held, err = replace(ctx, tx, keys, tolerant); err != nil {
			return nil, err
		}
	}
	return held, l.fenced(ctx, tx)
}

// removeLost removes, when the table was emptied, every row that it does not have.
func (l *Local) removeLost(ctx context.Context, tx engine.Querier, emptied bool) error {
	if !emptied {
		return nil
	}
	_, err := tx.Exec(ctx, l.DB.RemoveLost(l.Capture, l.Projection))
	return err
}

func (l *Local) fenced(ctx context.Context, tx engine.Querier) error {
	if l.Fence == nil {
		return nil
	}
	return l.Fence(ctx, tx)
}

// mostKeys is how many keys one statement has.
const mostKeys = 2000

// replace removes the rows of keys and then writes those that there are.
func (l *Local) replace(ctx context.Context, tx engine.Querier, keys []engine.Key, tolerant bool) (held []engine.Key, err error) {
	for part := range slices.Chunk(keys, mostKeys) {
		statement, err := l.DB.RemoveKeys(l.Projection, part)
		if err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, statement); err != nil {
			return nil, err
		}
	}
	for part := range slices.Chunk(keys, mostKeys) {
		_, more, err := l.write(ctx, tx, engine.Part{Keys: part}, tolerant)
		if err != nil {
			return nil, err
		}
		held = append(held, more...)
	}
	return held, nil
}

// write writes a part that the copy does not have, and finds what it had to leave out.
func (l *Local) write(ctx context.Context, tx engine.Querier, part engine.Part, tolerant bool) (rows int64, held []engine.Key, err error) {
	statement, err := l.DB.CopyRows(l.Capture, l.Projection, part, tolerant)
	if err != nil {
		return 0, nil, err
	}
	rows, err = tx.Exec(ctx, statement)
	if err != nil || !tolerant {
		return rows, nil, err
	}
	held, err = l.DB.Missing(ctx, tx, l.Capture, l.Projection, part)
	return rows, held, err
}

// CopyRange writes the rows of a range that the copy has none of yet, in the
// transaction of the chunk, and returns how many there are. When it fails with a
// clash (IsClash) the caller rolls back and calls it again with tolerant: then
// rows that cannot be there yet are left out and noted as changed, for the
// Drainer to write when what is in their way is drained.
func (l *Local) CopyRange(ctx context.Context, tx engine.Querier, within engine.Range, tolerant bool) (int64, error) {
	rows, held, err := l.write(ctx, tx, engine.Part{Within: within}, tolerant)
	if err != nil {
		return 0, err
	}
	return rows, note(ctx, tx, l.DB, l.Capture, held)
}

// note adds entries to a changelog.
func note(ctx context.Context, tx engine.Querier, db Database, c *engine.Capture, keys []engine.Key) error {
	if len(keys) == 0 {
		return nil
	}
	statement, err := db.NoteKeys(c, keys)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, statement)
	return err
}

// IsClash reports that a value has to be unique and is not.
func (l *Local) IsClash(err error) bool { return l.DB.IsClash(err) }

// Clashes finds which rows are in the way.
func (l *Local) Clashes(ctx context.Context, tx engine.Querier, keys []engine.Key) ([]engine.Clash, error) {
	return l.DB.Clashes(ctx, tx, l.Capture, l.Projection, engine.Part{Keys: keys})
}

// CheckProjection makes sure that rows can be found again in the copy: by an
// index of it that begins with the key, whose columns tell apart what the key's
// do. Error class config.
func CheckProjection(c *engine.Capture, p *engine.Projection) error {
	name := p.Into.Name.String()
	if len(p.Key) != len(c.Table.Key) {
		return fault.About(name, task.Config, "the key (%s) of %s is not in %s: keep its columns", strings.Join(c.Table.Key, ", "), c.Table.Name, name)
	}
	for i, column := range p.Key {
		into := p.Into.Column(column)
		if into == nil {
			return fault.About(name, task.Config, "column %s of the key of %s is not in %s: keep it", c.Table.Key[i], c.Table.Name, name)
		}
		from := c.Table.Column(c.Table.Key[i])
		if into.Type.Scale < from.Type.Scale || into.Type.Fraction < from.Type.Fraction {
			return fault.About(name, task.Config, "column %s of the key of %s becomes a %s from a %s, which tells more rows apart: keep its precision", column, c.Table.Name, into.Type.Full, from.Type.Full)
		}
	}
	if p.KeyTable().KeyName == "" {
		return fault.About(name, task.Config, "%s has no index that begins with (%s), by which rows are found again: keep one", name, strings.Join(p.Key, ", "))
	}
	return nil
}
