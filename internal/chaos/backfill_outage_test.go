package chaos

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
	"godwit/internal/task"
)

// TestBackfillsOutliveServersThatGoDown has one on each engine, and servers of
// its own: all three databases and Temporal are restarted and killed.
func TestBackfillsOutliveServersThatGoDown(t *testing.T) {
	t.Parallel()
	shared := sturdyRig(t)
	temporal, err := startTemporal(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, temporal.stop()) })
	var grounds []*ground
	for _, kind := range sandbox.Kinds() {
		server, err := sandbox.Start(t.Context(), kind, sandbox.Options{Durable: true})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, server.Stop()) })
		r := &rig{temporal: temporal, source: shared.source, target: shared.target}
		if kind == sandbox.Postgres {
			r.target = server
		} else {
			r.source = server
		}
		grounds = append(grounds, groundOn(t, r, kind, backfillSize()))
	}
	var all []*backfill
	for _, g := range grounds {
		g.worker()
		all = append(all, g.start(hundredfold, fmt.Sprintf("shards: {rows: %d, parallel: 3}", g.size/6), within(g.size, 100**rounds)))
	}
	more := func() {
		for _, m := range all {
			m.awaitMoreRows()
		}
	}
	for range *rounds {
		more()
		for _, g := range grounds {
			require.NoError(t, g.server.Restart(context.Background()))
		}
		more()
		grounds[0].restartTemporal(2 * time.Second)
		more()
		for _, g := range grounds {
			require.NoError(t, crash(context.Background(), g.server))
		}
		more()
		grounds[0].restartTemporal(13 * time.Second) // longer than heartbeats may be missed
		more()
	}
	for _, m := range all {
		m.letsRun()
	}
	for i, m := range all {
		m.succeeds()
		grounds[i].became(multiplied)
	}
}

func TestABackfillOutlivesConnectionsThatAreDropped(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, backfillSize(), func(g *ground) {
		random := dice(g.t)
		g.worker()
		m := g.start("set: {balance: balance * -100}", "where: balance > 0", fmt.Sprintf("shards: {rows: %d, parallel: 4}", g.size/6), within(g.size, 15**rounds))
		for range 7 * *rounds {
			m.awaitMoreRows()
			time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond) // the moment is what is random
			g.dropSessions()
		}
		require.Equal(g.t, task.Transform, m.status().Phase, "the last drop came before the end of the changes")
		require.Positive(g.t, m.countEvents("attempt failed"), "the worker has felt it")
		m.letsRun()
		for range 3 * *rounds { // at full speed, and into the verification
			time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond)
			g.dropSessions()
		}
		m.succeeds()
		g.became(map[string]string{"balance": "b.balance * -100"})
	})
}

// dropSessions ends every session that Godwit has with the database.
func (g *ground) dropSessions() {
	g.t.Helper()
	if g.postgres() {
		g.number("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'godwit%'")
		return
	}
	for _, id := range g.texts("SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()") {
		_, _ = g.sql.Exec("KILL " + id) // it may have gone by itself
	}
}
