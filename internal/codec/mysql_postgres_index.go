package codec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"godwit/internal/engine"
	"godwit/internal/engine/postgres"
)

// maxIndexedBytes is about what one entry of a btree takes in PostgreSQL.
const maxIndexedBytes = 2700

func (m *mapping) indexes() {
	for i := range m.src.Indexes {
		m.index(&m.src.Indexes[i])
	}
}

func (m *mapping) index(src *engine.Index) {
	if why := m.leftOut(src); why != "" {
		m.note("", "%s index %s is left out%s", indexKind(src), src.Name, why)
		return
	}
	dst := engine.Index{Unique: src.Unique, Primary: src.Primary, Method: "btree", Comment: src.Comment}
	var prefixes []string
	for _, part := range src.Parts {
		if part.Prefix > 0 {
			prefixes = append(prefixes, fmt.Sprintf("%s(%d)", part.Column, part.Prefix))
		}
		dst.Parts = append(dst.Parts, m.indexPart(part))
	}
	name := src.Name
	if src.Primary {
		name = "pkey"
	}
	name = m.relationName(name)
	dst.Name = name
	if src.Primary && len(prefixes) > 0 {
		dst.Primary = false
		m.note("", "the primary key becomes the unique index %s: it is on the beginning of %s, and PostgreSQL's primary keys are on whole columns", name, strings.Join(prefixes, ", "))
	}
	if m.src.KeyName == src.Name {
		m.dst.KeyName = name
	}
	m.indexNotes(src, name)
	m.dst.Indexes = append(m.dst.Indexes, dst)
}

func indexKind(i *engine.Index) string {
	switch {
	case i.Method == "fulltext", i.Method == "spatial":
		return i.Method
	case i.Unique:
		return "unique"
	}
	return "functional"
}

// leftOut says why an index has no counterpart, "" when it has one.
func (m *mapping) leftOut(i *engine.Index) string {
	switch i.Method {
	case "btree", "hash":
	case "fulltext":
		return ": PostgreSQL searches text in another way (tsvector, GIN)"
	default:
		return ": this version has no counterpart for it"
	}
	for _, part := range i.Parts {
		if part.Expression != "" {
			return ": its expression " + part.Expression + " is of the source's dialect"
		}
	}
	return ""
}

// indexPart indexes the beginning of a column by an expression.
func (m *mapping) indexPart(part engine.IndexPart) engine.IndexPart {
	if part.Prefix == 0 {
		return engine.IndexPart{Column: part.Column, Descending: part.Descending}
	}
	column := postgres.Quote(part.Column)
	expression := fmt.Sprintf("left(%s, %d)", column, part.Prefix)
	if c := m.dst.Column(part.Column); c != nil && c.Type.Base == "bytea" {
		expression = fmt.Sprintf("substr(%s, 1, %d)", column, part.Prefix)
	}
	return engine.IndexPart{Expression: expression, Descending: part.Descending}
}

func (m *mapping) indexNotes(src *engine.Index, name string) {
	if src.Invisible {
		m.note("", "index %s is invisible on the source and used on the target", src.Name)
	}
	var folding []string
	for _, part := range src.Parts {
		c := m.src.Column(part.Column)
		if c == nil {
			continue
		}
		if folds(c) {
			folding = append(folding, c.Name)
		}
		if part.Prefix == 0 && maxCharacters(&c.Type) > maxIndexedBytes {
			m.note("", "index %s: PostgreSQL refuses values of %s that are over about %d bytes", name, c.Name, maxIndexedBytes)
		}
	}
	if src.Unique && len(folding) > 0 {
		m.note("", "unique index %s tells values apart on the target that %s takes for the same: %s", name, m.src.Column(folding[0]).Type.Collation, strings.Join(folding, ", "))
	}
}

// relationName names an index <table>_<index>: MySQL's names are unique in
// their table, PostgreSQL's in their schema. A name that begins with the
// table's already is kept. What another table of the migration may want, or
// is called, gets a hash of table and index.
func (m *mapping) relationName(index string) string {
	table := m.dst.Name.Table
	name := index
	if !strings.HasPrefix(index, table+"_") {
		name = table + "_" + index
	}
	if m.ambiguous(name) {
		name += fmt.Sprintf("_%08x", uint32(xxh3.HashString(table+"\x00"+index)))
	}
	return m.uniqueName(name)
}

func (m *mapping) ambiguous(name string) bool {
	for _, other := range m.opts.Target {
		if other.Schema != m.dst.Name.Schema || other.Table == m.dst.Name.Table {
			continue
		}
		longer := strings.HasPrefix(other.Table, m.dst.Name.Table+"_")
		if other.Table == name || longer && strings.HasPrefix(name, other.Table+"_") {
			return true
		}
	}
	return false
}

func (m *mapping) foreignKeys() {
	for i := range m.src.ForeignKeys {
		m.foreignKey(&m.src.ForeignKeys[i])
	}
}

func (m *mapping) foreignKey(src *engine.ForeignKey) {
	ref := src.Ref
	if ref.Schema == "" {
		ref.Schema = m.src.Name.Schema
	}
	to, migrated := m.opts.Target[ref]
	if ref == m.src.Name {
		to, migrated = m.dst.Name, true
	}
	if !migrated {
		m.note("", "foreign key %s is left out: %s, which it refers to, is not part of the migration", src.Name, ref)
		return
	}
	for _, name := range src.Columns {
		if c := m.src.Column(name); c != nil && folds(c) {
			m.note("", "foreign key %s compares %s exactly on the target; %s takes different texts for the same", src.Name, name, c.Type.Collation)
		}
	}
	m.dst.ForeignKeys = append(m.dst.ForeignKeys, engine.ForeignKey{
		Name: m.uniqueName(src.Name), Columns: slices.Clone(src.Columns), Ref: to, RefColumns: slices.Clone(src.RefColumns),
		OnDelete: src.OnDelete, OnUpdate: src.OnUpdate,
	})
}
