package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Mistake is one thing that is wrong with a document.
type Mistake struct {
	// File is the document's name, empty when it has none.
	File string
	// Line and Column tell where, from 1; Line is 0 when it is not known.
	Line, Column int
	// Field is the path of the field it is about (tables[2].where), empty when
	// it is about the whole document.
	Field string
	// Text says what is wrong and what to do about it.
	Text string
}

func (m Mistake) Error() string {
	var text strings.Builder
	if m.File != "" {
		text.WriteString(m.File + ":")
	}
	if m.Line > 0 {
		fmt.Fprintf(&text, "%d:%d:", m.Line, m.Column)
	}
	if text.Len() > 0 {
		text.WriteByte(' ')
	}
	if m.Field != "" {
		fmt.Fprintf(&text, "field %q: ", m.Field)
	}
	text.WriteString(m.Text)
	return text.String()
}

// Mistakes are all that is wrong with a document, one per line.
type Mistakes []Mistake

func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, one := range m {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Add notes a mistake of a field.
func (m *Mistakes) Add(field, format string, args ...any) {
	*m = append(*m, Mistake{Field: field, Text: fmt.Sprintf(format, args...)})
}

// Err is the mistakes as an error, nil when there are none.
func (m Mistakes) Err() error {
	if len(m) == 0 {
		return nil
	}
	return m
}

// Under tells whether a mistake is known of a field or of what it is part of,
// so that what would only follow from it need not be said.
func (m Mistakes) Under(field string) bool {
	return slices.ContainsFunc(m, func(one Mistake) bool {
		rest, found := strings.CutPrefix(field, one.Field)
		return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// Within tells whether a mistake is known of a field or of any part of it.
func (m Mistakes) Within(field string) bool {
	return slices.ContainsFunc(m, func(one Mistake) bool { return Mistakes{{Field: field}}.Under(one.Field) })
}

// Sorted are the mistakes in the order of the document.
func (m Mistakes) Sorted() Mistakes {
	slices.SortStableFunc(m, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return m
}

// Join is the path of a field within another one.
func Join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// Item is the path of an item, from 0, of a list.
func Item(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
