package chaos

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"godwit/internal/task"
)

// TestAFrozenWorkerThatWakesUpWritesNothing freezes a worker for longer than its
// heartbeat may be missed, lets another one take over, and wakes it up.
func TestAFrozenWorkerThatWakesUpWritesNothing(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"chunk read", "before load", "before commit", "after commit"} {
		t.Run("frozen at "+place, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, sturdyRig(t))
			zombie := s.worker(place + ":7:stop")
			m := startSlowly(s)
			zombie.awaitFrozen()
			takenOver(m, zombie)
		})
	}
	for round := range *rounds {
		t.Run(fmt.Sprintf("frozen at a random moment, round %d", round+1), func(t *testing.T) {
			t.Parallel()
			s, random := newStage(t, sturdyRig(t)), dice(t)
			zombie := s.worker()
			m := startSlower(s, 3) // also a slow machine has not copied it before the freeze
			m.awaitMoreRows()
			time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond) // the moment is what is random
			zombie.freeze()
			takenOver(m, zombie)
		})
	}
	t.Run("frozen in the one transaction of a table without a key", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, sturdyRig(t))
		zombie := s.worker("before commit:1:stop")
		m := s.start("tables: [journal]")
		zombie.awaitFrozen()
		successor := s.worker()
		m.succeeds()
		zombie.thaw()
		awaitSuperseded(zombie)
		s.arrived("journal")
		m.adds("journal")
		require.GreaterOrEqual(t, m.shards(task.Transform)[0].Epoch, int64(2))
		successor.stop()
	})
}

// TestAWorkerFrozenInATransactionOfTheWholeMigrationIsOutwaited is about those
// transactions that no shard's epoch fences: they hold locks that the successor
// needs until the server gives up on them.
func TestAWorkerFrozenInATransactionOfTheWholeMigrationIsOutwaited(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"tables set aside", "table created", "cleaned up"} {
		t.Run("frozen at "+place, func(t *testing.T) {
			t.Parallel()
			s := undoStage(t)
			zombie := s.worker(place + ":1:stop")
			m := s.start(append([]string{"keep_old: 0s"}, undoSpecs[0].lines...)...)
			zombie.awaitFrozen()
			s.worker()
			m.succeeds()
			await(t, limit, "the cleanup", func() bool { return m.describe().Status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED })
			zombie.thaw()
			awaitSuperseded(zombie)
			s.arrived("pets")
			m.adds("pets")
			m.hasLetGo()
			require.Zero(t, one[int](s, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'godwit_old%'"), "what was kept is gone")
		})
	}
	t.Run("frozen at undone", func(t *testing.T) {
		t.Parallel()
		s := undoStage(t)
		before := s.snapshot()
		zombie := s.worker("undone:1:stop")
		m := s.start(undoSpecs[0].lines...)
		m.succeeds()
		m.ask("rollback")
		zombie.awaitFrozen()
		s.worker()
		m.awaitState(task.RolledBack)
		zombie.thaw()
		awaitSuperseded(zombie)
		require.Equal(t, before, s.snapshot())
		m.hasLetGo()
	})
}

// startSlowly starts a copy that takes some ten seconds.
func startSlowly(s *stage) *migration {
	s.t.Helper()
	return startSlower(s, 1)
}

// startSlower starts one that takes so many times as long, for as many rounds.
func startSlower(s *stage, times int) *migration {
	s.t.Helper()
	return s.start("tables: [orders, customers, items, journal]", "shards: {rows: 10000, parallel: 4}",
		fmt.Sprintf("throttle: {rows_per_second: %d}", orderCount()/(10*times)))
}

// takenOver starts a second worker and wakes the first one up in the middle of
// the second one's work.
func takenOver(m *migration, zombie *worker) {
	t := m.t
	t.Helper()
	before := m.shards(task.Transform)
	require.True(t, slices.ContainsFunc(before, func(s shardRow) bool { return s.State == "running" }), "frozen in the middle of a shard")
	m.stage.worker()
	await(t, limit, "a shard of the frozen worker to be done by another one", func() bool {
		for i, s := range m.shards(task.Transform) {
			if s.State == "done" && before[i].State == "running" && s.Epoch > before[i].Epoch {
				return true
			}
		}
		return false
	})
	zombie.thaw()
	awaitSuperseded(zombie)
	m.must("throttle", m.id, "--rows-per-second", "0")
	m.succeeds()
	m.stage.arrived(shopTables...)
	m.adds(shopTables...)
}

// superseded is what a worker says of an attempt that another one has taken over,
// or whose session the server has cut while it was frozen: PostgreSQL and MySQL say
// so, MariaDB only closes the connection.
var superseded = regexp.MustCompile(`another attempt has taken over|has written nothing|workflow execution already completed|` +
	`terminating connection due to|disconnected by the server because of inactivity|invalid connection|bad connection|broken pipe|connection reset|unexpected EOF`)

func awaitSuperseded(zombie *worker) {
	zombie.t.Helper()
	await(zombie.t, time.Minute, "the woken worker to notice that it has been replaced", func() bool {
		return superseded.MatchString(zombie.log.String())
	})
}
