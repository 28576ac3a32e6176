package mysql

import (
	"fmt"
	"slices"
	"strings"

	"godwit/internal/engine"
)

// DropSaved writes the statement that removes the table of old values.
func (s *Server) DropSaved(r *engine.Rewrite) string {
	return "DROP TABLE IF EXISTS " + QuoteName(r.Saved)
}

// Save writes the statement that locks the rows of a range that are to be
// changed and saves them. From the second pass on, a row that still is as it
// was written before is left out: the expressions see a row once.
func (s *Server) Save(r *engine.Rewrite, pass int, within engine.Range) (string, error) {
	conditions, err := rewriteConditions(r, pass, within)
	if err != nil {
		return "", err
	}
	name := Quote(r.Table.Name.Table)
	var into, list []string
	for _, column := range r.Table.Key {
		into, list = append(into, Quote(r.SavedKey(column))), append(list, name+"."+Quote(column))
	}
	into, list = append(into, engine.PassColumn), append(list, fmt.Sprint(pass))
	for _, column := range r.Restored() {
		into, list = append(into, Quote(r.SavedOld(column))), append(list, name+"."+Quote(column))
	}
	for _, a := range r.Set {
		into, list = append(into, Quote(r.SavedNew(a.Column))), append(list, closed(a.Expr))
	}
	return "INSERT INTO " + QuoteName(r.Saved) + " (" + strings.Join(into, ", ") + ") SELECT " + strings.Join(list, ", ") + " FROM " + rewriteFrom(r) +
		conditions + " FOR UPDATE" + lockedOnly(r), nil
}

// lockedOnly leaves the rows of From unlocked, which many chunks at once may
// look at. MariaDB has no words for that and passes over the comment.
func lockedOnly(r *engine.Rewrite) string {
	if r.From.Table == "" {
		return ""
	}
	return " /*!80001 OF " + Quote(r.Table.Name.Table) + " */"
}

// Apply writes the statement that gives the rows that a Save has locked their
// new values. Where evaluating the expressions again gives the same, that is
// what it does: to fetch the values from what was saved takes twice as long.
// Rows that have begun to match since the Save would be changed, too, and so
// the caller compares the numbers of rows. Otherwise it reads the saved rows
// first, so that it looks at no other row.
func (s *Server) Apply(r *engine.Rewrite, pass int, within engine.Range) (string, error) {
	if pass == 1 && r.Repeatable(engine.MySQLDialect) {
		return s.Change(r, within)
	}
	var set []string
	for _, a := range r.Set {
		set = append(set, "t."+Quote(a.Column)+" = s."+Quote(r.SavedNew(a.Column)))
	}
	conditions, err := savedConditions(r, pass, within)
	if err != nil {
		return "", err
	}
	return "UPDATE " + savedJoin(r) + " SET " + strings.Join(set, ", ") + " WHERE " + strings.Join(conditions, " AND "), nil
}

// Reread writes the statement that saves the new values as the table has them:
// its triggers may have made others of them.
func (s *Server) Reread(r *engine.Rewrite, pass int, within engine.Range) (string, error) {
	var set []string
	for _, a := range r.Set {
		set = append(set, "s."+Quote(r.SavedNew(a.Column))+" = t."+Quote(a.Column))
	}
	conditions, err := savedConditions(r, pass, within)
	if err != nil {
		return "", err
	}
	return "UPDATE " + savedJoin(r) + " SET " + strings.Join(set, ", ") + " WHERE " + strings.Join(conditions, " AND "), nil
}

// Change writes the statement that changes the rows of a range and saves
// nothing. The server assigns from left to right: an expression sees what the
// ones before it have assigned.
func (s *Server) Change(r *engine.Rewrite, within engine.Range) (string, error) {
	conditions, err := rewriteConditions(r, 1, within)
	if err != nil {
		return "", err
	}
	var set []string
	for _, a := range r.Set {
		set = append(set, Quote(r.Table.Name.Table)+"."+Quote(a.Column)+" = "+closed(a.Expr))
	}
	return "UPDATE " + rewriteFrom(r) + " SET " + strings.Join(set, ", ") + conditions, nil
}

// Matching writes the query for how many rows of a range there are to change,
// 1 at the most when only whether there is one is wanted.
func (s *Server) Matching(r *engine.Rewrite, pass int, within engine.Range, any bool) (string, error) {
	conditions, err := rewriteConditions(r, pass, within)
	if err != nil {
		return "", err
	}
	from := " FROM " + rewriteFrom(r) + conditions
	if any {
		return "SELECT count(*) FROM (SELECT 1" + from + " LIMIT 1) AS matching", nil
	}
	return "SELECT count(*)" + from, nil
}

// sampleTime is how many seconds the server may look for a sample.
const sampleTime = 20

// Sample writes the query for a sample of the rows that are to be changed: how
// many it has, and of how many the condition would still be true afterwards.
func (s *Server) Sample(r *engine.Rewrite, rows int) string {
	list := make([]string, len(r.Table.Columns))
	for i, c := range r.Table.Columns {
		list[i] = Quote(r.Table.Name.Table) + "." + Quote(c.Name)
		if j := slices.IndexFunc(r.Set, func(a engine.Assignment) bool { return a.Column == c.Name }); j >= 0 {
			list[i] = closed(r.Set[j].Expr) + " AS " + Quote(c.Name)
		}
	}
	conditions, _ := rewriteConditions(r, 1, engine.Range{}) // without a range there is no error
	return fmt.Sprintf("/*M!100100 SET STATEMENT max_statement_time=%d FOR */ SELECT /*+ MAX_EXECUTION_TIME(%d000) */", sampleTime, sampleTime) +
		" count(*), coalesce(sum(CASE WHEN " + closed(r.Where) + " THEN 1 ELSE 0 END), 0) FROM (SELECT " + strings.Join(list, ", ") +
		" FROM " + rewriteFrom(r) + conditions + fmt.Sprintf(" LIMIT %d) AS ", rows) + Quote(r.Table.Name.Table)
}

func rewriteFrom(r *engine.Rewrite) string {
	text := QuoteName(r.Table.Name) + " FORCE INDEX (" + Quote(r.Table.KeyName) + ")"
	if r.From.Table == "" {
		return text
	}
	return text + " STRAIGHT_JOIN " + QuoteName(r.From) + " ON " + closed(r.On)
}

// rewriteConditions writes the WHERE of the rows of a range that are to be changed.
func rewriteConditions(r *engine.Rewrite, pass int, within engine.Range) (string, error) {
	conditions, err := RangeConditions(r.Table, r.Table.Name.Table, within)
	if err != nil {
		return "", err
	}
	if r.Where != "" {
		conditions = append(conditions, closed(r.Where))
	}
	if pass > 1 && r.Saved.Table != "" {
		conditions = append(conditions, "NOT "+asWritten(r))
	}
	if len(conditions) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(conditions, " AND "), nil
}

// asWritten writes the condition that a row still is as a pass has written it.
func asWritten(r *engine.Rewrite) string {
	name := Quote(r.Table.Name.Table)
	var conditions []string
	for _, column := range r.Table.Key {
		conditions = append(conditions, "godwit_saved."+Quote(r.SavedKey(column))+" = "+name+"."+Quote(column))
	}
	for _, a := range r.Set {
		t := r.Table.Column(a.Column).Type
		conditions = append(conditions, same(t, name+"."+Quote(a.Column), "godwit_saved."+Quote(r.SavedNew(a.Column))))
	}
	return "EXISTS (SELECT 1 FROM " + QuoteName(r.Saved) + " AS godwit_saved WHERE " + strings.Join(conditions, " AND ") + ")"
}

// savedJoin joins what is saved, as s, with the table, as t.
func savedJoin(r *engine.Rewrite) string {
	var on []string
	for _, column := range r.Table.Key {
		on = append(on, "t."+Quote(column)+" = s."+Quote(r.SavedKey(column)))
	}
	return QuoteName(r.Saved) + " AS s FORCE INDEX (PRIMARY) STRAIGHT_JOIN " + QuoteName(r.Table.Name) + " AS t FORCE INDEX (" + Quote(r.Table.KeyName) + ") ON " +
		strings.Join(on, " AND ")
}

// savedConditions are those of what a pass has saved of a range.
func savedConditions(r *engine.Rewrite, pass int, within engine.Range) ([]string, error) {
	conditions, err := RangeConditions(r.SavedTable(), "s", within)
	return append(conditions, fmt.Sprintf("s.%s = %d", engine.PassColumn, pass)), err
}

// same writes that two values of a type are the same, two NULLs included:
// characters byte for byte, whatever the collation.
func same(t engine.Type, a, b string) string {
	switch t.Base {
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set":
		a, b = "CAST("+a+" AS BINARY)", "CAST("+b+" AS BINARY)"
	case "json":
		a, b = "CAST("+a+" AS CHAR)", "CAST("+b+" AS CHAR)"
	}
	return a + " <=> " + b
}

// Attempt writes the statement that checks the parts together and reads no row.
func (s *Server) Attempt(r *engine.Rewrite) string {
	text := "SELECT 1"
	for _, a := range r.Set {
		text += ", " + alone(a.Expr)
	}
	text += " FROM " + QuoteName(r.Table.Name)
	if r.From.Table != "" {
		text += " JOIN " + QuoteName(r.From) + " ON " + alone(r.On)
	}
	text += " WHERE FALSE"
	if r.Where != "" {
		text += " AND " + alone(r.Where)
	}
	return text
}

// closed puts a text of the user's in parentheses; a line break ends a comment
// that it may end with.
func closed(text string) string {
	if strings.Contains(text, "--") || strings.Contains(text, "#") {
		text += "\n"
	}
	return "(" + text + ")"
}
