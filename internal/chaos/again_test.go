package chaos

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestAnIDNeverRunsTwice(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t))
	s.worker()
	file := s.spec("tables: [customers]", "throttle: {rows_per_second: 4000}")
	id := "nightly-" + s.name
	s.must("run", file, "--id", id)
	m := &migration{s, id}
	a := s.godwit("run", file, "--id", id)
	require.Equal(t, 1, a.code)
	require.Contains(t, a.err, id+" exists already")
	require.Contains(t, a.err, "godwit status "+id)
	m.succeeds()
	a = s.godwit("run", file, "--id", id)
	require.Equal(t, 1, a.code)
	require.Contains(t, a.err, id+" is done already")
	s.arrived("customers")
}

func TestAMigrationThatWasTerminatedInTemporalIsContinued(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t))
	s.worker()
	m := startSlowly(s)
	m.awaitMoreRows()
	await(t, limit, "a shard to be done", func() bool {
		for _, shard := range m.shards(task.Transform) {
			if shard.State == "done" {
				return true
			}
		}
		return false
	})
	require.NoError(t, m.temporal.client.TerminateWorkflow(context.Background(), m.id, "", "somebody in a hurry"))
	a := m.wait()
	require.Equal(t, 3, a.code, a.out)
	require.Contains(t, a.out, "terminated")
	require.Contains(t, a.out, "you can   retry · rollback")
	var done []shardRow
	for _, shard := range m.shards(task.Transform) {
		if shard.State == "done" {
			done = append(done, shard)
		}
	}
	m.must("retry", m.id)
	m.must("throttle", m.id, "--rows-per-second", "0")
	m.succeeds()
	s.arrived(shopTables...)
	m.adds(shopTables...)
	after := m.shards(task.Transform)
	for _, shard := range done {
		require.Equal(t, shard, after[shard.No-1], "what was done is not done again")
	}
}

// TestALongCopyMakesAShortHistory is about the shards that a table of any size is cut into.
func TestALongCopyMakesAShortHistory(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t))
	s.worker()
	m := s.start("tables: [customers]", "shards: {rows: 834, parallel: 4}")
	m.succeeds()
	require.GreaterOrEqual(t, len(m.shards(task.Transform)), 24)
	events := m.describe().HistoryLength
	t.Logf("%d events for %d shards", events, len(m.shards(task.Transform)))
	require.Less(t, events, 500)
	s.arrived("customers")
}

func TestAManualCutoverWaitsForItsOperator(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t)).ownSource(undoSource)
	s.worker()
	m := s.start("tables: [pets, visits]", "cutover: {mode: manual}")
	await(t, limit, "the cut-over to wait", func() bool { return m.status().Attention })
	st := m.status()
	require.Equal(t, task.Cutover, st.Phase)
	require.True(t, st.Attention)
	require.Contains(t, st.WaitingFor, "godwit cutover "+m.id)
	require.EqualValues(t, 1, one[int64](s, "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('pets', 'id')), 1)"), "nothing is cut over yet")
	m.must("cutover", m.id)
	m.succeeds()
	s.arrived("pets", "visits")
	require.EqualValues(t, 3001, one[int64](s, "SELECT nextval(pg_get_serial_sequence('pets', 'id'))"))
}

func TestALimitThatIsPassedEndsInTimeout(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t))
	s.worker()
	m := s.start("tables: [customers]", "throttle: {rows_per_second: 2000}", "timeouts: {transform: 3s}")
	began := time.Now()
	a := m.wait()
	require.Equal(t, 4, a.code, a.out)
	require.Less(t, time.Since(began), 30*time.Second)
	require.Contains(t, a.out, "timeouts.transform")
	require.Positive(t, m.rows(), "what was copied is kept")
	m.must("rollback", m.id, "--wait")
	require.Zero(t, one[int](s, "SELECT count(*) FROM pg_class WHERE relname = 'customers'"))
}
