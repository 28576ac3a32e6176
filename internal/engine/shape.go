package engine

import (
	"fmt"
	"slices"
	"strings"
)

// Shape is a table's definition as lines that can be compared: a line for each
// column, index, check and foreign key, and one for the order of the columns.
type Shape []string

// ShapeOf writes a table's definition down. What changes by itself, and how the
// table is stored, is not in it; and what the server names by itself goes by
// what it is where names is false.
func ShapeOf(t *Table, names bool) Shape {
	var lines Shape
	order := make([]string, len(t.Columns))
	for i := range t.Columns {
		order[i] = t.Columns[i].Name
		lines = append(lines, columnShape(&t.Columns[i]))
	}
	lines = append(lines, fmt.Sprintf("columns in the order %q", order))
	for _, index := range t.Indexes {
		lines = append(lines, indexShape(index))
	}
	for _, check := range t.Checks {
		if names {
			lines = append(lines, fmt.Sprintf("check %q %s", check.Name, check.Expression))
		} else {
			lines = append(lines, "check "+check.Expression)
		}
	}
	for _, key := range t.ForeignKeys {
		lines = append(lines, fmt.Sprintf("foreign key %q %q references %q %q on delete %s on update %s", key.Name, key.Columns, key.Ref, key.RefColumns, key.OnDelete, key.OnUpdate))
	}
	if t.Comment != "" {
		lines = append(lines, fmt.Sprintf("comment %q", t.Comment))
	}
	return lines
}

func columnShape(c *Column) string {
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(columnDefinition(c), "\n"))
	if c.Default != nil {
		fmt.Fprintf(&b, " default %q", c.Default.Text)
		if c.Default.Expression {
			b.WriteString(" (an expression)")
		}
	}
	for _, part := range []struct {
		has  bool
		word string
	}{{c.Identity, " identity"}, {c.OnUpdateNow, " on update now"}, {c.Invisible, " invisible"}} {
		if part.has {
			b.WriteString(part.word)
		}
	}
	if c.Comment != "" {
		fmt.Fprintf(&b, " comment %q", c.Comment)
	}
	return b.String()
}

func indexShape(i Index) string {
	var b strings.Builder
	switch {
	case i.Primary:
		b.WriteString("primary key")
	case i.Unique:
		b.WriteString("unique index")
	default:
		b.WriteString("index")
	}
	fmt.Fprintf(&b, " %q %s", i.Name, i.Method)
	for _, p := range i.Parts {
		fmt.Fprintf(&b, " %q", p.Column)
		if p.Expression != "" {
			b.WriteString(" (" + p.Expression + ")")
		}
		if p.Prefix > 0 {
			fmt.Fprintf(&b, "(%d)", p.Prefix)
		}
		if p.Descending {
			b.WriteString(" desc")
		}
	}
	if i.Predicate != "" {
		b.WriteString(" where " + i.Predicate)
	}
	if i.Invisible {
		b.WriteString(" invisible")
	}
	return b.String()
}

// Changes are the lines that are only in after, and those that are only in before.
func Changes(before, after Shape) (added, removed []string) {
	return without(after, before), without(before, after)
}

func without(lines, others Shape) []string {
	var rest []string
	for _, line := range lines {
		if !slices.Contains(others, line) {
			rest = append(rest, line)
		}
	}
	return rest
}

// Differs says what of a change is not to be seen in a table: what should have
// come and what should have gone. What else there is, is not looked at.
func Differs(now, before, after Shape) []string {
	var found []string
	added, removed := Changes(before, after)
	for _, line := range added {
		if !slices.Contains(now, line) {
			found = append(found, "missing: "+line)
		}
	}
	for _, line := range removed {
		if slices.Contains(now, line) {
			found = append(found, "still there: "+line)
		}
	}
	return found
}
