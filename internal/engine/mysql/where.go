package mysql

import (
	"context"
	"database/sql"
	"errors"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// CheckWhere tries a condition of a user's without reading a row: whether the
// server understands it, and whether it stays within the parentheses that are
// put around it. What is wrong with it is a fault of class config.
func (s *Server) CheckWhere(ctx context.Context, table engine.Name, where string) error {
	var one int
	err := s.db.QueryRowContext(ctx, "SELECT 1 FROM "+QuoteName(table)+" WHERE FALSE AND ("+where+"\n) LIMIT 1").Scan(&one)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err == nil:
		return fault.About(table.String(), task.Config, "where of %s: %q is not one condition: look at its parentheses", table, where)
	}
	if class, ok := Classify(err); ok && class == task.Config {
		return fault.About(table.String(), task.Config, "where of %s: %q: %w", table, where, err)
	}
	return err
}
