package mysql

import (
	"context"
	"fmt"
	"math"
	"regexp"

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
// locks after so many seconds, which are whole ones here.
func (s *Server) Impatient(rows, tables float64) []string {
	whole := func(seconds float64) int { return int(max(1, math.Ceil(seconds))) }
	return []string{fmt.Sprintf("SET SESSION innodb_lock_wait_timeout = %d, lock_wait_timeout = %d", whole(rows), whole(tables))}
}

// In writes nothing: names without a database are those of the connection's,
// where the ledger is as well.
func (s *Server) In(string) []string { return nil }

// counter is what a definition says about the next AUTO_INCREMENT value.
var counter = regexp.MustCompile(` AUTO_INCREMENT=(\d+)`)

// Definition is the table's CREATE TABLE, without the counter in it. A change
// of it commits by itself: what came of one whose answer was lost shows here.
func (s *Server) Definition(ctx context.Context, name engine.Name) (string, error) {
	var table, text string
	if err := s.db.QueryRowContext(ctx, "SHOW CREATE TABLE "+QuoteName(name)).Scan(&table, &text); err != nil {
		return "", fmt.Errorf("read the definition of %s: %w", name, err)
	}
	return counter.ReplaceAllString(text, ""), nil
}
