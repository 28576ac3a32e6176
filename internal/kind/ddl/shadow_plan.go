package ddl

import (
	"context"
	"fmt"

	"godwit/internal/engine"
)

// shadowStatements is the SQL of an online copy, in order, as far as it can be
// told beforehand.
func (it *item) shadowStatements(db *site, keep bool) ([]string, error) {
	r := it.Reshaping
	copying, err := db.CopyRows(r.Capture, r.Forward, engine.Part{}, false)
	if err != nil {
		return nil, err
	}
	var list []string
	add := func(what string, statements ...string) {
		for _, statement := range statements {
			list = append(list, fmt.Sprintf("/* %s */ %s", what, statement))
		}
	}
	add("the shadow, beside the table", r.Create...)
	add(fmt.Sprintf("then triggers note the keys of changed rows in %s. Each chunk, with its range of the key", r.Capture.Log), copying)
	for _, b := range r.Builds {
		add("when the rows are there", b.SQL)
	}
	lock := "all rows are compared. Cut-over, with the table locked for a moment: what was noted is drained, then"
	if db.Dialect() == engine.PostgresDialect {
		add(lock, fmt.Sprintf("ALTER TABLE %s RENAME TO …; ALTER TABLE %s RENAME TO …", db.QuoteName(r.Table.Name), db.QuoteName(r.Shadow)))
	} else {
		add(lock, fmt.Sprintf("RENAME TABLE %s TO %s, %s TO %s", db.QuoteName(r.Table.Name), db.QuoteName(r.Old), db.QuoteName(r.Shadow), db.QuoteName(r.Table.Name)))
	}
	add("in the same transaction", r.Swap...)
	add("after it", r.Settle...)
	after := "at once"
	if keep {
		after = "after keep_old"
	}
	add(after, "DROP TABLE "+db.QuoteName(r.Old))
	return list, nil
}

// isSwapped reports whether the shadow has the table's name already.
func isSwapped(ctx context.Context, db *site, it *item) (bool, error) {
	if it.Reshaping == nil {
		return false, nil
	}
	stand, err := db.Stand(ctx, it.Reshaping)
	return stand == engine.StandSwapped, err
}
