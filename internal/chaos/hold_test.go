package chaos

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
	"godwit/internal/task"
)

// TestACopyIsHeldByAStandbyThatLagsAndGoesOn stops what a standby of the target
// applies, and kills the worker and then the standby while the copy is held.
func TestACopyIsHeldByAStandbyThatLagsAndGoesOn(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t))
	standby, err := s.target.Replica(t.Context(), sandbox.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, standby.Stop()) })
	s.extra = append(s.extra, "GODWIT_CONNECTION_STANDBY="+standby.URL(s.name))
	w := s.worker()
	m := s.start("tables: [orders]", "shards: {rows: 20000, parallel: 2}", "throttle: {replicas: [standby], max_lag: 3s, rows_per_second: 5000}")
	m.awaitMoreRows()

	require.NoError(t, standby.Exec(t.Context(), s.name, "SELECT pg_wal_replay_pause()"))
	holds := func(words string) {
		t.Helper()
		await(t, 30*time.Second, "a hold by "+words, func() bool {
			st := m.status()
			return st.Throttle.Holding && strings.Contains(st.Throttle.Reason, words)
		})
	}
	stands := func() {
		t.Helper()
		await(t, 10*time.Second, "the chunks at work to end", func() bool {
			before := m.rows()
			time.Sleep(time.Second)
			return m.rows() == before
		})
	}
	holds("max_lag")
	stands()
	require.Contains(t, m.must("status", m.id).out, "holds: max_lag")
	require.Zero(t, one[int](s, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'godwit' AND xact_start < clock_timestamp() - interval '2 seconds'"),
		"no transaction is open while it is held")

	w.kill()
	s.worker()
	stands()
	holds("max_lag")
	require.NoError(t, standby.Exec(t.Context(), s.name, "SELECT pg_wal_replay_resume()"))
	m.awaitMoreRows()

	require.NoError(t, standby.Kill())
	holds("max_lag")
	stands()
	m.must("throttle", m.id, "--max-lag", "0", "--rows-per-second", "0")
	m.succeeds()
	s.arrived("orders")
	m.adds("orders")
	held := m.status().Throttle.Held
	require.NotEmpty(t, held)
	guard := func(h task.HeldTime) bool { return h.Guard == "max_lag" && h.Seconds > 1 && h.Times >= 1 }
	require.Condition(t, func() bool {
		for _, h := range held {
			if guard(h) {
				return true
			}
		}
		return false
	}, "%+v", held)
}

// TestAnOperatorsHoldReactsToAPauseAndToARelease holds a copy, pauses it and
// goes on.
func TestAnOperatorsHoldReactsToAPauseAndToARelease(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t))
	s.worker()
	m := s.start("tables: [orders]", "shards: {rows: 20000, parallel: 2}", "throttle: {hold: until the sale is over}")
	await(t, 20*time.Second, "the hold", func() bool {
		return m.status().Throttle.Reason == "hold: until the sale is over" && m.status().Shards.Running > 0
	})
	require.Zero(t, m.rows())
	began := time.Now()
	m.must("pause", m.id)
	m.awaitState(task.Paused)
	require.Less(t, time.Since(began), 5*time.Second)
	m.must("resume", m.id)
	m.must("throttle", m.id, "--release")
	m.succeeds()
	s.arrived("orders")
}
