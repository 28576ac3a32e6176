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

// stretch is a phase of a build: the part of the whole time that it takes, about,
// and how its counters are read.
type stretch struct {
	phase string // how the server's words for it begin
	part  float64
	by    string // blocks or tuples; empty for none
}

// stretches are the phases of an index that is built beside the writers, in
// their order; measured on tables of some million rows.
var stretches = []stretch{
	{"waiting for writers before build", 0, ""},
	{"building index: scanning table", 0.42, "blocks"},
	{"building index: sorting", 0.05, ""},
	{"building index: loading tuples", 0.20, "tuples"},
	{"building index", 0.01, "blocks"},
	{"waiting for writers before validation", 0, ""},
	{"index validation: scanning index", 0.05, "blocks"},
	{"index validation: sorting", 0.05, ""},
	{"index validation: scanning table", 0.22, "blocks"},
	{"waiting for old snapshots", 0, ""},
	{"waiting for readers before marking dead", 0, ""},
	{"waiting for readers before dropping", 0, ""},
}

// IndexProgress tells how far the build of a session has come.
func (s *Server) IndexProgress(ctx context.Context, session string, _ *engine.IndexWork) (engine.IndexProgress, error) {
	pid, _, _ := strings.Cut(session, "@")
	p := engine.IndexProgress{Done: -1}
	var blocks, blocksTotal, tuples, tuplesTotal, lockers, lockersDone int64
	err := s.on.QueryRow(ctx, `SELECT coalesce(phase, ''), coalesce(blocks_done, 0), coalesce(blocks_total, 0), coalesce(tuples_done, 0), coalesce(tuples_total, 0),
			coalesce(lockers_total, 0), coalesce(lockers_done, 0) FROM pg_stat_progress_create_index WHERE pid = $1::text::int`, pid).
		Scan(&p.Phase, &blocks, &blocksTotal, &tuples, &tuplesTotal, &lockers, &lockersDone)
	if noRows(err) {
		return engine.IndexProgress{Done: -1}, nil
	}
	if err != nil {
		return p, err
	}
	before := 0.0
	for _, st := range stretches {
		if !strings.HasPrefix(p.Phase, st.phase) {
			before += st.part
			continue
		}
		within := 0.0
		switch {
		case st.by == "blocks" && blocksTotal > 0:
			within = float64(blocks) / float64(blocksTotal)
		case st.by == "tuples" && tuplesTotal > 0:
			within = float64(tuples) / float64(tuplesTotal)
		}
		p.Done = before + st.part*min(1, within)
		break
	}
	if lockers > lockersDone && strings.HasPrefix(p.Phase, "waiting") {
		p.Waits = fmt.Sprintf("%d of %d transactions to end (%s)", lockers-lockersDone, lockers, strings.TrimPrefix(p.Phase, "waiting for "))
	}
	return p, nil
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
