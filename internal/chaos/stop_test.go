package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestAWorkerThatIsAskedToStopHandsOverAtOnce(t *testing.T) {
	s := newStage(t, sturdyRig(t))
	first := s.worker()
	m := startSlowly(s)
	m.awaitMoreRows()
	s.worker()
	took := first.stop()
	require.Less(t, took, 5*time.Second, "it ends after the chunks at work")
	asked := time.Now()
	m.awaitMoreRows()
	require.Less(t, time.Since(asked), 8*time.Second, "the other worker does not wait for heartbeats to be missed")
	m.must("throttle", m.id, "--rows-per-second", "0")
	m.succeeds()
	s.arrived(shopTables...)
	m.adds(shopTables...)
	m.usedUpNothing()
}

// usedUpNothing checks that no attempt of a shard counted as a failed one.
func (m *migration) usedUpNothing() {
	m.t.Helper()
	for _, s := range m.shards(task.Transform) {
		require.Zero(m.t, s.Fruitless, "shard %d of %s", s.No, s.Table)
	}
	for _, e := range m.events() {
		require.NotEqual(m.t, "attempt failed", e.What, "%+v", e)
	}
}
