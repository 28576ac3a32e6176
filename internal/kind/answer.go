package kind

import (
	"context"
	"fmt"
	"math/big"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Answer is the one value of a query, as text: NULL for none.
func Answer(ctx context.Context, q engine.Querier, query string) (string, error) {
	if q.Dialect() == engine.PostgresDialect { // whose driver has ways of its own to write a value
		query = "SELECT answer::text FROM (" + strings.TrimRight(query, "; \t\r\n") + "\n) AS checked (answer)"
	}
	rows, err := q.Query(ctx, query)
	if err != nil {
		return "", err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var values []*string
	for rows.Next() {
		var value any
		if err := rows.Scan(&value); err != nil {
			return "", fault.New(task.Config, "the query must have one column: %w", err)
		}
		values = append(values, written(value))
	}
	switch err := rows.Err(); {
	case err != nil:
		return "", err
	case len(values) != 1:
		return "", fault.New(task.Config, "the query must have one row, and has %d", len(values))
	case values[0] == nil:
		return "NULL", nil
	}
	return *values[0], nil
}

// written is a value as the database writes it.
func written(value any) *string {
	var s string
	switch v := value.(type) {
	case nil:
		return nil
	case []byte:
		s = string(v)
	case fmt.Stringer:
		s = v.String()
	default:
		s = fmt.Sprint(v)
	}
	return &s
}

// True reports whether an answer is the expected one: the same text, or the same
// number. With nothing expected, any is but NULL, false, 0 and nothing.
func True(answer string, expect *string) bool {
	if expect == nil {
		switch strings.ToLower(answer) {
		case "", "null", "false", "f", "off", "no":
			return false
		}
		n, is := new(big.Rat).SetString(answer)
		return !is || n.Sign() != 0
	}
	if answer == *expect {
		return true
	}
	a, isNumber := new(big.Rat).SetString(answer)
	b, alike := new(big.Rat).SetString(*expect)
	return isNumber && alike && a.Cmp(b) == 0
}
