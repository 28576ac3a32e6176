package mysql

import (
	"strconv"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// order is the direction of the key in which rows are read.
type order int

const (
	unordered order = iota
	ascending
	descending
)

// query is a SELECT from one table.
type query struct {
	table         *engine.Table
	exprs         []string
	within        engine.Range
	conditions    []string // further ones
	order         order
	limit, offset int64 // 0 for none
}

// selection makes the query of a selection. A table without a key has no order.
func selection(sel engine.Select) query {
	q := query{table: sel.Table, exprs: sel.Exprs, within: sel.Range, limit: sel.Limit, offset: sel.Offset}
	if sel.Where != "" {
		q.conditions = []string{"(" + sel.Where + "\n)"} // the line break ends a comment
	}
	if sel.Ordered && len(sel.Table.Key) > 0 {
		q.order = ascending
	}
	return q
}

// text writes the statement. It is complete: there are no parameters.
func (q query) text() (string, error) {
	t := q.table
	if len(q.exprs) == 0 {
		return "", fault.About(t.Name.String(), task.Internal, "nothing is selected of %s", t.Name)
	}
	conditions, err := RangeConditions(t, "", q.within)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("SELECT " + strings.Join(q.exprs, ", ") + " FROM " + QuoteName(t.Name))
	if len(conditions) > 0 || q.order != unordered {
		b.WriteString(" FORCE INDEX (" + Quote(t.KeyName) + ")")
	}
	if conditions = append(conditions, q.conditions...); len(conditions) > 0 {
		b.WriteString(" WHERE " + strings.Join(conditions, " AND "))
	}
	if q.order != unordered {
		b.WriteString(" ORDER BY " + q.orderList())
	}
	b.WriteString(q.window())
	return b.String(), nil
}

func (q query) orderList() string {
	list := make([]string, len(q.table.Key))
	for i, name := range q.table.Key {
		list[i] = Quote(q.table.Name.Table) + "." + Quote(name) // and not an expression that is called so
		if q.order == descending {
			list[i] += " DESC"
		}
	}
	return strings.Join(list, ", ")
}

// window writes LIMIT and OFFSET; there is no OFFSET without a LIMIT.
func (q query) window() string {
	if q.limit == 0 && q.offset == 0 {
		return ""
	}
	text := " LIMIT 18446744073709551615"
	if q.limit > 0 {
		text = " LIMIT " + strconv.FormatInt(q.limit, 10)
	}
	if q.offset > 0 {
		text += " OFFSET " + strconv.FormatInt(q.offset, 10)
	}
	return text
}
