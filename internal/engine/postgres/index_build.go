package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
)

// patientSettings let a session wait as long as need be: nobody waits behind a
// CONCURRENTLY, and one that gives up leaves an invalid index.
var patientSettings = []string{"SET lock_timeout = 0", "SET statement_timeout = 0"}

// leastMemory is what a build sorts in at the least, in kB, when its memory is
// halved.
const leastMemory = 16 << 10

// BuildSettings writes the statements by which a session builds as it may.
func (s *Server) BuildSettings(ctx context.Context, limits engine.BuildLimits) (settings []string, words string, err error) {
	var workers, memory int
	if err := s.on.QueryRow(ctx, `SELECT current_setting('max_parallel_maintenance_workers')::int, (SELECT setting::int FROM pg_settings WHERE name = 'maintenance_work_mem')`).
		Scan(&workers, &memory); err != nil {
		return nil, "", err
	}
	if limits.Workers != nil {
		workers = *limits.Workers
	}
	if limits.Memory > 0 {
		memory = int(limits.Memory >> 10)
	}
	workers >>= limits.Halved
	memory = max(min(memory, leastMemory), memory>>limits.Halved)
	settings = append(settings, patientSettings...)
	settings = append(settings, fmt.Sprintf("SET max_parallel_maintenance_workers = %d", workers), fmt.Sprintf("SET maintenance_work_mem = '%dkB'", memory))
	return settings, fmt.Sprintf("with up to %d workers besides and %s of memory", workers, humanize.IBytes(uint64(memory)<<10)), nil
}

// mostDuplicates is how many values are named.
const mostDuplicates = 5

// Duplicates names values that a unique index has no place for. It does not
// trust any index: the one in question may be what is wrong.
func (s *Server) Duplicates(ctx context.Context, w *engine.IndexWork) (string, error) {
	if !w.Unique || len(w.Keys) == 0 {
		return "", nil
	}
	var selected, conditions []string
	for _, key := range w.Keys {
		selected = append(selected, "("+key+")::text")
		conditions = append(conditions, "("+key+") IS NOT NULL")
	}
	if w.Where != "" {
		conditions = append(conditions, "("+w.Where+")")
	}
	query := "SELECT ARRAY[" + strings.Join(selected, ", ") + "], count(*) FROM " + QuoteName(w.Table) + " WHERE " + strings.Join(conditions, " AND ") +
		" GROUP BY " + strings.Join(w.Keys, ", ") + fmt.Sprintf(" HAVING count(*) > 1 LIMIT %d", mostDuplicates+1)
	tx, err := s.begin(ctx)
	if err != nil {
		return "", err
	}
	defer tx.Rollback(ctx) //nolint:errcheck // it never fails
	if _, err := tx.Exec(ctx, "SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off; SET LOCAL enable_bitmapscan = off"); err != nil {
		return "", err
	}
	rows, err := tx.tx.Query(ctx, query)
	if err != nil {
		return "", err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		var values []string
		var count int64
		err := row.Scan(&values, &count)
		return fmt.Sprintf("(%s)=(%s), %d rows", strings.Join(w.Keys, ", "), engine.ShortStatement(strings.Join(values, ", ")), count), err
	})
	if len(found) > mostDuplicates {
		found[mostDuplicates] = "…"
	}
	return strings.Join(found, "; "), err
}
