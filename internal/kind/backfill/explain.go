package backfill

import (
	"context"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/task"
)

// explain names the row of an error that is about a value: the server mostly
// does not. The chunk is tried by halves, each in a transaction that is rolled
// back, until one row is left.
func (w *shardWork) explain(ctx context.Context, c chunk, cause error) error {
	if kind.Classify(cause).Class != task.Data {
		return cause
	}
	key, err := kind.Locate(ctx, w.db, w.it.selection(c.within), max(c.rows, w.sizer.Rows()), w.fails)
	if err != nil || key == nil {
		return cause // what was wrong is not so any more, or cannot be found out
	}
	what := "set"
	if w.it.Rewrite == nil {
		what = "statement"
	} else if len(w.it.Rewrite.Set) == 1 {
		what = "set." + w.it.Rewrite.Set[0].Column
	}
	return fault.About(w.it.name(), task.Data, "%s, row %s, %s: %w; mend the row, or the expression in a new migration, and retry", w.it.name(), w.it.Table.RowName(key), what, cause)
}

// fails reports whether a range cannot be changed because of its values.
func (w *shardWork) fails(ctx context.Context, within engine.Range) (bool, error) {
	statements, err := w.it.chunkStatements(ctx, w.db, w.pass, within)
	if err != nil {
		return false, err
	}
	tx, err := w.session.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // nothing of it is to stay
	_, err = w.it.execute(ctx, tx, statements)
	if err != nil && kind.Classify(err).Class != task.Data {
		return false, err
	}
	return err != nil, nil
}
