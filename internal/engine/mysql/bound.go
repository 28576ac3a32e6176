package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Bound returns the key of the row that is so many rows into the selection's
// range, in the order of the key: the upper bound of the next chunk. found is
// false when the range has fewer rows. A Where is not looked at, since the rows
// that it leaves out have to be read as well.
func (s *Server) Bound(ctx context.Context, sel engine.Select, rows int64) (key engine.Key, found bool, err error) {
	key, found, err = s.seek(ctx, query{table: sel.Table, within: sel.Range, order: ascending, offset: max(1, rows) - 1})
	if err != nil {
		return nil, false, fmt.Errorf("find the next bound in %s: %w", sel.Table.Name, err)
	}
	if found && slices.Equal(key, sel.Range.After) {
		return nil, false, fault.About(sel.Table.Name.String(), task.Internal,
			"%s: the rows after %s begin with the same key: the server does not order the values of %s as it compares them", sel.Table.Name, key, sel.Table.KeyName)
	}
	return key, found, nil
}

// First returns the key of the first row of the selection's range; found is
// false when the range has no row. A Where is not looked at.
func (s *Server) First(ctx context.Context, sel engine.Select) (key engine.Key, found bool, err error) {
	return s.Bound(ctx, sel, 1)
}

// Last returns the key of the last row of the selection's range; found is false
// when the range has no row. A Where is not looked at.
func (s *Server) Last(ctx context.Context, sel engine.Select) (key engine.Key, found bool, err error) {
	key, found, err = s.seek(ctx, query{table: sel.Table, within: sel.Range, order: descending})
	if err != nil {
		return nil, false, fmt.Errorf("find the last key of %s: %w", sel.Table.Name, err)
	}
	return key, found, nil
}

// seek returns the key of the first row of a query, whose Exprs it sets.
func (s *Server) seek(ctx context.Context, q query) (engine.Key, bool, error) {
	t := q.table
	if len(t.Key) == 0 {
		return nil, false, fault.About(t.Name.String(), task.Internal, "%s has no key to cut ranges by: %s", t.Name, t.KeyProblem)
	}
	q.exprs, q.limit = keyExprs(t), 1
	text, err := q.text()
	if err != nil {
		return nil, false, err
	}
	key, into := newKey(t)
	err = s.db.QueryRowContext(ctx, text).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	return key, err == nil, err
}

// keyExprs are the key's columns as text.
func keyExprs(t *engine.Table) []string {
	exprs := make([]string, len(t.Key))
	for i, name := range t.Key {
		exprs[i] = keyExpr(t.Column(name).Type, Quote(name))
	}
	return exprs
}

// keyExpr is a key's column as text: the driver may be set to parse dates, and
// the server shows bits as bytes.
func keyExpr(t engine.Type, name string) string {
	switch {
	case isTemporal(t):
		return "CAST(" + name + " AS CHAR)"
	case t.Base == "bit":
		return "CAST(" + name + " AS UNSIGNED)"
	}
	return name
}

// newKey makes a key of the table, and what its values are scanned into.
func newKey(t *engine.Table) (engine.Key, []any) {
	key := make(engine.Key, len(t.Key))
	into := make([]any, len(key))
	for i, name := range t.Key {
		key[i].Kind = keyKind(t.Column(name).Type)
		into[i] = &key[i].Value
	}
	return key, into
}
