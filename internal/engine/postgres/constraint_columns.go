package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
)

// ConstraintColumns returns the columns that a table's constraint, or its
// unique index of that name, is about, in their order; none for a name that is
// neither.
func (s *Server) ConstraintColumns(ctx context.Context, table engine.Name, constraint string) ([]string, error) {
	oid, err := tableOID(ctx, s.on, table)
	if err != nil {
		return nil, err
	}
	rows, err := s.on.Query(ctx, `SELECT a.attname FROM (
			SELECT k.attnum, k.at FROM pg_constraint c, unnest(c.conkey) WITH ORDINALITY k (attnum, at) WHERE c.conrelid = $1 AND c.conname = $2
			UNION SELECT k.attnum, k.at FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid, unnest(i.indkey::int2[]) WITH ORDINALITY k (attnum, at)
				WHERE i.indrelid = $1 AND x.relname = $2) k
		JOIN pg_attribute a ON a.attrelid = $1 AND a.attnum = k.attnum ORDER BY k.at`, oid, constraint)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
