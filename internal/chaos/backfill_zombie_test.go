package chaos

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// TestAFrozenWorkerOfABackfillThatWakesUpWritesNothing freezes a worker for
// longer than its heartbeat may be missed, lets another one take over, and
// wakes it up in the middle of the other one's work.
func TestAFrozenWorkerOfABackfillThatWakesUpWritesNothing(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"before change", "before commit", "after commit"} {
		t.Run("frozen at "+place, func(t *testing.T) {
			t.Parallel()
			onEveryEngine(t, backfillSize(), func(g *ground) {
				zombie := g.worker(place + ":5:stop")
				m := g.start(hundredfold, fmt.Sprintf("shards: {rows: %d, parallel: 3}", g.size/6), "chunks: {rows: 1000}", within(g.size, 10))
				zombie.awaitFrozen()
				g.worker()
				await(g.t, limit, "a shard of the frozen worker to be done by another one", func() bool {
					return m.countShards(task.Transform, "state = 'done' AND epoch > 1") > 0
				})
				zombie.thaw()
				awaitSuperseded(zombie)
				m.letsRun()
				m.succeeds()
				g.became(multiplied)
			})
		})
	}
}

func TestAFrozenWorkerThatWakesUpInARollbackRestoresNothingMore(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, 6000, func(g *ground) {
		definition := g.definition()
		zombie := g.worker("before restored:2:stop")
		m := g.start(hundredfold, "chunks: {rows: 1000}")
		m.succeeds()
		m.ask("rollback")
		zombie.awaitFrozen()
		g.worker()
		m.awaitState(task.RolledBack)
		// What comes after the rollback is not the backfill's any more.
		g.exec("UPDATE orders SET balance = balance * 100")
		zombie.thaw()
		awaitSuperseded(zombie)
		g.became(multiplied)
		g.exec("UPDATE orders SET balance = balance / 100")
		g.isUntouched(m, definition)
		require.Equal(g.t, 6, m.wait().code)
	})
}

// TestAWorkerFrozenBeforeTheClosingStatementDoesNotRunItAfterTheRollback is
// about a statement that on MySQL and MariaDB commits by itself, so that
// nothing of the ledger can hold it back in its transaction.
func TestAWorkerFrozenBeforeTheClosingStatementDoesNotRunItAfterTheRollback(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, 2000, func(g *ground) {
		definition := g.definition()
		zombie := g.worker("before closing:1:stop")
		m := g.start(hundredfold, g.qualified(closing))
		zombie.awaitFrozen()
		g.worker()
		m.succeeds()
		m.must("rollback", m.id, "--wait")
		zombie.thaw()
		awaitSuperseded(zombie)
		g.isUntouched(m, definition)
	})
}
