package postgres

import (
	"fmt"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// RangeConditions writes the conditions of a row in a range, none for every row.
// The columns are the alias's, where it is not empty.
//
// PostgreSQL compares rows, and uses the key's index for it, so a composite key
// needs nothing special.
func RangeConditions(t *engine.Table, alias string, r engine.Range) ([]string, error) {
	var conditions []string
	for _, bound := range []struct {
		key      engine.Key
		operator string
	}{{r.After, ">"}, {r.Until, "<="}} {
		if bound.key == nil {
			continue
		}
		if len(bound.key) != len(t.Key) || len(t.Key) == 0 {
			return nil, fault.About(t.Name.String(), task.Internal, "the bound %s does not fit the key (%s) of table %s",
				bound.key, strings.Join(t.Key, ", "), t.Name)
		}
		condition, err := compareRow(t, alias, bound.operator, bound.key)
		if err != nil {
			return nil, err
		}
		conditions = append(conditions, condition)
	}
	return conditions, nil
}

// compareRow compares a key's columns, or the first ones, with a row of values.
func compareRow(t *engine.Table, alias, operator string, key engine.Key) (string, error) {
	prefix := ""
	if alias != "" {
		prefix = Quote(alias) + "."
	}
	columns, literals := make([]string, len(key)), make([]string, len(key))
	for i, value := range key {
		literal, err := Literal(t, t.Key[i], value)
		if err != nil {
			return "", err
		}
		columns[i], literals[i] = prefix+Quote(t.Key[i]), literal
	}
	if len(key) == 1 {
		return columns[0] + " " + operator + " " + literals[0], nil
	}
	return "(" + strings.Join(columns, ", ") + ") " + operator + " (" + strings.Join(literals, ", ") + ")", nil
}

// Literal writes a key value of a column, for statements that a range has to be
// written into: a bare string literal, numbers included. The server gives it
// the type of the column that it is compared with, so that the comparison is
// the column's own and the index is used. A cast would cut a varchar(n) and
// round a numeric(p,s).
func Literal(t *engine.Table, column string, v engine.KeyValue) (string, error) {
	if t.Column(column) == nil {
		return "", fault.About(t.Name.String(), task.Internal, "table %s has no key column %s", t.Name, column)
	}
	if v.Kind == engine.BytesKey {
		return QuoteLiteral(fmt.Sprintf(`\x%x`, v.Value)), nil
	}
	if strings.Contains(v.Value, "\x00") { // it would end the statement there
		return "", fault.About(t.Name.String(), task.Data, "table %s cannot be asked for a key with a zero byte, which PostgreSQL has no text for", t.Name)
	}
	return QuoteLiteral(v.Value), nil
}
