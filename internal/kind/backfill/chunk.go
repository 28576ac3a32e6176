package backfill

import (
	"context"
	"fmt"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// chunkStatements is the SQL for a range, in order.
func (it *item) chunkStatements(ctx context.Context, db *site, pass int, within engine.Range) ([]string, error) {
	if it.Rewrite == nil {
		return it.expanded(ctx, db, within)
	}
	if !it.kept() {
		text, err := db.Change(it.Rewrite, within)
		return []string{text}, err
	}
	save, err := db.Save(it.Rewrite, pass, within)
	if err != nil {
		return nil, err
	}
	apply, err := db.Apply(it.Rewrite, pass, within)
	if err != nil || len(it.Table.Triggers) == 0 {
		return []string{save, apply}, err
	}
	reread, err := db.Reread(it.Rewrite, pass, within)
	return []string{save, apply, reread}, err
}

// expanded writes a range into the user's statements. Several of them have to
// be about the same rows, so the range's rows are locked before.
func (it *item) expanded(ctx context.Context, db *site, within engine.Range) ([]string, error) {
	e := &expansion{it: it, db: db, within: within}
	var list []string
	if len(it.Statement) > 1 {
		conditions, err := db.RangeConditions(it.Table, "", within)
		if err != nil {
			return nil, err
		}
		list = append(list, "SELECT 1 FROM "+db.QuoteName(it.Table.Name)+where(conditions)+" FOR UPDATE")
	}
	for _, statement := range it.Statement {
		text, err := e.expand(ctx, statement)
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, nil
}

func where(conditions []string) string {
	if len(conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conditions, " AND ")
}

// expansion puts a range in the place of parameters.
type expansion struct {
	it        *item
	db        *site
	within    engine.Range
	low, high engine.Key // found when they are asked for
}

func (e *expansion) expand(ctx context.Context, statement string) (string, error) {
	pieces, err := spec.Pieces(statement)
	if err != nil {
		return "", fault.About(e.it.name(), task.Config, "statement: %w", err)
	}
	var b strings.Builder
	for _, p := range pieces {
		text := p.Text
		if p.Parameter != "" {
			if text, err = e.value(ctx, p); err != nil {
				return "", err
			}
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

func (e *expansion) value(ctx context.Context, p spec.Piece) (string, error) {
	if p.Parameter == spec.RangeParameter {
		conditions, err := e.db.RangeConditions(e.it.Table, p.Alias, e.within)
		if err != nil {
			return "", err
		}
		if len(conditions) == 0 {
			conditions = []string{"1 = 1"}
		}
		return "(" + strings.Join(conditions, " AND ") + ")", nil
	}
	if len(e.it.Table.Key) > 1 {
		return "", fault.About(e.it.name(), task.Config, "statement: %s stands for one column, and the key of %s has %d (%s): use :range", p.Parameter, e.it.name(),
			len(e.it.Table.Key), strings.Join(e.it.Table.Key, ", "))
	}
	if err := e.ends(ctx); err != nil {
		return "", err
	}
	key := e.low
	if p.Parameter == spec.HighParameter {
		key = e.high
	}
	return e.db.Literal(e.it.Table, e.it.Table.Key[0], key[0])
}

// ends finds the first and the last key of the range.
func (e *expansion) ends(ctx context.Context) error {
	if e.low != nil {
		return nil
	}
	low, found, err := e.db.First(ctx, e.it.selection(e.within))
	if err != nil {
		return err
	}
	if !found {
		return errEmpty
	}
	e.low, e.high = low, e.within.Until
	if e.high != nil {
		return nil
	}
	// The last chunk is open above: its last key is found by halving.
	rest := engine.Range{After: low}
	e.high = low
	for step := int64(1 << 20); step >= 1; step /= 2 {
		for {
			key, found, err := e.db.Bound(ctx, e.it.selection(rest), step)
			if err != nil {
				return err
			}
			if !found {
				break
			}
			e.high, rest.After = key, key
		}
	}
	return nil
}

// errEmpty says that a range has no rows, so that there is nothing to run.
var errEmpty = fmt.Errorf("the range has no rows")
