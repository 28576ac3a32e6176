package postgres

import (
	"strings"

	"godwit/internal/engine"
)

// aside is the session's own table of values that are kept.
const aside = "pg_temp.godwit_kept"

// SetAside writes the statements that put the values of columns to be kept
// aside, in a table that only the session has.
func (s *Server) SetAside(p *engine.Projection, keys []engine.Key) ([]string, error) {
	condition, err := keysCondition(p.KeyTable(), keys)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, column := range p.Key {
		list = append(list, Quote(column))
	}
	for _, column := range p.Kept {
		list = append(list, Quote(column))
	}
	return []string{"CREATE TEMPORARY TABLE godwit_kept ON COMMIT DROP AS SELECT " + strings.Join(list, ", ") + " FROM " + QuoteName(p.Into.Name) + " WHERE " + condition}, nil
}

// PutBack writes the statements that give rows the values that were put aside.
func (s *Server) PutBack(p *engine.Projection) []string {
	var on, set []string
	for _, column := range p.Key {
		on = append(on, "t."+Quote(column)+" = k."+Quote(column))
	}
	for _, column := range p.Kept {
		set = append(set, Quote(column)+" = k."+Quote(column))
	}
	return []string{
		"UPDATE " + QuoteName(p.Into.Name) + " AS t SET " + strings.Join(set, ", ") + " FROM " + aside + " AS k WHERE " + strings.Join(on, " AND "),
		"DROP TABLE " + aside,
	}
}
