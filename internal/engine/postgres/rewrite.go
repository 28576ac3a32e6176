package postgres

import (
	"fmt"
	"slices"
	"strings"

	"godwit/internal/engine"
)

// CreateSaved writes the statements that make the table of old values: the
// columns have the types of the table's own.
func (s *Server) CreateSaved(r *engine.Rewrite) []string {
	var list, key []string
	for _, name := range r.Table.Key {
		list = append(list, Quote(name)+" AS "+Quote(r.SavedKey(name)))
		key = append(key, r.SavedKey(name))
	}
	list = append(list, "0 AS "+engine.PassColumn)
	for _, name := range r.Restored() {
		list = append(list, Quote(name)+" AS "+Quote(r.SavedOld(name)))
	}
	for _, a := range r.Set {
		list = append(list, Quote(a.Column)+" AS "+Quote(r.SavedNew(a.Column)))
	}
	return []string{
		"CREATE TABLE " + QuoteName(r.Saved) + " AS SELECT " + strings.Join(list, ", ") + " FROM " + QuoteName(r.Table.Name) + " WITH NO DATA",
		"ALTER TABLE " + QuoteName(r.Saved) + " ADD PRIMARY KEY (" + quoteList(append(key, engine.PassColumn)) + ")",
	}
}

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
		into, list = append(into, r.SavedKey(column)), append(list, name+"."+Quote(column))
	}
	into, list = append(into, engine.PassColumn), append(list, fmt.Sprint(pass))
	for _, column := range r.Restored() {
		into, list = append(into, r.SavedOld(column)), append(list, name+"."+Quote(column))
	}
	for _, a := range r.Set {
		into, list = append(into, r.SavedNew(a.Column)), append(list, closed(a.Expr))
	}
	order := make([]string, len(r.Table.Key))
	for i, column := range r.Table.Key {
		order[i] = name + "." + Quote(column)
	}
	return "INSERT INTO " + QuoteName(r.Saved) + " (" + quoteList(into) + ") SELECT " + strings.Join(list, ", ") + " FROM " + rewriteFrom(r) +
		conditions + " ORDER BY " + strings.Join(order, ", ") + " FOR NO KEY UPDATE OF " + name, nil
}

// Apply writes the statement that gives the rows that a Save has locked their
// new values. Where evaluating the expressions again gives the same, that is
// what it does. Rows that have begun to match since the Save would be changed,
// too, and so the caller compares the numbers of rows.
func (s *Server) Apply(r *engine.Rewrite, pass int, within engine.Range) (string, error) {
	if pass == 1 && r.Repeatable(engine.PostgresDialect) {
		return s.Change(r, within)
	}
	var set []string
	for _, a := range r.Set {
		set = append(set, Quote(a.Column)+" = s."+Quote(r.SavedNew(a.Column)))
	}
	conditions, err := savedConditions(r, pass, within)
	if err != nil {
		return "", err
	}
	return "UPDATE " + QuoteName(r.Table.Name) + " AS t SET " + strings.Join(set, ", ") + " FROM " + QuoteName(r.Saved) + " AS s WHERE " +
		strings.Join(conditions, " AND "), nil
}

// Reread writes the statement that saves the new values as the table has them:
// its triggers may have made others of them.
func (s *Server) Reread(r *engine.Rewrite, pass int, within engine.Range) (string, error) {
	var set []string
	for _, a := range r.Set {
		set = append(set, Quote(r.SavedNew(a.Column))+" = t."+Quote(a.Column))
	}
	conditions, err := savedConditions(r, pass, within)
	if err != nil {
		return "", err
	}
	return "UPDATE " + QuoteName(r.Saved) + " AS s SET " + strings.Join(set, ", ") + " FROM " + QuoteName(r.Table.Name) + " AS t WHERE " +
		strings.Join(conditions, " AND "), nil
}

// Change writes the statement that changes the rows of a range and saves nothing.
func (s *Server) Change(r *engine.Rewrite, within engine.Range) (string, error) {
	conditions, err := rewriteConditions(r, 1, within)
	if err != nil {
		return "", err
	}
	var set []string
	for _, a := range r.Set {
		set = append(set, Quote(a.Column)+" = "+closed(a.Expr))
	}
	text := "UPDATE " + QuoteName(r.Table.Name) + " SET " + strings.Join(set, ", ")
	if r.From.Table != "" {
		text += " FROM " + QuoteName(r.From)
	}
	return text + conditions, nil
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

// Sample writes the query for a sample of the rows that are to be changed: how
// many it has, and of how many the condition would still be true afterwards.
func (s *Server) Sample(r *engine.Rewrite, rows int) string {
	list := make([]string, len(r.Table.Columns))
	for i, c := range r.Table.Columns {
		list[i] = Quote(r.Table.Name.Table) + "." + Quote(c.Name)
		if j := slices.IndexFunc(r.Set, func(a engine.Assignment) bool { return a.Column == c.Name }); j >= 0 {
			list[i] = "CAST(" + closed(r.Set[j].Expr) + " AS " + c.Type.Full + ") AS " + Quote(c.Name)
		}
	}
	conditions, _ := rewriteConditions(r, 1, engine.Range{}) // without a range there is no error
	return "SELECT count(*), coalesce(sum(CASE WHEN " + closed(r.Where) + " THEN 1 ELSE 0 END), 0) FROM (SELECT " + strings.Join(list, ", ") +
		" FROM " + rewriteFrom(r) + conditions + fmt.Sprintf(" LIMIT %d) AS ", rows) + Quote(r.Table.Name.Table)
}

func rewriteFrom(r *engine.Rewrite) string {
	if r.From.Table == "" {
		return QuoteName(r.Table.Name)
	}
	return QuoteName(r.Table.Name) + ", " + QuoteName(r.From)
}

// rewriteConditions writes the WHERE of the rows of a range that are to be changed.
func rewriteConditions(r *engine.Rewrite, pass int, within engine.Range) (string, error) {
	conditions, err := RangeConditions(r.Table, r.Table.Name.Table, within)
	if err != nil {
		return "", err
	}
	for _, text := range []string{r.On, r.Where} {
		if text != "" {
			conditions = append(conditions, closed(text))
		}
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
	return "EXISTS (SELECT FROM " + QuoteName(r.Saved) + " AS godwit_saved WHERE " + strings.Join(conditions, " AND ") + ")"
}

// savedConditions join the table, as t, with what a pass has saved of a range, as s.
func savedConditions(r *engine.Rewrite, pass int, within engine.Range) ([]string, error) {
	var conditions []string
	for _, column := range r.Table.Key {
		conditions = append(conditions, "t."+Quote(column)+" = s."+Quote(r.SavedKey(column)))
	}
	conditions = append(conditions, fmt.Sprintf("s.%s = %d", engine.PassColumn, pass))
	for _, side := range []struct {
		table *engine.Table
		alias string
	}{{r.SavedTable(), "s"}, {r.Table, "t"}} {
		more, err := RangeConditions(side.table, side.alias, within)
		if err != nil {
			return nil, err
		}
		conditions = append(conditions, more...)
	}
	return conditions, nil
}

// exact are the types whose equality means that the values are the same in
// every respect; others are compared as text.
var exact = []string{"int2", "int4", "int8", "bool", "date", "timestamp", "timestamptz", "uuid", "bytea", "oid"}

// same writes that two values of a type are the same, two NULLs included.
func same(t engine.Type, a, b string) string {
	if !slices.Contains(exact, t.Base) {
		a, b = a+`::text COLLATE "C"`, b+`::text COLLATE "C"`
	}
	return a + " IS NOT DISTINCT FROM " + b
}

// Attempt writes the statement that checks the parts together and reads no row.
func (s *Server) Attempt(r *engine.Rewrite) string {
	text := "SELECT 1"
	for _, a := range r.Set {
		text += ", " + alone(a.Expr)
	}
	text += " FROM " + rewriteFrom(r) + " WHERE FALSE"
	for _, condition := range []string{r.On, r.Where} {
		if condition != "" {
			text += " AND " + alone(condition)
		}
	}
	return text
}

// closed puts a text of the user's in parentheses; a line break ends a comment
// that it may end with.
func closed(text string) string {
	if strings.Contains(text, "--") {
		text += "\n"
	}
	return "(" + text + ")"
}
