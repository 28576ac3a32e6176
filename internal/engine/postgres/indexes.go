package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
)

// indexes reads the indexes of a table that are complete, the primary key
// first. One whose build failed serves nobody and is not shown.
func indexes(ctx context.Context, on executor, oid uint32) ([]engine.Index, error) {
	rows, err := on.Query(ctx, indexColumns+` FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_am am ON am.oid = c.relam
		WHERE x.indrelid = $1 AND x.indisvalid ORDER BY x.indisprimary DESC, c.relname COLLATE "C"`, oid)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanIndex)
}

// indexColumns selects what scanIndex reads, of pg_index x, its pg_class c and
// pg_am am.
const indexColumns = `SELECT c.relname, x.indisunique, x.indisprimary, am.amname, coalesce(pg_get_expr(x.indpred, x.indrelid), ''),
	coalesce(obj_description(c.oid, 'pg_class'), ''), pg_get_indexdef(c.oid),
	ARRAY(SELECT coalesce(a.attname, '') FROM generate_series(0, x.indnkeyatts - 1) k
		LEFT JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[k] AND a.attnum <> 0 ORDER BY k)::text[],
	ARRAY(SELECT CASE WHEN x.indkey[k] = 0 THEN pg_get_indexdef(c.oid, k + 1, true) ELSE '' END
		FROM generate_series(0, x.indnkeyatts - 1) k ORDER BY k),
	ARRAY(SELECT x.indoption[k] & 1 <> 0 FROM generate_series(0, x.indnkeyatts - 1) k ORDER BY k)`

func scanIndex(row pgx.CollectableRow) (engine.Index, error) {
	var i engine.Index
	var names, expressions []string
	var descending []bool
	err := row.Scan(&i.Name, &i.Unique, &i.Primary, &i.Method, &i.Predicate, &i.Comment, &i.Definition, &names, &expressions, &descending)
	if err != nil {
		return i, err
	}
	for k := range names {
		i.Parts = append(i.Parts, engine.IndexPart{Column: names[k], Expression: expressions[k], Descending: descending[k]})
	}
	return i, nil
}
