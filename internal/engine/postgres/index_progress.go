package postgres

import (
	"context"
	"fmt"
	"strings"

	"godwit/internal/engine"
)

// stretch is a phase of a build, with what it costs.
type stretch struct {
	phase string // how the server's words for it begin
	by    string // what it is counted by: blocks or tuples; empty for nothing
	// costs are in seconds for a million rows on some machine, so that only their
	// proportions mean anything: of keys of a fixed length and of others, each built
	// by one process and by several.
	costs [2][2]float64
}

// building is the whole of what comes before the first wait, of which only btree
// tells the phases.
const building = "building index"

// stretches are the phases of an index that is built beside the writers, in
// their order; measured on tables of some million rows.
var stretches = []stretch{
	{phase: "waiting for writers before build"},
	{"building index: scanning table", "blocks", [2][2]float64{{0.50, 0.23}, {2.20, 0.75}}},
	{"building index: sorting", "", [2][2]float64{{0.05, 0.06}, {0.17, 0.30}}},
	{"building index: loading tuples", "tuples", [2][2]float64{{0.10, 0.10}, {0.45, 0.35}}},
	{phase: "waiting for writers before validation"},
	{"index validation: scanning index", "blocks", [2][2]float64{{0.25, 0.25}, {0.29, 0.28}}},
	{"index validation: sorting", "", [2][2]float64{{0.02, 0.02}, {0.02, 0.02}}},
	{"index validation: scanning table", "blocks", [2][2]float64{{0.12, 0.12}, {0.14, 0.13}}},
	{phase: "waiting for old snapshots"},
	{phase: "waiting for readers"},
}

// IndexProgress tells how far a build has come.
func (s *Server) IndexProgress(ctx context.Context, b engine.IndexBuild) (engine.IndexProgress, error) {
	pid, _, _ := strings.Cut(b.Session, "@")
	p := engine.IndexProgress{Within: -1}
	var blocks, blocksTotal, tuples, tuplesTotal, lockers, lockersDone int64
	var wide bool
	err := s.on.QueryRow(ctx, `SELECT coalesce(p.phase, ''), coalesce(p.blocks_done, 0), coalesce(p.blocks_total, 0), coalesce(p.tuples_done, 0), coalesce(p.tuples_total, 0),
			coalesce(p.lockers_total, 0), coalesce(p.lockers_done, 0), (SELECT count(*) FROM pg_stat_activity a WHERE a.leader_pid = p.pid),
			EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = p.index_relid AND a.attlen < 0)
		FROM pg_stat_progress_create_index p WHERE p.pid = $1::text::int`, pid).
		Scan(&p.Phase, &blocks, &blocksTotal, &tuples, &tuplesTotal, &lockers, &lockersDone, &p.Workers, &wide)
	if noRows(err) {
		return engine.IndexProgress{Within: -1}, nil
	}
	if err != nil {
		return p, err
	}
	at := place(&p, max(b.Workers, p.Workers) > 0, wide)
	switch {
	case at == "blocks" && blocksTotal > 0:
		p.Within = min(1, float64(blocks)/float64(blocksTotal))
	case at == "tuples" && tuplesTotal > 0:
		p.Within = min(1, float64(tuples)/float64(tuplesTotal))
	}
	if lockers > lockersDone && strings.HasPrefix(p.Phase, "waiting") {
		p.Waits = fmt.Sprintf("%d of %d transactions to end (%s)", lockers-lockersDone, lockers, strings.TrimPrefix(p.Phase, "waiting for "))
	}
	return p, nil
}

// place finds the phase among all, and tells by what it is counted.
func place(p *engine.IndexProgress, several, wide bool) (by string) {
	one := func(yes bool) int {
		if yes {
			return 1
		}
		return 0
	}
	all, found := 0.0, false
	for _, st := range stretches {
		cost := st.costs[one(wide)][one(several)]
		if p.Phase == building && strings.HasPrefix(st.phase, building) {
			p.Part, by, found = p.Part+cost, "blocks", true
		}
		if !found && strings.HasPrefix(p.Phase, st.phase) {
			p.Before, p.Part, by, found = all, cost, st.by, true
		}
		all += cost
	}
	p.Before, p.Part = p.Before/all, p.Part/all
	return by
}
