package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// CheckWhere tries a condition of a user's without reading a row: whether the
// server understands it, and whether it stays within the parentheses that are
// put around it. What is wrong with it is a fault of class config.
func (s *Server) CheckWhere(ctx context.Context, table engine.Name, where string) error {
	what := "where of " + table.String()
	for _, condition := range []string{"(" + where + "\n)", alone(where)} {
		var one int
		err := s.db.QueryRowContext(ctx, "SELECT 1 FROM "+QuoteName(table)+" WHERE FALSE AND "+condition+" LIMIT 1").Scan(&one)
		switch {
		case err == nil:
			return fault.About(table.String(), task.Config, "%s: %q is not one condition: look at its parentheses", what, where)
		case !errors.Is(err, sql.ErrNoRows):
			return refusal(err, table, what, where)
		}
	}
	return nil
}

// CheckExpr tries an expression of a user's for a column of a table without
// reading a row: whether the server understands it as one expression of each
// row, and whether there is the column. What is wrong with it is a fault of
// class config. That a value does not fit its column the server knows only when
// it has the value; MariaDB does not say either that the column is generated.
func (s *Server) CheckExpr(ctx context.Context, table engine.Name, column, expr string) error {
	for _, statement := range []string{
		// Where nothing that sums up rows is allowed.
		"SELECT 1 FROM " + QuoteName(table) + " WHERE FALSE AND " + alone(expr) + " IS NULL",
		"EXPLAIN UPDATE " + QuoteName(table) + " SET " + Quote(column) + " = (" + expr + "\n) WHERE FALSE",
	} {
		if err := collect(ctx, s.db, func(*sql.Rows) error { return nil }, statement); err != nil {
			return refusal(err, table, fmt.Sprintf("set of %s.%s", table, column), expr)
		}
	}
	return nil
}

// alone writes an expression where it can only be understood as one: what gets
// out of parentheses, as a) OR (b, or is a list, does not fit between these words.
func alone(expr string) string { return "CASE WHEN TRUE THEN " + expr + "\nEND" }

// refusal makes a fault of class config of what the server has against a text
// of a user's. A number that says nothing of itself is about the text, too: the
// statement does nothing else than trying it.
func refusal(err error, table engine.Name, what, text string) error {
	class, _ := Classify(err)
	_, known := serverErrors[number(err)]
	if class == task.Config || class == task.Data || number(err) != 0 && !known {
		return fault.About(table.String(), task.Config, "%s: %q: %w", what, text, err)
	}
	return err
}
