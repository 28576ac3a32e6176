package document

import (
	"strconv"
	"strings"
)

// Shape is what a value is before anybody knows what it should be.
type Shape int

// The shapes of values.
const (
	Null Shape = iota
	Text
	Integer
	Decimal // any other number
	Boolean
	List
	Mapping
)

// Node is a value of a document, with its place.
type Node struct {
	Shape Shape
	// Text is a scalar's value: of Text what it says, of the others how it is
	// written, numbers in decimal.
	Text string

	file         string
	line, column int
	concealed    bool // not to be repeated
	items        []*Node
	entries      []entry
}

// entry is a field of a mapping, with the place of its name.
type entry struct {
	key          string
	line, column int
	value        *Node
}

// Field is the value of a mapping's field, nil when it has none.
func (n *Node) Field(name string) *Node {
	if n == nil {
		return nil
	}
	for _, e := range n.entries {
		if e.key == name {
			return e.value
		}
	}
	return nil
}

// Fields are the names of a mapping's fields in the document's order.
func (n *Node) Fields() []string {
	names := make([]string, len(n.entries))
	for i, e := range n.entries {
		names[i] = e.key
	}
	return names
}

// AtName is a mistake at the place of a field's name that does not repeat it.
func (n *Node) AtName(name, text string) Mistake {
	m := Mistake{File: n.file, Line: n.line, Column: n.column, Text: text}
	for _, e := range n.entries {
		if e.key == name {
			m.Line, m.Column = e.line, e.column
			break
		}
	}
	return m
}

// Position is file:line:column, or as much of it as is known.
func (n *Node) Position() string {
	return strings.TrimSuffix(Mistake{File: n.file, Line: n.line, Column: n.column}.Error(), ": ")
}

// Locate gives mistakes the place of the field they are about, or of the
// nearest one around it that is in the document. A nil Node leaves them
// without a place.
func (n *Node) Locate(mistakes Mistakes) Mistakes {
	if n == nil {
		return mistakes
	}
	for i := range mistakes {
		if m := &mistakes[i]; m.File == "" && m.Line == 0 {
			place := n.nearest(m.Field)
			m.File, m.Line, m.Column = n.file, place.line, place.column
		}
	}
	return mistakes
}

// nearest follows a path as far as the document goes.
func (n *Node) nearest(path string) *Node {
	for path != "" {
		var next *Node
		if rest, found := strings.CutPrefix(path, "["); found {
			number, after, _ := strings.Cut(rest, "]")
			if i, err := strconv.Atoi(number); err == nil && i < len(n.items) {
				next = n.items[i]
			}
			path = after
		} else {
			path = strings.TrimPrefix(path, ".")
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			next, path = n.Field(path[:end]), path[end:]
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// String describes a value to people who expected another one.
func (n *Node) String() string {
	switch n.Shape {
	case Null:
		return "nothing"
	case Text:
		if n.concealed {
			return "text"
		}
		return strconv.Quote(n.Text)
	case List:
		return "a list"
	case Mapping:
		return "a mapping"
	case Boolean:
		return n.Text
	default:
		if n.concealed {
			return "a number"
		}
		return "the number " + n.Text
	}
}
