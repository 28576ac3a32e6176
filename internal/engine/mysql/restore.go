package mysql

import (
	"fmt"
	"strings"

	"godwit/internal/engine"
)

// Restore writes the statement that gives the rows that a pass has saved of a
// range their old values back, where they still are as they were written.
func (s *Server) Restore(r *engine.Rewrite, pass int, within engine.Range) (string, error) {
	conditions, err := savedConditions(r, pass, within)
	if err != nil {
		return "", err
	}
	for _, a := range r.Set {
		conditions = append(conditions, same(r.Table.Column(a.Column).Type, "t."+Quote(a.Column), "s."+Quote(r.SavedNew(a.Column))))
	}
	var set []string
	for _, column := range r.Restored() {
		set = append(set, "t."+Quote(column)+" = s."+Quote(r.SavedOld(column)))
	}
	return "UPDATE " + savedJoin(r) + " SET " + strings.Join(set, ", ") + " WHERE " + strings.Join(conditions, " AND "), nil
}

// Forget writes the statement that removes what is restored from the saved
// rows of a pass in a range: those that the table has as they were.
func (s *Server) Forget(r *engine.Rewrite, pass int, within engine.Range) (string, error) {
	conditions, err := savedConditions(r, pass, within)
	if err != nil {
		return "", err
	}
	for _, a := range r.Set {
		conditions = append(conditions, same(r.Table.Column(a.Column).Type, "t."+Quote(a.Column), "s."+Quote(r.SavedOld(a.Column))))
	}
	return "DELETE s FROM " + savedJoin(r) + " WHERE " + strings.Join(conditions, " AND "), nil
}

// Left writes the query for the rows that could not be restored: the key, and
// for each column what was saved, what was written, and what there is now; the
// first of these columns tells whether the row is still there.
func (s *Server) Left(r *engine.Rewrite, limit int) string {
	list := []string{"CASE WHEN t." + Quote(r.Table.Key[0]) + " IS NOT NULL THEN 'true' ELSE 'false' END"}
	text := func(column, expr string) string { return legible(r.Table.Column(column).Type, expr) }
	var order, on []string
	for _, column := range r.Table.Key {
		saved := "s." + Quote(r.SavedKey(column))
		list, order, on = append(list, text(column, saved)), append(order, saved), append(on, "t."+Quote(column)+" = "+saved)
	}
	for _, a := range r.Set {
		list = append(list, text(a.Column, "s."+Quote(r.SavedOld(a.Column))), text(a.Column, "s."+Quote(r.SavedNew(a.Column))),
			text(a.Column, "t."+Quote(a.Column)))
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM " + QuoteName(r.Saved) + " AS s LEFT JOIN " + QuoteName(r.Table.Name) + " AS t ON " +
		strings.Join(on, " AND ") + " ORDER BY " + strings.Join(order, ", ") + fmt.Sprintf(", s.%s LIMIT %d", engine.PassColumn, limit)
}

// legible writes a value as a text for people: bytes, which may be none, in
// hexadecimal.
func legible(t engine.Type, expr string) string {
	switch t.Base {
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "bit", "vector":
		return "CONCAT('0x', HEX(" + expr + "))"
	case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection", "geomcollection":
		return "ST_AsText(" + expr + ")"
	}
	return "CAST(" + expr + " AS CHAR)"
}
