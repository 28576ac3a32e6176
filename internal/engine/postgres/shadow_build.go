package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
)

const (
	// buildWorkers is how many processes help to build an index of a big table.
	buildWorkers = 2
	// buildMemory is what it may sort in, in kB, unless the server gives more.
	buildMemory = 256 << 10
	// bigTable is the size, in bytes, of which that is worth while.
	bigTable = 32 << 20
)

// BuildShadow builds an index or key of the shadow, which nobody else uses,
// unless it is there.
func (s *Server) BuildShadow(ctx context.Context, r *engine.Reshaping, b engine.Build) error {
	var exists bool
	index := QuoteName(engine.Name{Schema: r.Shadow.Schema, Table: besideName(b.Name, shadowSuffix)})
	if err := s.on.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND indisvalid)", index).Scan(&exists); err != nil || exists {
		return err
	}
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		settings := deparsed + "; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '60s'"
		if r.Table.Bytes >= bigTable {
			settings += fmt.Sprintf("; SET LOCAL max_parallel_maintenance_workers = %d; SELECT set_config('maintenance_work_mem', greatest(setting::int, %d)::text || 'kB', true) FROM pg_settings WHERE name = 'maintenance_work_mem'",
				buildWorkers, buildMemory)
		}
		if _, err := tx.Exec(ctx, settings); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, b.SQL)
		return err
	})
	if err != nil {
		return s.explain(ctx, change{what: fmt.Sprintf("build %s of %s", b.Name, r.Shadow), table: r.Shadow}, err)
	}
	return nil
}
