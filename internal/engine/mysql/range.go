package mysql

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
// The server does not use an index for a comparison of rows, (a,b) > (x,y), so
// it is written out. Whatever a bound means to the server, it means the same
// in both conditions, one of which is the exact opposite of the other: no row
// is in two ranges that meet at the bound, or in none.
func RangeConditions(t *engine.Table, alias string, r engine.Range) ([]string, error) {
	var conditions []string
	for _, bound := range []struct {
		key          engine.Key
		inner, outer string
	}{{r.After, ">", ">"}, {r.Until, "<", "<="}} {
		if bound.key == nil {
			continue
		}
		if len(bound.key) != len(t.Key) {
			return nil, fault.About(t.Name.String(), task.Internal, "%s: the bound %s does not fit the key (%s)", t.Name, bound.key, strings.Join(t.Key, ", "))
		}
		parts, err := keyParts(t, alias, bound.key)
		if err != nil {
			return nil, err
		}
		conditions = append(conditions, compareRow(parts, bound.inner, bound.outer))
	}
	return conditions, nil
}

// keyPart is a column of a key with a value to compare it with.
type keyPart struct {
	name    string   // quoted
	literal string   // of the value
	before  []string // literals of the values of an enum that come before the value
	after   []string // and of those that come after it
	enum    bool
}

// keyParts pairs the values of a key, or of the beginning of one, with their columns.
func keyParts(t *engine.Table, alias string, key engine.Key) ([]keyPart, error) {
	prefix := ""
	if alias != "" {
		prefix = Quote(alias) + "."
	}
	parts := make([]keyPart, len(key))
	for i, value := range key {
		literal, err := Literal(t, t.Key[i], value)
		if err != nil {
			return nil, err
		}
		parts[i] = keyPart{name: prefix + Quote(t.Key[i]), literal: literal}
		if column := t.Column(t.Key[i]); column.Type.Base == "enum" && !parts[i].rank(column.Type.Values, value.Value) {
			return nil, fault.About(t.Name.String(), task.Internal, "%s: the bound %s is not a value of column %s", t.Name, key, column.Name)
		}
	}
	return parts, nil
}

// rank notes which values of an enum come before and after a value: its values
// are ordered by their number, but compared with a string by their text. The
// empty string is the value of number 0, which a column has in place of one
// that it could not take. The result is false when the value is none of them.
func (p *keyPart) rank(values []string, value string) bool {
	p.enum = true
	passed := value == ""
	if !passed {
		p.before = append(p.before, "''")
	}
	for _, v := range values {
		switch {
		case v == value:
			passed = true
		case passed:
			p.after = append(p.after, quoteText(v))
		default:
			p.before = append(p.before, quoteText(v))
		}
	}
	return passed
}

// compareRow writes that a key is beyond a bound: by inner in an earlier
// column, or by outer in the last one.
func compareRow(parts []keyPart, inner, outer string) string {
	p := parts[0]
	if len(parts) == 1 {
		return p.compare(outer)
	}
	return fmt.Sprintf("(%s OR (%s = %s AND %s))", p.compare(inner), p.name, p.literal, compareRow(parts[1:], inner, outer))
}

// compare writes one comparison with the value.
func (p *keyPart) compare(operator string) string {
	if !p.enum {
		return p.name + " " + operator + " " + p.literal
	}
	var list []string
	switch operator {
	case ">":
		list = p.after
	case "<":
		list = p.before
	case "<=":
		list = append(p.before[:len(p.before):len(p.before)], p.literal)
	}
	if len(list) == 0 {
		return "FALSE"
	}
	return p.name + " IN (" + strings.Join(list, ", ") + ")"
}

// Literal writes a key value of a column, for statements that a range has to be
// written into.
func Literal(t *engine.Table, column string, v engine.KeyValue) (string, error) {
	c := t.Column(column)
	if c == nil {
		return "", fault.About(t.Name.String(), task.Internal, "%s: the key column %s does not exist", t.Name, column)
	}
	literal, err := keyLiteral(c.Type, v)
	if err != nil {
		return "", fault.About(t.Name.String(), task.Internal, "%s: the value %s cannot be compared with column %s: %w", t.Name, engine.Key{v}, column, err)
	}
	return literal, nil
}

// keyLiteral writes a key value as the literal that the server compares as it
// compares the values of the column among themselves.
func keyLiteral(t engine.Type, v engine.KeyValue) (string, error) {
	if kind := keyKind(t); v.Kind != kind {
		return "", fmt.Errorf("it has the kind %q instead of %q", v.Kind, kind)
	}
	switch {
	case v.Kind == engine.NumberKey:
		return quoteNumber(v.Value)
	case v.Kind == engine.BytesKey:
		return quoteBytes(v.Value), nil
	case isTemporal(t) && t.Base != "time":
		return temporalLiteral(v.Value), nil
	}
	return quoteText(v.Value), nil
}

// temporalLiteral writes a date. One without month or day, which sql_mode may
// forbid in a string, goes as a number.
func temporalLiteral(text string) string {
	if strings.Trim(text, "0-:. ") == "" {
		return "0"
	}
	if text[0] == '0' || !strings.Contains(text, "-00") {
		return quoteText(text)
	}
	return strings.NewReplacer("-", "", " ", "", ":", "").Replace(text)
}
