package chaos

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

const kills = 10

func TestAWorkerThatIsKilledAtRandomMomentsLosesNothing(t *testing.T) {
	t.Parallel()
	for round := range *rounds {
		t.Run(fmt.Sprintf("round %d", round+1), killedAtRandom)
	}
}

func killedAtRandom(t *testing.T) {
	s, random := newStage(t, sturdyRig(t)), dice(t)
	s.from = bigDatabase
	w := s.worker()
	// Slow enough to be there for all the kills, and in many shards.
	m := s.start("tables: [orders, customers, items, journal]", "shards: {rows: 25000, parallel: 4}",
		fmt.Sprintf("throttle: {rows_per_second: %d}", bigCount()/10))
	for range kills {
		m.awaitMoreRows()
		time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond) // the moment is what is random
		w.kill()
		w = s.worker()
	}
	require.Equal(t, task.Running, m.state(), "the last kill came before the end")
	m.must("throttle", m.id, "--rows-per-second", "0")
	m.succeeds()
	s.arrived(shopTables...)
	m.adds(shopTables...)
	var attempts int
	for _, shard := range m.shards(task.Transform) {
		attempts += shard.Attempt
	}
	require.Greater(t, attempts, len(m.shards(task.Transform))+kills-1, "each kill ended at least one attempt")
}
