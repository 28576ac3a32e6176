package chaos

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"

	"godwit/internal/task"
)

// TestAPauseTakesEffectAtOnce does not run besides others: it takes the time. On
// a machine that is busy with other things one of three pauses has to be in time.
func TestAPauseTakesEffectAtOnce(t *testing.T) {
	s := newStage(t, sturdyRig(t))
	s.worker()
	m := s.start("tables: [orders]", "shards: {rows: 30000, parallel: 3}", fmt.Sprintf("throttle: {rows_per_second: %d}", orderCount()/10))
	inTime := false
	for try := 0; try < 3 && !inTime; try++ {
		m.awaitMoreRows()
		lastRows, paused := m.pauseTakes()
		t.Logf("the last rows came %s after the signal, the state %s after it", lastRows, paused)
		inTime = lastRows < 2*time.Second && paused < 3*time.Second
		for _, shard := range m.shards(task.Transform) {
			require.NotEqual(t, "running", shard.State)
		}
		m.signal(task.ResumeSignal)
	}
	require.True(t, inTime, "a pause takes effect within 2 s of the signal")
	m.must("throttle", m.id, "--rows-per-second", "0")
	m.succeeds()
	s.arrived("orders")
	m.adds("orders")
	m.usedUpNothing()
}

// pauseTakes pauses a migration and tells how long after the signal the last
// rows were written and the state was shown.
func (m *migration) pauseTakes() (lastRows, paused time.Duration) {
	m.t.Helper()
	m.signalWithNothing(task.PauseSignal)
	asked := time.Now()
	last, rows := asked, m.rows()
	for m.state() != task.Paused {
		if now := m.rows(); now != rows {
			last, rows = time.Now(), now
		}
		require.Less(m.t, time.Since(asked), 20*time.Second, "the pause did not come")
		time.Sleep(20 * time.Millisecond)
	}
	require.Less(m.t, rows, int64(orderCount()), "the pause came in the middle")
	return last.Sub(asked), time.Since(asked)
}

// signalWithNothing sends a signal without any input at all.
func (m *migration) signalWithNothing(name string) {
	m.t.Helper()
	_, err := m.temporal.client.WorkflowService().SignalWorkflowExecution(context.Background(), &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: m.id}, SignalName: name,
	})
	require.NoError(m.t, err)
}

func TestAPausedMigrationOutlivesARestartOfEverything(t *testing.T) {
	t.Parallel()
	s := newStage(t, fragileRig(t))
	w := s.worker()
	m := startSlowly(s)
	m.awaitMoreRows()
	m.signalWithNothing(task.PauseSignal)
	m.awaitState(task.Paused)
	rows := m.rows()

	w.kill()
	require.NoError(t, s.temporal.kill())
	require.NoError(t, crash(t.Context(), s.rig.source))
	require.NoError(t, crash(t.Context(), s.rig.target))
	require.NoError(t, s.temporal.start(t.Context()))
	s.worker()
	await(t, limit, "the new worker to tell what is waited for", func() bool { return m.status().WaitingFor != "" })
	st := m.status()
	require.Equal(t, task.Paused, st.State)
	require.Contains(t, st.WaitingFor, "godwit resume "+m.id)
	require.Equal(t, rows, m.rows())
	await(t, limit, "the ledger to know of the pause", func() bool {
		return one[string](s, "SELECT state FROM godwit.migration WHERE id = $1", m.id) == "PAUSED"
	})

	m.must("throttle", m.id, "--rows-per-second", "0")
	m.must("resume", m.id)
	m.succeeds()
	s.arrived(shopTables...)
	m.adds(shopTables...)
}

// TestAThrottleTakesEffectWhileItRuns changes the limit up and down.
func TestAThrottleTakesEffectWhileItRuns(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t))
	s.worker()
	m := s.start("tables: [orders]", "shards: {rows: 50000, parallel: 2}", "throttle: {rows_per_second: 2000}")
	m.awaitMoreRows()
	require.InDelta(t, 2000, m.speed(4*time.Second), 1000)
	m.must("throttle", m.id, "--rows-per-second", "10000")
	time.Sleep(2 * time.Second) // what was let through at the old rate, and a second until shards look
	require.InDelta(t, 10000, m.speed(4*time.Second), 4000)
	st := m.status()
	require.EqualValues(t, 10000, st.Throttle.RowsPerSecond)
	m.must("throttle", m.id, "--rows-per-second", "0", "--parallel", "3")
	m.succeeds()
	s.arrived("orders")
	require.Equal(t, 2, m.countEvents("throttle"), fmt.Sprint(m.events()))
}

// speed is how many rows are copied in a second.
func (m *migration) speed(over time.Duration) float64 {
	before, began := m.rows(), time.Now()
	time.Sleep(over)
	return float64(m.rows()-before) / time.Since(began).Seconds()
}
