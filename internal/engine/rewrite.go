package engine

import (
	"fmt"
	"hash/crc32"
	"strings"
)

// Rewrite is an UPDATE of a table that is done range by range of its key.
//
// With a Saved table it is two statements: one locks the rows and saves their
// keys, their old values and what the expressions make of them; the other one
// writes exactly that. So every expression is evaluated once for a row, on the
// row as it was before, and what a rollback compares with is what was written.
type Rewrite struct {
	Table *Table       `json:"table"`
	Set   []Assignment `json:"set"`
	// Also are further columns that a change of the row changes by itself, like
	// MySQL's ON UPDATE CURRENT_TIMESTAMP: they are saved and restored, too.
	Also []string `json:"also,omitempty"`
	// Where, From and On are the user's, in the dialect of the server.
	Where string `json:"where,omitempty"`
	From  Name   `json:"from,omitzero"`
	On    string `json:"on,omitempty"`
	// Saved is the table of old values; zero for none.
	Saved Name `json:"saved,omitzero"`
}

// Assignment is a column with the expression for its new value.
type Assignment struct {
	Column string `json:"column"`
	Expr   string `json:"expr"`
}

// PassColumn is the column of a saved table that tells the passes apart.
const PassColumn = "pass"

// The prefixes of the columns of a saved table.
const (
	savedKey = "key_"
	savedOld = "old_"
	savedNew = "new_"
)

// SavedKey names the column of a saved table that has a key column.
func (r *Rewrite) SavedKey(column string) string { return savedName(savedKey, column) }

// SavedOld names the column that has a column's old value.
func (r *Rewrite) SavedOld(column string) string { return savedName(savedOld, column) }

// SavedNew names the column that has a column's new value.
func (r *Rewrite) SavedNew(column string) string { return savedName(savedNew, column) }

// savedName keeps to the identifiers' length of every engine.
func savedName(prefix, column string) string {
	const most = 63
	if len(prefix)+len(column) <= most {
		return prefix + column
	}
	short := strings.ToValidUTF8(column[:min(len(column), 48)], "") // the length is one of bytes
	return fmt.Sprintf("%s%s_%08x", prefix, short, crc32.ChecksumIEEE([]byte(column)))
}

// Restored are the columns whose old values are saved.
func (r *Rewrite) Restored() []string {
	var names []string
	for _, a := range r.Set {
		names = append(names, a.Column)
	}
	return append(names, r.Also...)
}

// SavedTable describes the saved table as far as ranges of it need it: it has
// the key of the table, under the columns' own names there.
func (r *Rewrite) SavedTable() *Table {
	t := &Table{Name: r.Saved, KeyName: "PRIMARY"}
	for _, name := range r.Table.Key {
		column := *r.Table.Column(name)
		column.Name = r.SavedKey(name)
		t.Columns = append(t.Columns, column)
		t.Key = append(t.Key, column.Name)
	}
	return t
}
