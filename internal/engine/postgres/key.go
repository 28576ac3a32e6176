package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
)

// findKey chooses the key that ranges are cut by: the primary key, or else the
// unique key with the fewest columns.
func findKey(ctx context.Context, on executor, oid uint32, t *engine.Table) error {
	var inherited bool
	if err := on.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent WHERE c.oid = $1 AND c.relkind = 'r')`,
		oid).Scan(&inherited); err != nil {
		return err
	}
	if inherited {
		t.KeyProblem = "other tables inherit from it, and its keys do not reach their rows"
		return nil
	}
	columns, err := indexedColumns(ctx, on, oid)
	if err != nil {
		return err
	}
	chooseKey(t, columns)
	return nil
}

// chooseKey picks a key among the table's indexes.
func chooseKey(t *engine.Table, columns map[string][]indexedColumn) {
	var candidates []*engine.Index
	for i := range t.Indexes {
		if t.Indexes[i].Unique {
			candidates = append(candidates, &t.Indexes[i])
		}
	}
	slices.SortStableFunc(candidates, func(a, b *engine.Index) int {
		if a.Primary != b.Primary {
			if a.Primary {
				return -1
			}
			return 1
		}
		return cmp.Compare(len(a.Parts), len(b.Parts))
	})
	var problems []string
	for _, index := range candidates {
		problem := keyProblem(t, index, columns[index.Name])
		if problem == "" {
			t.KeyName = index.Name
			for _, part := range index.Parts {
				t.Key = append(t.Key, part.Column)
			}
			return
		}
		problems = append(problems, fmt.Sprintf("key %s %s", index.Name, problem))
	}
	t.KeyProblem = strings.Join(problems, "; ")
	if len(candidates) == 0 {
		t.KeyProblem = "there is no primary key and no unique key"
	}
}

// keyProblem says why ranges cannot be cut by an index; empty when they can.
func keyProblem(t *engine.Table, index *engine.Index, columns []indexedColumn) string {
	switch {
	case index.Method != "btree":
		return "is a " + index.Method + " index, which has no order"
	case index.Predicate != "":
		return "is partial"
	}
	for i, part := range index.Parts {
		column := t.Column(part.Column)
		switch {
		case column == nil:
			return "is on an expression"
		case column.Nullable:
			return "allows NULL in column " + part.Column
		case part.Descending != index.Parts[0].Descending:
			return "mixes ascending and descending columns"
		}
		if problem := columns[i].problem(); problem != "" {
			return problem
		}
	}
	return ""
}

// indexedColumn is how a column of an index is ordered in it.
type indexedColumn struct {
	name          string
	immediate     bool // the key is never violated, not even within a transaction
	plain         bool // the operator class is the server's own default one
	ownCollation  bool // the index's collation is the column's
	collation     string
	deterministic bool
	base          string // the type; of a domain, the one it is made of
	builtin, enum bool
}

// problem says why the plain operators < and > do not compare the column
// exactly and by way of the index; empty when they do. The operators of an
// extension's type, citext say, are not found without its schema in search_path.
func (c indexedColumn) problem() string {
	switch {
	case !c.immediate:
		return "is deferrable"
	case !c.plain:
		return fmt.Sprintf("orders column %s by an operator class that is not the default of a type of the server's own", c.name)
	case !c.ownCollation:
		return fmt.Sprintf("orders column %s by another collation than the column's", c.name)
	case !c.deterministic:
		return fmt.Sprintf("is on column %s, whose collation %s is nondeterministic: different texts are the same to it", c.name, c.collation)
	case c.enum:
		return ""
	case !c.builtin:
		return fmt.Sprintf("is on column %s, whose type %s is not one of the server's own", c.name, c.base)
	}
	switch c.base {
	case "int2", "int4", "int8", "oid", "numeric", "bool",
		"text", "varchar", "bpchar", "name", "bytea", "uuid",
		"date", "time", "timestamp", "timestamptz", "inet", "cidr", "macaddr", "macaddr8":
		return ""
	case "float4", "float8":
		return fmt.Sprintf("is on column %s, whose %s values do not compare exactly", c.name, c.base)
	}
	return fmt.Sprintf("is on column %s, whose type %s has no order that can be cut", c.name, c.base)
}

// indexedColumns describes the columns of the unique indexes of a table, by the
// index's name.
func indexedColumns(ctx context.Context, on executor, oid uint32) (map[string][]indexedColumn, error) {
	rows, err := on.Query(ctx, `SELECT c.relname, coalesce(a.attname, ''), x.indimmediate, o.opcdefault AND o.opcnamespace = 'pg_catalog'::regnamespace,
			x.indcollation[k] = coalesce(a.attcollation, 0), coalesce(co.collname, ''), coalesce(co.collisdeterministic, true),
			coalesce(b.typname, ''), coalesce(b.typnamespace = 'pg_catalog'::regnamespace, false), coalesce(b.typtype = 'e', false)
		FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
		CROSS JOIN LATERAL generate_series(0, x.indnkeyatts - 1) k
		JOIN pg_opclass o ON o.oid = x.indclass[k]
		LEFT JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[k] AND a.attnum <> 0
		LEFT JOIN pg_collation co ON co.oid = a.attcollation
		LEFT JOIN LATERAL (
			WITH RECURSIVE made (oid) AS (SELECT a.atttypid UNION ALL SELECT d.typbasetype FROM made JOIN pg_type d USING (oid) WHERE d.typtype = 'd')
			SELECT t.typname, t.typnamespace, t.typtype FROM made JOIN pg_type t USING (oid) WHERE t.typtype <> 'd') b ON true
		WHERE x.indrelid = $1 AND x.indisunique ORDER BY c.relname, k`, oid)
	if err != nil {
		return nil, err
	}
	columns := map[string][]indexedColumn{}
	var index string
	var c indexedColumn
	_, err = pgx.ForEachRow(rows, []any{&index, &c.name, &c.immediate, &c.plain, &c.ownCollation, &c.collation, &c.deterministic, &c.base, &c.builtin, &c.enum}, func() error {
		columns[index] = append(columns[index], c)
		return nil
	})
	return columns, err
}

// keyKind is how values of a key column are shown. The server takes all of
// them as text: see Literal.
func keyKind(t engine.Type) engine.KeyKind {
	switch t.Base {
	case "int2", "int4", "int8", "oid", "numeric":
		return engine.NumberKey
	}
	if t.Full == "bytea" { // and not a domain of that name
		return engine.BytesKey
	}
	return engine.TextKey
}
