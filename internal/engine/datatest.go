package engine

import (
	"slices"
	"strings"
)

// Quoter writes names in the way of an engine.
type Quoter struct {
	Ident func(string) string
	Name  func(Name) string
}

// NotNullTest looks for rows in which a column is NULL.
func (q Quoter) NotNullTest(t *Table, column string) DataTest {
	columns := named(t, column)
	return DataTest{What: column + " must not be NULL", Columns: columns,
		Rows: "SELECT " + q.list(columns) + " FROM " + q.Name(t.Name) + " WHERE " + q.Ident(column) + " IS NULL"}
}

// UniqueTest looks for rows that have the same values, without NULL, in columns.
func (q Quoter) UniqueTest(t *Table, unique []string) DataTest {
	columns := named(t, unique...)
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = "a." + q.Ident(c)
	}
	var on, not []string
	for _, c := range unique {
		on = append(on, "a."+q.Ident(c)+" = b."+q.Ident(c))
		not = append(not, q.Ident(c)+" IS NOT NULL")
	}
	return DataTest{What: strings.Join(unique, ", ") + " must be unique", Columns: columns,
		Rows: "SELECT " + strings.Join(list, ", ") + " FROM " + q.Name(t.Name) + " a JOIN (SELECT " + q.list(unique) + " FROM " + q.Name(t.Name) +
			" WHERE " + strings.Join(not, " AND ") + " GROUP BY " + q.list(unique) + " HAVING count(*) > 1) b ON " + strings.Join(on, " AND ")}
}

// CheckTest looks for rows for which a condition about columns is false.
func (q Quoter) CheckTest(t *Table, condition string, about []string) DataTest {
	columns := named(t, about...)
	return DataTest{What: condition, Columns: columns, Each: []string{condition},
		Rows: "SELECT " + q.list(columns) + " FROM " + q.Name(t.Name) + " WHERE NOT (" + condition + ")"}
}

// ReferenceTest looks for rows that refer to none of another table.
func (q Quoter) ReferenceTest(t *Table, columns []string, ref Name, refColumns []string) DataTest {
	selected := named(t, columns...)
	list := make([]string, len(selected))
	for i, c := range selected {
		list[i] = "a." + q.Ident(c)
	}
	var not, on []string
	for i, c := range columns {
		not = append(not, "a."+q.Ident(c)+" IS NOT NULL")
		on = append(on, "b."+q.Ident(refColumns[i])+" = a."+q.Ident(c))
	}
	return DataTest{What: strings.Join(columns, ", ") + " must be in " + ref.String(), Columns: selected,
		Rows: "SELECT " + strings.Join(list, ", ") + " FROM " + q.Name(t.Name) + " a WHERE " + strings.Join(not, " AND ") +
			" AND NOT EXISTS (SELECT 1 FROM " + q.Name(ref) + " b WHERE " + strings.Join(on, " AND ") + ")"}
}

func (q Quoter) list(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = q.Ident(n)
	}
	return strings.Join(quoted, ", ")
}

// named are the columns that a row is named by: its key, and those in question.
func named(t *Table, more ...string) []string {
	columns := slices.Clone(t.Key)
	for _, c := range more {
		if !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	return columns
}
