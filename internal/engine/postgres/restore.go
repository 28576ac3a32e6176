package postgres

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
		set = append(set, Quote(column)+" = s."+Quote(r.SavedOld(column)))
	}
	return "UPDATE " + QuoteName(r.Table.Name) + " AS t SET " + strings.Join(set, ", ") + " FROM " + QuoteName(r.Saved) + " AS s WHERE " +
		strings.Join(conditions, " AND "), nil
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
	return "DELETE FROM " + QuoteName(r.Saved) + " AS s USING " + QuoteName(r.Table.Name) + " AS t WHERE " + strings.Join(conditions, " AND "), nil
}

// Left writes the query for the rows that could not be restored: the key, and
// for each column what was saved, what was written, and what there is now; the
// first of these columns tells whether the row is still there.
func (s *Server) Left(r *engine.Rewrite, limit int) string {
	list := []string{"(t." + Quote(r.Table.Key[0]) + " IS NOT NULL)::text"}
	var order, on []string
	for _, column := range r.Table.Key {
		saved := "s." + Quote(r.SavedKey(column))
		list, order, on = append(list, saved+"::text"), append(order, saved), append(on, "t."+Quote(column)+" = "+saved)
	}
	for _, a := range r.Set {
		list = append(list, "s."+Quote(r.SavedOld(a.Column))+"::text", "s."+Quote(r.SavedNew(a.Column))+"::text", "t."+Quote(a.Column)+"::text")
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM " + QuoteName(r.Saved) + " AS s LEFT JOIN " + QuoteName(r.Table.Name) + " AS t ON " +
		strings.Join(on, " AND ") + " ORDER BY " + strings.Join(order, ", ") + fmt.Sprintf(", s.%s LIMIT %d", engine.PassColumn, limit)
}
