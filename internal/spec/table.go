package spec

import (
	"errors"
	"strings"

	"godwit/internal/document"
)

// SetText makes an entry from its short form.
func (t *TableSpec) SetText(text string) error {
	if text == "" {
		return errors.New("is empty: name a table")
	}
	*t = TableSpec{Name: text}
	return nil
}

// Excludes tells whether the entry takes tables away from those before it.
func (t TableSpec) Excludes() bool { return strings.HasPrefix(t.Name, "!") }

// IsPattern tells whether the entry may cover any number of tables.
func (t TableSpec) IsPattern() bool { return strings.Contains(t.Name, "*") }

// Covers tells whether the entry is about a table. A name without a schema is
// about the source connection's own database, defaultSchema. For an entry that
// excludes, it is the tables that are taken away.
func (t TableSpec) Covers(schema, table, defaultSchema string) bool {
	wantedSchema, wantedTable := t.split()
	if wantedSchema == "" {
		return schema == defaultSchema && matches(wantedTable, table)
	}
	return matches(wantedSchema, schema) && matches(wantedTable, table)
}

func (t TableSpec) split() (schema, table string) {
	name := strings.TrimPrefix(t.Name, "!")
	if schema, table, found := strings.Cut(name, "."); found {
		return schema, table
	}
	return "", name
}

// matches tells whether a pattern, in which * stands for any characters,
// covers a text.
func matches(pattern, text string) bool {
	first, rest, found := strings.Cut(pattern, "*")
	if !found {
		return pattern == text
	}
	text, found = strings.CutPrefix(text, first)
	if !found {
		return false
	}
	for {
		var piece string
		if piece, rest, found = strings.Cut(rest, "*"); !found {
			return strings.HasSuffix(text, piece)
		}
		i := strings.Index(text, piece)
		if i < 0 {
			return false
		}
		text = text[i+len(piece):]
	}
}

// overlap tells whether there is a text that both patterns cover.
func overlap(a, b string) bool {
	// reach[j] tells whether the part of a so far and b[:j] cover a common text.
	reach := make([]bool, len(b)+1)
	for i := 0; i <= len(a); i++ {
		next := make([]bool, len(b)+1)
		for j := 0; j <= len(b); j++ {
			switch {
			case i == 0 && j == 0:
				next[j] = true
			case i > 0 && a[i-1] == '*':
				next[j] = reach[j] || j > 0 && next[j-1]
			case j > 0 && b[j-1] == '*':
				next[j] = next[j-1] || i > 0 && reach[j]
			default:
				next[j] = i > 0 && j > 0 && a[i-1] == b[j-1] && reach[j-1]
			}
		}
		reach = next
	}
	return reach[len(b)]
}

func checkTables(found *document.Mistakes, tables []TableSpec) {
	if tables != nil && len(tables) == 0 {
		found.Add("tables", "is empty: name tables, or leave it out to copy all of them")
	}
	names, targets := map[string]int{}, map[string]int{}
	for i, t := range tables {
		at := document.Item("tables", i)
		if first, given := names[t.Name]; given && t.Name != "" {
			found.Add(document.Join(at, "name"), "%q is given already as tables[%d]", t.Name, first)
			continue
		}
		names[t.Name] = i
		checkTable(found, at, t, tables[:i])
		if first, taken := targets[t.To]; taken && t.To != "" {
			found.Add(document.Join(at, "to"), "%q is the target of tables[%d] already", t.To, first)
			continue
		}
		targets[t.To] = i
	}
}

func checkTable(found *document.Mistakes, at string, t TableSpec, before []TableSpec) {
	schema, table := t.split()
	switch {
	case t.Name == "": // said to be missing
	case t.Name != strings.TrimSpace(t.Name):
		found.Add(document.Join(at, "name"), "%q begins or ends with a blank", t.Name)
	case table == "" || schema == "" && strings.HasPrefix(t.Name, "."):
		found.Add(document.Join(at, "name"), "%q is not a table: write it like database.table or database.*", t.Name)
	case t.Excludes() && !takesFrom(t, before):
		found.Add(document.Join(at, "name"), "%q takes nothing away from the entries before it: "+
			"put it after the one that it is to take from, like \"shop.*\"", t.Name)
	}
	switch {
	case t.Excludes() && t.To != "":
		found.Add(document.Join(at, "to"), "makes no sense for tables that are not copied")
	case t.IsPattern() && t.To != "":
		found.Add(document.Join(at, "to"), "%q cannot be the target of the pattern %q: name one table", t.To, t.Name)
	case strings.ContainsAny(t.To, "*!"):
		found.Add(document.Join(at, "to"), "%q is a pattern: name one table", t.To)
	}
	switch {
	case t.Excludes() && t.Where != "":
		found.Add(document.Join(at, "where"), "makes no sense for tables that are not copied")
	case strings.EqualFold(firstWord(t.Where), "where"):
		found.Add(document.Join(at, "where"), "leave out the word WHERE")
	}
}

func firstWord(text string) string {
	if words := strings.Fields(text); len(words) > 0 {
		return words[0]
	}
	return ""
}

// takesFrom tells whether an entry that excludes may be about a table that an
// entry before it includes. Names without a schema may be of any.
func takesFrom(t TableSpec, before []TableSpec) bool {
	schema, table := t.split()
	for _, b := range before {
		otherSchema, otherTable := b.split()
		if !b.Excludes() && overlap(table, otherTable) &&
			(schema == "" || otherSchema == "" || overlap(schema, otherSchema)) {
			return true
		}
	}
	return false
}
