package postgres

import (
	"context"
	"slices"

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

// findKey chooses the key that ranges are cut by: the primary key, or the
// narrowest unique key that never is NULL.
func findKey(ctx context.Context, on executor, oid uint32, t *engine.Table) error {
	ordered, err := orderedIndexes(ctx, on, oid)
	if err != nil {
		return err
	}
	t.KeyProblem = "it has neither a primary key nor a unique key without NULLs"
	for _, i := range t.Indexes {
		if !i.Unique || i.Predicate != "" || i.Method != "btree" {
			continue
		}
		key := keyColumns(t, i)
		if key == nil || t.Key != nil && len(key) >= len(t.Key) {
			continue
		}
		if !ordered[i.Name] {
			t.KeyProblem = "its key " + i.Name + " is deferrable or has an order of its own (an operator class or collation that its columns do not have)"
			continue
		}
		t.Key, t.KeyName = key, i.Name
		if i.Primary {
			break
		}
	}
	if t.Key != nil {
		t.KeyProblem = ""
	}
	return nil
}

// keyColumns returns the columns of an index that may be a key, nil when it
// has expressions, columns that may be NULL, or both orders.
func keyColumns(t *engine.Table, i engine.Index) []string {
	var key []string
	for _, p := range i.Parts {
		c := t.Column(p.Column)
		if c == nil || c.Nullable || p.Descending != i.Parts[0].Descending || slices.Contains(key, c.Name) {
			return nil
		}
		key = append(key, c.Name)
	}
	return key
}

// orderedIndexes names the indexes in whose order the plain operators < and >
// compare: those with the server's own default operator classes (the operators
// of an extension's type, citext say, are not found without its schema in
// search_path) and their columns' collations, checked at once.
func orderedIndexes(ctx context.Context, on executor, oid uint32) (map[string]bool, error) {
	rows, err := on.Query(ctx, `SELECT c.relname FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
		WHERE x.indrelid = $1 AND x.indisunique AND x.indimmediate AND NOT EXISTS (
			SELECT FROM generate_series(0, x.indnkeyatts - 1) k
			JOIN pg_opclass o ON o.oid = x.indclass[k]
			JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[k]
			WHERE NOT o.opcdefault OR o.opcnamespace <> 'pg_catalog'::regnamespace OR x.indcollation[k] <> a.attcollation)`, oid)
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	ordered := make(map[string]bool, len(names))
	for _, name := range names {
		ordered[name] = true
	}
	return ordered, err
}
