package postgres

import (
	"strconv"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// query is a SELECT from one table.
type query struct {
	table         *engine.Table
	exprs         []string
	within        engine.Range
	sample        string   // TABLESAMPLE's method, empty for all rows
	conditions    []string // further ones
	ordered       bool     // by the key
	backwards     bool     // in the opposite order
	limit, offset int64    // 0 for none
}

// selection makes the query of a selection.
func selection(sel engine.Select) query {
	q := query{table: sel.Table, exprs: sel.Exprs, within: sel.Range, ordered: sel.Ordered, limit: sel.Limit, offset: sel.Offset}
	if sel.Where != "" {
		q.conditions = []string{"(" + sel.Where + "\n)"} // the line break ends a comment
	}
	return q
}

// text writes the statement. It is complete: there are no parameters.
func (q query) text() (string, error) {
	t := q.table
	conditions, err := RangeConditions(t, "", q.within)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("SELECT " + strings.Join(q.exprs, ", ") + " FROM " + QuoteName(t.Name))
	if q.sample != "" {
		b.WriteString(" TABLESAMPLE " + q.sample)
	}
	if conditions = append(conditions, q.conditions...); len(conditions) > 0 {
		b.WriteString(" WHERE " + strings.Join(conditions, " AND "))
	}
	if q.ordered {
		if len(t.Key) == 0 {
			return "", fault.About(t.Name.String(), task.Internal, "table %s has no key to be read in the order of: %s", t.Name, t.KeyProblem)
		}
		columns := keyColumns(t)
		if q.backwards {
			for i := range columns {
				columns[i] += " DESC"
			}
		}
		b.WriteString(" ORDER BY " + strings.Join(columns, ", "))
	}
	if q.limit > 0 {
		b.WriteString(" LIMIT " + strconv.FormatInt(q.limit, 10))
	}
	if q.offset > 0 {
		b.WriteString(" OFFSET " + strconv.FormatInt(q.offset, 10))
	}
	return b.String(), nil
}

// keyColumns names the key's columns so that none can be taken for an
// expression that is called the same.
func keyColumns(t *engine.Table) []string {
	columns := make([]string, len(t.Key))
	for i, name := range t.Key {
		columns[i] = Quote(t.Name.Table) + "." + Quote(name)
	}
	return columns
}
