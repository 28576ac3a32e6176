package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func orders() *Table {
	srid := uint32(4326)
	return &Table{
		Name: Name{Schema: "shop", Table: "orders"},
		Columns: []Column{
			{Name: "id", Type: Type{Full: "bigint unsigned", Base: "bigint"}, Identity: true},
			{Name: "state", Type: Type{Full: "state", Base: "state", Values: []string{"new", "sent"}}, Default: &Default{Text: "new"}},
			{Name: "note", Type: Type{Full: "varchar(20)", Charset: "utf8mb4", Collation: "utf8mb4_bin"}, Nullable: true},
			{Name: "place", Type: Type{Full: "point", SRID: &srid}, Nullable: true},
			{Name: "twice", Type: Type{Full: "int"}, Generated: "id * 2", Nullable: true},
		},
		Key: []string{"id"}, KeyName: "PRIMARY", Rows: 7, Bytes: 100, NextIdentity: 8,
	}
}

func TestADefinitionStaysTheSameWhenOnlyTheContentsChange(t *testing.T) {
	before, after := orders(), orders()
	after.Rows, after.Bytes, after.NextIdentity = 9, 200, 10
	after.Comment = "all of them"
	after.Columns[1].Default = nil
	after.Indexes = []Index{{Name: "by_note", Parts: []IndexPart{{Column: "note"}}}}
	require.Equal(t, Definition(before), Definition(after))
}

func TestADefinitionShowsEverythingThatMattersToTheRows(t *testing.T) {
	changes := map[string]func(*Table){
		"the table":              func(t *Table) { t.Name.Table = "order" },
		"a column's name":        func(t *Table) { t.Columns[2].Name = "remark" },
		"a column's type":        func(t *Table) { t.Columns[2].Type.Full = "varchar(30)" },
		"an enum's values":       func(t *Table) { t.Columns[1].Type.Values = []string{"new", "sent", "lost"} },
		"a character set":        func(t *Table) { t.Columns[2].Type.Charset = "latin1" },
		"a collation":            func(t *Table) { t.Columns[2].Type.Collation = "utf8mb4_general_ci" },
		"NOT NULL":               func(t *Table) { t.Columns[2].Nullable = false },
		"JSON":                   func(t *Table) { t.Columns[2].Type.JSON = true },
		"an SRID":                func(t *Table) { t.Columns[3].Type.SRID = nil },
		"a generated expression": func(t *Table) { t.Columns[4].Generated = "id * 3" },
		"a stored expression":    func(t *Table) { t.Columns[4].Stored = true },
		"the order of columns":   func(t *Table) { t.Columns[0], t.Columns[1] = t.Columns[1], t.Columns[0] },
		"one column less":        func(t *Table) { t.Columns = t.Columns[:4] },
		"the key":                func(t *Table) { t.Key = []string{"id", "state"} },
		"the key's name":         func(t *Table) { t.KeyName = "orders_id" },
	}
	seen := map[string]string{Definition(orders()): "nothing"}
	for what, change := range changes {
		table := orders()
		change(table)
		definition := Definition(table)
		require.NotContains(t, seen, definition, "%s", what)
		seen[definition] = what
	}
}
