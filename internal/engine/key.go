package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// KeyKind is how a key value is handed to the server, so that it compares it
// as the column does.
type KeyKind string

// The kinds of key values.
const (
	NumberKey KeyKind = "n" // integers and decimals: bound as a number, digits as the server wrote them
	TextKey   KeyKind = "s" // characters, and what compares with a string: dates, times, UUIDs, enums by value
	BytesKey  KeyKind = "b" // binary strings
)

// textInHex marks a TextKey in JSON that not every JSON column can hold as it is.
const textInHex = "sx"

// KeyValue is one column of a key, as the server wrote it.
type KeyValue struct {
	Kind  KeyKind
	Value string // bytes of a BytesKey as they are
}

// Key is the position of a row in its table's key order. Keys are compared by
// the server alone, never here.
type Key []KeyValue

// MarshalJSON writes [["n","42"],["s","abc"]]; bytes as hex.
func (v KeyValue) MarshalJSON() ([]byte, error) {
	kind, text := string(v.Kind), v.Value
	if v.Kind == TextKey && strings.ContainsRune(text, 0) {
		kind = textInHex // PostgreSQL's jsonb has no U+0000
	}
	if v.Kind == BytesKey || kind == textInHex {
		text = fmt.Sprintf("%x", v.Value)
	} else if !utf8.ValidString(text) {
		return nil, fmt.Errorf("key value %q is not valid UTF-8", text)
	}
	return json.Marshal([2]string{kind, text})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *KeyValue) UnmarshalJSON(b []byte) error {
	var pair [2]string
	if err := json.Unmarshal(b, &pair); err != nil {
		return fmt.Errorf("key value %s: %w", b, err)
	}
	v.Kind, v.Value = KeyKind(pair[0]), pair[1]
	switch v.Kind {
	case NumberKey, TextKey:
		return nil
	case BytesKey, textInHex:
		if v.Kind == textInHex {
			v.Kind = TextKey
		}
		var raw []byte
		if _, err := fmt.Sscanf(pair[1], "%x", &raw); err != nil && pair[1] != "" {
			return fmt.Errorf("key value %s: %w", b, err)
		}
		v.Value = string(raw)
		return nil
	}
	return fmt.Errorf("key value %s has the unknown kind %q", b, pair[0])
}

// String shows a key to a human: 42, or (7, 'abc', 0x00ff).
func (k Key) String() string {
	parts := make([]string, len(k))
	for i, v := range k {
		switch v.Kind {
		case NumberKey:
			parts[i] = v.Value
		case BytesKey:
			parts[i] = fmt.Sprintf("0x%x", v.Value)
		default:
			parts[i] = "'" + strings.ReplaceAll(v.Value, "'", "''") + "'"
		}
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// RowName names a row by its key: id=5, or a=1, b=2.
func (t *Table) RowName(key Key) string {
	values := make([]string, len(key))
	for i, name := range t.Key {
		values[i] = name + "=" + key[i].Value
	}
	return strings.Join(values, ", ")
}

// Range is a stretch of a table in the order of its key: the rows above After
// and up to Until, Until included. A nil bound is open. A table without a key
// has only the range that is open on both sides.
type Range struct {
	After Key `json:"after"`
	Until Key `json:"until"`
}

func (r Range) String() string {
	low, high := "first row", "last row"
	if r.After != nil {
		low = "after " + r.After.String()
	}
	if r.Until != nil {
		high = r.Until.String()
	}
	return low + " to " + high
}
