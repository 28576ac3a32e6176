package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/mysqlwire"
)

// Stream reads the rows of a selection, each value as the server wrote it. On a
// connection that mysqlwire can read directly nothing is parsed or allocated;
// on another one, which is one with TLS, rows come through database/sql, and a
// floating point number may be written in another way, with the same value.
func (s *Server) Stream(ctx context.Context, sel engine.Select) (engine.Stream, error) {
	stream, err := s.stream(ctx, selection(sel))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", sel.Table.Name, err)
	}
	return stream, nil
}

func (s *Server) stream(ctx context.Context, q query) (engine.Stream, error) {
	text, err := q.text()
	if err != nil {
		return nil, err
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := mysqlwire.Query(ctx, conn, text)
	if errors.Is(err, mysqlwire.ErrIndirect) {
		return streamIndirect(ctx, conn, q)
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// indirect is a stream through database/sql.
type indirect struct {
	conn   *sql.Conn
	rows   *sql.Rows
	values []sql.RawBytes
	into   []any
	row    [][]byte
}

func streamIndirect(ctx context.Context, conn *sql.Conn, q query) (engine.Stream, error) {
	rows, err := queryAsText(ctx, conn, q)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	n := len(q.exprs)
	s := &indirect{conn: conn, rows: rows, values: make([]sql.RawBytes, n), into: make([]any, n), row: make([][]byte, n)}
	for i := range s.values {
		s.into[i] = &s.values[i]
	}
	return s, nil
}

// queryAsText runs a query so that the driver has no integer or date to parse,
// which it would write differently from the server afterwards. Floating point
// numbers are left to it: it is exact, and MySQL's CONCAT is not.
func queryAsText(ctx context.Context, conn *sql.Conn, q query) (*sql.Rows, error) {
	types, err := resultTypes(ctx, conn, q)
	if err != nil {
		return nil, err
	}
	exprs := make([]string, len(q.exprs))
	for i, expr := range q.exprs {
		exprs[i] = expr
		if isParsed(types[i].DatabaseTypeName()) {
			exprs[i] = "CONCAT(" + expr + ")"
		}
	}
	q.exprs = exprs
	text, err := q.text()
	if err != nil {
		return nil, err
	}
	return conn.QueryContext(ctx, text)
}

// resultTypes asks for the types of a query's columns, without any row.
func resultTypes(ctx context.Context, conn *sql.Conn, q query) (types []*sql.ColumnType, err error) {
	q.within, q.conditions, q.order, q.limit, q.offset = engine.Range{}, []string{"FALSE"}, unordered, 0, 0
	text, err := q.text()
	if err != nil {
		return nil, err
	}
	rows, err := conn.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	return rows.ColumnTypes()
}

// isParsed reports whether the driver parses integers or dates in a type of its
// own naming.
func isParsed(name string) bool {
	switch strings.TrimPrefix(name, "UNSIGNED ") {
	case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "YEAR", "DATE", "DATETIME", "TIMESTAMP":
		return true
	}
	return false
}

func (s *indirect) Next() ([][]byte, error) {
	if !s.rows.Next() {
		if err := s.rows.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	if err := s.rows.Scan(s.into...); err != nil {
		return nil, err
	}
	for i, value := range s.values {
		s.row[i] = value
	}
	return s.row, nil
}

func (s *indirect) Close() error { return errors.Join(s.rows.Close(), s.conn.Close()) }
