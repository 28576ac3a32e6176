package engine

import (
	"fmt"
	"strings"
)

// Definition writes down what of a table must not change while it is being
// migrated: its columns with their types, in order, and its key, a line each.
// What changes by itself (estimates, the next identity value) and what makes no
// difference to the rows (indexes, defaults, comments) is not in it.
func Definition(t *Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "table %q\n", t.Name.String())
	for i := range t.Columns {
		b.WriteString(columnDefinition(&t.Columns[i]))
	}
	fmt.Fprintf(&b, "key %q %q\n", t.KeyName, t.Key)
	return b.String()
}

func columnDefinition(c *Column) string {
	var b strings.Builder
	fmt.Fprintf(&b, "column %q %s", c.Name, c.Type.Full)
	if len(c.Type.Values) > 0 {
		fmt.Fprintf(&b, " values %q", c.Type.Values)
	}
	if c.Type.Charset != "" || c.Type.Collation != "" {
		fmt.Fprintf(&b, " charset %s collation %s", c.Type.Charset, c.Type.Collation)
	}
	if c.Type.JSON {
		b.WriteString(" json")
	}
	if c.Type.SRID != nil {
		fmt.Fprintf(&b, " srid %d", *c.Type.SRID)
	}
	if !c.Nullable {
		b.WriteString(" not null")
	}
	if c.Generated != "" {
		fmt.Fprintf(&b, " generated %q stored %t", c.Generated, c.Stored)
	}
	return b.String() + "\n"
}
