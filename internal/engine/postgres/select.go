package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// selectSQL writes the query that a Select stands for.
func selectSQL(sel engine.Select) (string, error) {
	conditions, err := rangeConditions(sel.Table, sel.Range)
	if err != nil {
		return "", err
	}
	if sel.Where != "" {
		// The line break ends a comment that the condition may end with.
		conditions = append(conditions, "("+sel.Where+"\n)")
	}
	var b strings.Builder
	b.WriteString("SELECT " + strings.Join(sel.Exprs, ", ") + " FROM " + quoteName(sel.Table.Name))
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
	query := b.String()
	if strings.Contains(query, "\x00") { // it would end the statement there
		return "", fault.About(sel.Table.Name.String(), task.Data, "table %s cannot be asked for a key with a zero byte, which PostgreSQL has no text for", sel.Table.Name)
	}
	return query, nil
}

// rangeConditions writes the bounds of a range. PostgreSQL compares rows, and
// uses the key's index for it, so a composite key needs nothing special.
func rangeConditions(t *engine.Table, r engine.Range) ([]string, error) {
	var conditions []string
	for _, bound := range []struct {
		key      engine.Key
		operator string
	}{{r.After, " > "}, {r.Until, " <= "}} {
		if bound.key == nil {
			continue
		}
		if len(bound.key) != len(t.Key) || len(t.Key) == 0 {
			return nil, fault.About(t.Name.String(), task.Internal, "the bound %s does not fit the key (%s) of table %s",
				bound.key, strings.Join(t.Key, ", "), t.Name)
		}
		conditions = append(conditions, keyRow(quoteList(t.Key), len(t.Key))+bound.operator+keyRow(keyLiterals(bound.key), len(bound.key)))
	}
	return conditions, nil
}

func keyRow(list string, columns int) string {
	if columns == 1 {
		return list
	}
	return "(" + list + ")"
}

// keyLiterals writes key values as bare string literals, numbers included: the
// server gives such a literal the type of the column it is compared with, so
// that the comparison is the column's own and the index is used. A cast would
// cut a varchar(n) and round a numeric(p,s).
func keyLiterals(key engine.Key) string {
	literals := make([]string, len(key))
	for i, v := range key {
		if v.Kind == engine.BytesKey {
			literals[i] = QuoteLiteral(fmt.Sprintf(`\x%x`, v.Value))
		} else {
			literals[i] = QuoteLiteral(v.Value)
		}
	}
	return strings.Join(literals, ", ")
}
