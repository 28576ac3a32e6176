package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// CheckWhere tries a condition of a user's without reading a row: whether the
// server understands it, and whether it stays within the parentheses that are
// put around it. What is wrong with it is a fault of class config.
func (s *Server) CheckWhere(ctx context.Context, table engine.Name, where string) error {
	err := s.parse(ctx,
		"SELECT FROM "+QuoteName(table)+" WHERE ("+where+"\n)",
		"SELECT FROM "+QuoteName(table)+" WHERE "+alone(where))
	return refusal(err, table, "where of "+table.String(), where)
}

// CheckExpr tries an expression of a user's for a column of a table without
// reading a row: whether the server understands it as one expression of each
// row, and whether its value can be assigned to the column. What is wrong with
// it is a fault of class config.
func (s *Server) CheckExpr(ctx context.Context, table engine.Name, column, expr string) error {
	err := s.parse(ctx,
		"UPDATE "+QuoteName(table)+" SET "+Quote(column)+" = ("+expr+"\n)",
		"SELECT "+alone(expr)+" FROM "+QuoteName(table))
	return refusal(err, table, "set of "+table.String()+"."+column, expr)
}

// alone writes an expression where it can only be understood as one: what gets
// out of parentheses, as a) OR (b, or is a list, does not fit between these words.
func alone(expr string) string { return "CASE WHEN TRUE THEN " + expr + "\nEND" }

// What the driver would not refuse, or not in a way that helps.
var (
	errParameter = errors.New("it has a parameter ($1) that nobody gives a value")
	errZeroByte  = errors.New("it has a zero byte, which no statement can have")
)

// parse has the server look at statements, each of them one, without running
// them: names, types, and what may be where.
func (s *Server) parse(ctx context.Context, statements ...string) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	for _, statement := range statements {
		if strings.Contains(statement, "\x00") { // it would end the statement there
			return errZeroByte
		}
		described, err := conn.Conn().PgConn().Prepare(ctx, "", statement, nil)
		switch {
		case err != nil:
			return err
		case len(described.ParamOIDs) > 0:
			return errParameter
		}
	}
	return nil
}

// refusal makes a fault of class config of what the server has against a text
// of a user's. That a value in it has not the form of its type is one, too.
func refusal(err error, table engine.Name, what, text string) error {
	if _, ok := errors.AsType[*pgconn.PgError](err); !ok && !errors.Is(err, errParameter) && !errors.Is(err, errZeroByte) {
		return err
	}
	if class, ok := Classify(err); ok && class != task.Config && class != task.Data {
		return err
	}
	return fault.About(table.String(), task.Config, "%s: %q: %w", what, text, err)
}
