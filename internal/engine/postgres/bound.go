package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Bound returns the key of the row that is so many rows into the selection's
// range, in the order of the key: the upper bound of the next chunk. found is
// false when the range has fewer rows. A Where is not looked at, since the rows
// that it leaves out have to be read as well.
func (s *Server) Bound(ctx context.Context, sel engine.Select, rows int64) (key engine.Key, found bool, err error) {
	key, found, err = s.seek(ctx, query{table: sel.Table, within: sel.Range, ordered: true, offset: max(1, rows) - 1})
	if err != nil {
		return nil, false, fmt.Errorf("find the next bound in %s: %w", sel.Table.Name, err)
	}
	if found && slices.Equal(key, sel.Range.After) {
		return nil, false, fault.About(sel.Table.Name.String(), task.Internal,
			"%s: the rows after %s begin with the same key: the server does not order the values of %s as it compares them", sel.Table.Name, key, sel.Table.KeyName)
	}
	return key, found, nil
}

// First returns the key of the first row of the selection's range; found is
// false when the range has no row. A Where is not looked at.
func (s *Server) First(ctx context.Context, sel engine.Select) (key engine.Key, found bool, err error) {
	return s.Bound(ctx, sel, 1)
}

// Last returns the key of the last row of the selection's range; found is false
// when the range has no row. A Where is not looked at.
func (s *Server) Last(ctx context.Context, sel engine.Select) (key engine.Key, found bool, err error) {
	key, found, err = s.seek(ctx, query{table: sel.Table, within: sel.Range, ordered: true, backwards: true})
	if err != nil {
		return nil, false, fmt.Errorf("find the last key of %s: %w", sel.Table.Name, err)
	}
	return key, found, nil
}

// indexOnly are the settings under which the server walks through the key's
// index and nothing else, however little it knows of the table.
const indexOnly = `SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off;
	SET LOCAL enable_incremental_sort = off; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off; `

// seek returns the key of the first row of a query, whose exprs it sets.
func (s *Server) seek(ctx context.Context, q query) (engine.Key, bool, error) {
	t := q.table
	if len(t.Key) == 0 {
		return nil, false, fault.About(t.Name.String(), task.Internal, "%s has no key to cut ranges by: %s", t.Name, t.KeyProblem)
	}
	q.exprs, q.limit = keyColumns(t), 1
	text, err := q.text()
	if err != nil {
		return nil, false, err
	}
	rows, err := s.readText(ctx, indexOnly+text)
	if err != nil || len(rows) == 0 {
		return nil, false, err
	}
	key, err := readKey(t, rows[0])
	return key, err == nil, err
}

// readText runs statements in one go and one transaction, and returns the rows
// of the last one as the server writes them: in the form in which it reads a
// key again. They are not prepared, since no two of them are the same.
func (s *Server) readText(ctx context.Context, statements string) ([][][]byte, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	var results []*pgconn.Result
	if results, err = conn.Conn().PgConn().Exec(ctx, statements).ReadAll(); err != nil {
		return nil, err
	}
	return results[len(results)-1].Rows, nil
}

// readKey reads a key from a row that begins with its columns.
func readKey(t *engine.Table, row [][]byte) (engine.Key, error) {
	key := make(engine.Key, len(t.Key))
	for i, name := range t.Key {
		key[i] = engine.KeyValue{Kind: keyKind(t.Column(name).Type), Value: string(row[i])}
		if key[i].Kind != engine.BytesKey {
			continue
		}
		digits, found := strings.CutPrefix(key[i].Value, `\x`)
		raw, err := hex.DecodeString(digits)
		if !found || err != nil {
			return nil, fault.About(t.Name.String(), task.Internal, "%s: the server shows a value of %s as %q, not in hexadecimal", t.Name, name, row[i])
		}
		key[i].Value = string(raw)
	}
	return key, nil
}
