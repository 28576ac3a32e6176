package chaos

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
	"godwit/internal/task"
)

// recordedBackfills are runs of each sort; with -chaos.record their histories
// are kept under the names.
var recordedBackfills = []struct {
	name string
	run  func(g *ground) *backfill
}{
	{"real-backfill-two-passes", func(g *ground) *backfill {
		gate := newGate(g.t)
		g.worker("after commit:2:hold=" + gate.file)
		m := g.start(regionSet, regionNull, "keep_old: 0s", "chunks: {rows: 1000}", "shards: {rows: 3000}")
		gate.reached()
		g.exec("UPDATE orders SET region = NULL WHERE id = 500")
		gate.open()
		m.succeeds()
		require.Len(g.t, m.details("pass begins"), 1)
		return m
	}},
	{"real-backfill-rolled-back", func(g *ground) *backfill {
		g.worker()
		m := g.start(hundredfold, g.qualified(closing))
		m.succeeds()
		m.must("rollback", m.id, "--wait")
		return m
	}},
	{"real-backfill-paused", func(g *ground) *backfill {
		gate := newGate(g.t)
		g.worker(gate.at("after commit"))
		m := g.start(hundredfold, "keep_old: 0s", "chunks: {rows: 1000}", "shards: {rows: 1500, parallel: 2}")
		gate.reached()
		m.signalWithNothing(task.PauseSignal)
		gate.open()
		m.awaitState(task.Paused)
		m.signal(task.ResumeSignal)
		m.succeeds()
		return m
	}},
}

func TestHistoriesOfRealBackfillsCanBeReplayed(t *testing.T) {
	t.Parallel()
	for _, r := range recordedBackfills {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			replayed(t, r.name, r.run(newGround(t, sandbox.Postgres, 3000)).migration)
		})
	}
}
