package mysql

import (
	"slices"
	"strings"

	"godwit/internal/engine"
)

// aside names the session's own table of values that are kept.
func aside(p *engine.Projection) string { return QuoteName(Beside(p.Into.Name, "_kept")) }

// SetAside writes the statements that put the values of columns to be kept
// aside, in a table that only the session has: it is part of no transaction, and
// locks no row that is read.
func (s *Server) SetAside(p *engine.Projection, keys []engine.Key) ([]string, error) {
	condition, err := keysCondition(p.KeyTable(), keys)
	if err != nil {
		return nil, err
	}
	var key, list []string
	for _, column := range p.Key {
		key = append(key, Quote(column))
	}
	for _, column := range p.Kept {
		list = append(list, Quote(column))
	}
	return []string{
		"DROP TEMPORARY TABLE IF EXISTS " + aside(p), // a try that failed has left it
		"CREATE TEMPORARY TABLE " + aside(p) + " (PRIMARY KEY (" + strings.Join(key, ", ") + ")) ENGINE=InnoDB SELECT " + strings.Join(append(key, list...), ", ") +
			" FROM " + QuoteName(p.Into.Name) + " WHERE " + condition,
	}, nil
}

// PutBack writes the statements that give rows the values that were put aside. A
// column that notes the time of a change does not note this one.
func (s *Server) PutBack(p *engine.Projection) []string {
	into := QuoteName(p.Into.Name)
	var on, set []string
	for _, column := range p.Key {
		on = append(on, into+"."+Quote(column)+" = k."+Quote(column))
	}
	for _, column := range p.Kept {
		set = append(set, into+"."+Quote(column)+" = k."+Quote(column))
	}
	for i := range p.Into.Columns {
		if c := &p.Into.Columns[i]; c.OnUpdateNow && !slices.Contains(p.Kept, c.Name) {
			set = append(set, into+"."+Quote(c.Name)+" = "+into+"."+Quote(c.Name))
		}
	}
	return []string{
		"UPDATE " + aside(p) + " AS k STRAIGHT_JOIN " + into + " FORCE INDEX (" + Quote(p.KeyTable().KeyName) + ") ON " + strings.Join(on, " AND ") + " SET " + strings.Join(set, ", "),
		"DROP TEMPORARY TABLE " + aside(p),
	}
}
