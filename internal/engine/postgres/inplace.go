package postgres

import (
	"context"
	"fmt"

	"godwit/internal/engine"
)

// RangeConditions writes the conditions of a row in a range.
func (s *Server) RangeConditions(t *engine.Table, alias string, r engine.Range) ([]string, error) {
	return RangeConditions(t, alias, r)
}

// Literal writes a key value of a column.
func (s *Server) Literal(t *engine.Table, column string, v engine.KeyValue) (string, error) {
	return Literal(t, column, v)
}

// QuoteName quotes a table's name.
func (s *Server) QuoteName(n engine.Name) string { return QuoteName(n) }

// Impatient writes the statements that make a session give up waiting for
// locks after so many seconds; the server does not tell rows and tables apart.
func (s *Server) Impatient(rows, _ float64) []string {
	return []string{fmt.Sprintf("SET lock_timeout = %d", int(max(1, 1000*rows)))}
}

// In writes the statements that make names without a schema those of a schema,
// and then what they are to the user by default, for the rest of a session.
func (s *Server) In(schema string) []string {
	return []string{"SELECT pg_catalog.set_config('search_path', (" + pathFor(schema) + "), false)"}
}

// Definition is empty: a change of a table is part of its transaction.
func (s *Server) Definition(context.Context, engine.Name) (string, error) { return "", nil }
