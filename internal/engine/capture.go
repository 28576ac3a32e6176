package engine

import "time"

// Capture is a table whose changes are noted, and the changelog, the table that
// they are noted in: for each changed row its key, for a row whose key has
// changed the old one and the new one. Nothing else is noted, since a row is
// read again anyway.
type Capture struct {
	Table *Table `json:"table"`
	Log   Name   `json:"log"`
	// Derived says that the table is at first a copy that is kept true by draining
	// another changelog. What a session writes to it that was made a drainer's
	// (Unnoted) is no change of anybody's, and is not noted.
	Derived bool `json:"derived,omitempty"`
}

// The columns of a changelog, besides those of the key. The entry of number 0
// is no change: whoever drains locks it, so that only one does at a time.
const (
	LogID   = "id"
	LogTime = "at"
	LogOp   = "op"
)

// What an entry of the changelog notes; only Emptied makes a difference.
const (
	Inserted = "I"
	Updated  = "U"
	Deleted  = "D"
	Emptied  = "T" // TRUNCATE, where it can be noticed
	Door     = "-" // the entry of number 0
)

// LogKey names the changelog's column for a column of the key.
func (c *Capture) LogKey(column string) string { return savedName(savedKey, column) }

// LogTable describes the changelog as far as ranges of keys need it: it has the
// key of the table, under the columns' own names there.
func (c *Capture) LogTable() *Table {
	t := &Table{Name: c.Log, KeyName: "PRIMARY"}
	for _, name := range c.Table.Key {
		column := *c.Table.Column(name)
		column.Name = c.LogKey(name)
		t.Columns = append(t.Columns, column)
		t.Key = append(t.Key, column.Name)
	}
	return t
}

// Entry is a committed change.
type Entry struct {
	ID  int64
	Key Key // nil where the whole table was emptied
}

// Window picks entries of a changelog: with numbers above After and up to Until,
// of keys that are in one of the ranges, or of all keys and of the whole table.
// Emptied adds those of the whole table to the former.
type Window struct {
	After, Until   int64
	Ranges         []Range
	Whole, Emptied bool
}

// Part is some rows of a table: those of the keys, or where there are none, those
// of the range.
type Part struct {
	Keys   []Key
	Within Range
}

// Pending is what waits in a changelog.
type Pending struct {
	// Rows are entries; more than CountedRows are the server's estimate.
	Rows int64
	// Oldest is when the first of them was written; zero when there is none.
	Oldest time.Time
}

// CountedRows is how many entries of a changelog are counted one by one.
const CountedRows = 100_000

// Projection says how rows of a table become rows of another one on the same
// server.
type Projection struct {
	Into *Table `json:"into"`
	// Columns are those of Into that get a value, with its expression over the
	// columns of the table that is read.
	Columns []Assignment `json:"columns"`
	// Key are the columns of Into that hold the key of the table that is read,
	// in the order of that key.
	Key []string `json:"key"`
	// Kept are columns of Into that keep the value they have, since nothing gives
	// them another one; a new row gets their defaults.
	Kept []string `json:"kept,omitempty"`
	// Apart says that Into compares characters of the key in another way: what is
	// one key to the table that is read may be two to Into, or the other way
	// round. So a copy is known by the bytes of its key, not by a comparison alone.
	Apart bool `json:"apart,omitempty"`
}

// Expr returns the expression for a column of Into; false when it has none.
func (p *Projection) Expr(column string) (string, bool) {
	for _, a := range p.Columns {
		if a.Column == column {
			return a.Expr, true
		}
	}
	return "", false
}

// KeyTable describes Into as a table with the key of the table that is read.
func (p *Projection) KeyTable() *Table {
	t := *p.Into
	t.Key, t.KeyName = p.Key, ""
	for i := range p.Into.Indexes {
		if p.leads(&p.Into.Indexes[i]) {
			t.KeyName = p.Into.Indexes[i].Name
			break
		}
	}
	return &t
}

// leads reports whether an index begins with the columns of the key.
func (p *Projection) leads(index *Index) bool {
	if len(index.Parts) < len(p.Key) || index.Predicate != "" {
		return false
	}
	for i, column := range p.Key {
		if index.Parts[i].Column != column || index.Parts[i].Prefix != 0 {
			return false
		}
	}
	return true
}

// Rivals are the unique indexes of Into whose values are known beforehand: those
// in which one row can stand in another one's way. In the key's own it can only
// where that compares in another way.
func (p *Projection) Rivals() []Index {
	var list []Index
	for _, index := range p.Into.Indexes {
		if !index.Unique || index.Predicate != "" || !p.Apart && len(index.Parts) == len(p.Key) && p.leads(&index) {
			continue
		}
		known := true
		for _, part := range index.Parts {
			_, found := p.Expr(part.Column)
			known = known && found && part.Expression == ""
		}
		if known {
			list = append(list, index)
		}
	}
	return list
}

// Clash is a row that cannot be written because another one has a value that
// has to be unique.
type Clash struct {
	Index string
	Row   Key // the row that wants the value
	Rival Key // the row of the other table that has it
}
