package postgres

import (
	"strconv"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// selectSQL writes the query that a Select stands for.
func selectSQL(sel engine.Select) (string, error) {
	conditions, err := RangeConditions(sel.Table, "", sel.Range)
	if err != nil {
		return "", err
	}
	if sel.Where != "" {
		// The line break ends a comment that the condition may end with.
		conditions = append(conditions, "("+sel.Where+"\n)")
	}
	var b strings.Builder
	b.WriteString("SELECT " + strings.Join(sel.Exprs, ", ") + " FROM " + QuoteName(sel.Table.Name))
	if len(conditions) > 0 {
		b.WriteString(" WHERE " + strings.Join(conditions, " AND "))
	}
	if sel.Ordered {
		if len(sel.Table.Key) == 0 {
			return "", fault.About(sel.Table.Name.String(), task.Internal, "table %s has no key to be read in the order of", sel.Table.Name)
		}
		b.WriteString(" ORDER BY " + quoteList(sel.Table.Key))
	}
	if sel.Limit > 0 {
		b.WriteString(" LIMIT " + strconv.FormatInt(sel.Limit, 10))
	}
	if sel.Offset > 0 {
		b.WriteString(" OFFSET " + strconv.FormatInt(sel.Offset, 10))
	}
	return b.String(), nil
}
