package mysql

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"godwit/internal/engine"
)

// chooseKey picks the key that ranges of the table are cut by: the primary key,
// or else the unique key with the fewest columns.
func chooseKey(t *engine.Table) {
	var candidates []*engine.Index
	for i := range t.Indexes {
		if t.Indexes[i].Unique {
			candidates = append(candidates, &t.Indexes[i])
		}
	}
	slices.SortStableFunc(candidates, func(a, b *engine.Index) int {
		if a.Primary != b.Primary {
			if a.Primary {
				return -1
			}
			return 1
		}
		return cmp.Compare(len(a.Parts), len(b.Parts))
	})
	var problems []string
	for _, index := range candidates {
		problem := keyProblem(t, index)
		if problem == "" {
			t.KeyName = index.Name
			for _, part := range index.Parts {
				t.Key = append(t.Key, part.Column)
			}
			return
		}
		problems = append(problems, fmt.Sprintf("key %s %s", index.Name, problem))
	}
	t.KeyProblem = strings.Join(problems, "; ")
	if len(candidates) == 0 {
		t.KeyProblem = "there is no primary key and no unique key"
	}
}

// keyProblem says why ranges cannot be cut by an index; empty when they can.
func keyProblem(t *engine.Table, index *engine.Index) string {
	switch {
	case index.Method != "btree":
		return "is a " + index.Method + " index, which has no order"
	case index.Invisible:
		return "is invisible"
	}
	for _, part := range index.Parts {
		column := t.Column(part.Column)
		switch {
		case part.Expression != "":
			return "is on an expression"
		case column == nil:
			return "is on the hidden column " + part.Column
		case part.Prefix != 0:
			return "is on a prefix of column " + part.Column
		case column.Nullable:
			return "allows NULL in column " + part.Column
		case part.Descending != index.Parts[0].Descending:
			return "mixes ascending and descending columns"
		}
		if problem := orderProblem(column.Type); problem != "" {
			return fmt.Sprintf("is on column %s, %s", part.Column, problem)
		}
	}
	return ""
}

// maxKeyValues is how many values an enum in a key may have: a range of it is
// written as a list.
const maxKeyValues = 64

// orderProblem says why values of a type cannot be compared exactly and by way
// of an index; empty when they can.
func orderProblem(t engine.Type) string {
	switch t.Base {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "year", "bit",
		"char", "varchar", "binary", "varbinary",
		"date", "time", "datetime", "timestamp", "uuid", "inet4", "inet6":
		return ""
	case "enum":
		switch {
		case slices.Contains(t.Values, ""):
			return "an enum that has the empty string among its values"
		case slices.ContainsFunc(t.Values, func(v string) bool { return strings.Contains(v, "?") }):
			return "an enum with a question mark in a value, which is also how the server shows a character such as an emoji"
		case len(t.Values) > maxKeyValues:
			return fmt.Sprintf("an enum of more than %d values", maxKeyValues)
		}
		return ""
	case "float", "double":
		return "whose " + t.Base + " values do not compare exactly"
	}
	return "whose type " + t.Base + " has no order that can be cut"
}

// keyKind is how values of a key column are handed to the server.
func keyKind(t engine.Type) engine.KeyKind {
	switch t.Base {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "year", "bit":
		return engine.NumberKey
	case "binary", "varbinary":
		return engine.BytesKey
	}
	return engine.TextKey
}

func isTemporal(t engine.Type) bool {
	switch t.Base {
	case "date", "time", "datetime", "timestamp":
		return true
	}
	return false
}
