package mysql

import (
	"strings"

	"godwit/internal/engine"
)

// CreateSaved writes the statement that makes the table of old values. Its
// columns have the types of the table's own and nothing else of theirs: no
// defaults, which may be about other columns, and no ON UPDATE, which would
// change what is saved.
func (s *Server) CreateSaved(r *engine.Rewrite) []string {
	var columns []engine.Column
	add := func(as, name string) {
		column := *r.Table.Column(name)
		column.Name = as
		columns = append(columns, column)
	}
	for i, name := range r.Table.Key {
		add(r.SavedKey(name), name)
		columns[i].Nullable = false
	}
	for _, name := range r.Restored() {
		add(r.SavedOld(name), name)
	}
	for _, a := range r.Set {
		add(r.SavedNew(a.Column), a.Column)
	}
	inline := rowBytes(columns) <= mostRowBytes
	var list, key []string
	for i := range columns {
		list = append(list, Quote(columns[i].Name)+" "+savedType(&columns[i], inline))
		if i < len(r.Table.Key) {
			key = append(key, Quote(columns[i].Name))
		}
	}
	list = append(list, engine.PassColumn+" int NOT NULL", "PRIMARY KEY ("+strings.Join(key, ", ")+", "+engine.PassColumn+")")
	return []string{"CREATE TABLE IF NOT EXISTS " + QuoteName(r.Saved) + " (" + strings.Join(list, ", ") + ") ENGINE=InnoDB ROW_FORMAT=DYNAMIC"}
}

const (
	// mostRowBytes is what the columns of a row may have together: the server
	// lets them have 65535 bytes, and old and new values are twice a table's own.
	mostRowBytes = 60_000
	// shortText is how long a text may be that stays in the row also when all of
	// them together are too long.
	shortText = 255
)

// rowBytes is how many bytes a row has at the most, as the server counts them.
func rowBytes(columns []engine.Column) (sum int64) {
	for i := range columns {
		switch t := &columns[i].Type; t.Base {
		case "char", "varchar":
			sum += 4*t.Length + 2
		case "binary", "varbinary":
			sum += t.Length + 2
		default:
			sum += 12
		}
	}
	return sum
}

// savedType writes a column's type, inline or, where it is long, outside of the row.
func savedType(c *engine.Column, inline bool) string {
	text := c.Type.Full
	if !inline && c.Type.Length > shortText {
		switch c.Type.Base {
		case "varchar":
			text = "mediumtext"
		case "varbinary":
			text = "mediumblob"
		}
	}
	if c.Type.Charset != "" {
		text += " CHARACTER SET " + c.Type.Charset
	}
	if c.Type.Collation != "" {
		text += " COLLATE " + c.Type.Collation
	}
	switch {
	case c.Nullable:
		return text + " NULL"
	case c.Type.Base == "timestamp": // some servers give it ON UPDATE where it has no default
		return text + " NOT NULL DEFAULT '2000-01-01 00:00:00'"
	}
	return text + " NOT NULL"
}
