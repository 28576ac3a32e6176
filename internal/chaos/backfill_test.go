package chaos

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// The backfills of most tests: one that must not be done twice, and one whose
// rows may match again.
const (
	hundredfold = "set: {balance: balance * 100}"
	regionNull  = "where: region IS NULL"
	regionSet   = `set: {region: "CASE WHEN country IN ('CN','JP') THEN 'apac' ELSE 'eu' END"}`
)

// multiplied is what hundredfold makes of the table.
var multiplied = map[string]string{"balance": "b.balance * 100"}

// regioned is what regionSet makes of the table.
var regioned = map[string]string{"region": "CASE WHEN b.country = 'DE' THEN 'eu' ELSE 'apac' END"}

// backfillSize is how many rows most tests have.
func backfillSize() int64 {
	if *rounds > 1 {
		return 300_000
	}
	return 30_000
}

// within makes a throttle by which all rows take about so many seconds.
func within(rows int64, seconds int) string {
	return fmt.Sprintf("throttle: {rows_per_second: %d}", rows/int64(seconds))
}

const backfillKills = 5

// TestABackfillWhoseWorkersAreKilledChangesEachRowOnce is about an update that
// shows when it was done twice, or not at all.
func TestABackfillWhoseWorkersAreKilledChangesEachRowOnce(t *testing.T) {
	t.Parallel()
	for round := range *rounds {
		t.Run(fmt.Sprintf("round %d", round+1), func(t *testing.T) {
			onEveryEngine(t, backfillSize(), func(g *ground) {
				random := dice(g.t)
				w := g.worker()
				m := g.start(hundredfold, "keep_old: 0s", fmt.Sprintf("shards: {rows: %d, parallel: 4}", g.size/8), within(g.size, 12))
				for range backfillKills {
					m.awaitMoreRows()
					time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond) // the moment is what is random
					w.kill()
					w = g.worker()
				}
				require.Equal(g.t, task.Running, m.state(), "the last kill came before the end")
				m.letsRun()
				m.succeeds()
				g.became(multiplied)
				require.Positive(g.t, m.countShards(task.Transform, "attempt > 1"))
				require.Greater(g.t, m.countShards(task.Transform, "1 = 1"), int64(4))
				m.awaitCleanup()
			})
		})
	}
}

// TestAPauseOfABackfillTakesEffectAtOnce has three tries, as that of a copy.
func TestAPauseOfABackfillTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, backfillSize(), func(g *ground) {
		t := g.t
		g.worker()
		m := g.start(hundredfold, "chunks: {rows: 2000}", fmt.Sprintf("shards: {rows: %d, parallel: 3}", g.size/3), within(g.size, 10))
		inTime := false
		for try := 0; try < 3 && !inTime; try++ {
			m.awaitMoreRows()
			lastRows, paused := m.pauseTakes()
			t.Logf("the last rows came %s after the signal, the state %s after it", lastRows, paused)
			inTime = lastRows < 2*time.Second
			require.Zero(t, m.countShards(task.Transform, "state = 'running'"))
			m.must("resume", m.id)
		}
		require.True(t, inTime, "a pause takes effect within 2 s of the signal")
		m.letsRun()
		m.succeeds()
		g.became(multiplied)
		require.Zero(t, m.countEvents("attempt failed"))
	})
}

func TestABackfillThatIsCancelledInTheMiddleGivesEveryRowItsOldValue(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, backfillSize(), func(g *ground) {
		definition := g.definition()
		g.worker()
		m := g.start(hundredfold, fmt.Sprintf("shards: {rows: %d, parallel: 2}", g.size/4), within(g.size, 40))
		m.awaitMoreRows()
		m.awaitMoreRows()
		changed := g.differing(nil)
		require.Positive(g.t, changed)
		require.Less(g.t, changed, g.size)
		m.ask("cancel")
		require.Equal(g.t, 5, m.wait().code)
		g.isUntouched(m, definition)
	})
}

// isUntouched checks that nothing of an undone backfill is left.
func (g *ground) isUntouched(m *backfill, definition string) {
	g.t.Helper()
	g.became(nil)
	require.Equal(g.t, definition, g.definition())
	require.Empty(g.t, g.savedTables())
	m.hasLetGo()
}

func TestABackfillWithAClosingStatementWaitsForItsOperatorAndCanBeRolledBack(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, 2000, func(g *ground) {
		t := g.t
		definition := g.definition()
		g.worker()
		sql, undo := "ALTER TABLE orders MODIFY region varchar(8) NOT NULL", "ALTER TABLE orders MODIFY region varchar(8)"
		if g.postgres() {
			sql, undo = "ALTER TABLE public.orders ALTER region SET NOT NULL", "ALTER TABLE public.orders ALTER region DROP NOT NULL"
		}
		m := g.start(regionSet, regionNull, fmt.Sprintf("cutover: {mode: manual, sql: %q, undo: %q}", sql, undo))
		await(t, limit, "the cut-over to wait", func() bool { return m.status().Attention })
		require.Contains(t, m.status().WaitingFor, "godwit cutover "+m.id)
		require.Equal(t, definition, g.definition(), "nothing is closed yet")
		g.became(regioned)
		m.must("cutover", m.id)
		m.succeeds()
		require.NotEqual(t, definition, g.definition())
		_, err := g.sql.Exec("INSERT INTO orders (id, country, balance, visits) VALUES (-1, 'DE', 0, 0)")
		require.Error(t, err, "the column takes no NULL any more")
		st := m.status()
		require.NotEmpty(t, st.Kept)
		require.Contains(t, st.Can, "rollback")

		m.must("rollback", m.id, "--wait")
		require.Equal(t, task.RolledBack, m.status().State)
		g.isUntouched(m, definition)
	})
}

func TestARolledBackBackfillLeavesWhatTheApplicationHasChangedSince(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, 3000, func(g *ground) {
		t := g.t
		g.worker()
		m := g.start(hundredfold)
		m.succeeds()
		g.exec("UPDATE orders SET balance = 7 WHERE id = 500", "UPDATE orders SET visits = 3 WHERE id = 510", "DELETE FROM orders WHERE id = 520")
		m.must("rollback", m.id, "--wait")
		require.EqualValues(t, 7, g.number("SELECT balance FROM orders WHERE id = 500"))
		g.exec("DELETE FROM orders_before WHERE id = 520", "UPDATE orders_before SET balance = 7 WHERE id = 500", "UPDATE orders_before SET visits = 3 WHERE id = 510")
		g.size--
		g.became(nil)
		left := fmt.Sprint(m.details("row not restored"))
		require.Contains(t, left, "id=500; balance was 51, the backfill made it 5100, now it is 7")
		require.Contains(t, left, "id=520: the row is gone")
		require.Len(t, m.details("row not restored"), 2)
		require.Len(t, g.savedTables(), 1, "what was not restored is kept")
		m.hasLetGo()
	})
}

// TestAStatementThatIsKilledInTheMiddleMovesEveryRowOnce is about a purge that
// fills an archive.
func TestAStatementThatIsKilledInTheMiddleMovesEveryRowOnce(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, 10_000, func(g *ground) {
		t := g.t
		g.exec("CREATE TABLE archive AS SELECT * FROM orders WHERE 1 = 0")
		lines := []string{
			g.qualified(`statement: ["INSERT INTO {archive} SELECT * FROM {orders} WHERE :range AND balance > 300", "DELETE FROM {orders} WHERE :range AND balance > 300"]`),
			g.qualified(`check: {query: "SELECT count(*) FROM {orders} WHERE balance > 300"}`), "shards: {rows: 2500, parallel: 2}", "chunks: {rows: 500}",
		}
		var m *backfill
		for _, trigger := range []string{"before change:3:kill", "before commit:4:kill", "after commit:3:kill"} {
			w := g.worker(trigger)
			if m == nil {
				m = g.start(lines...)
			}
			w.awaitDead()
		}
		g.worker()
		m.succeeds()
		require.EqualValues(t, 7000, g.number("SELECT count(*) FROM archive"))
		require.EqualValues(t, 7000, g.number("SELECT count(DISTINCT id) FROM archive WHERE balance > 300"))
		require.EqualValues(t, 3000, g.number("SELECT count(*) FROM orders"))
		g.exec("INSERT INTO orders SELECT * FROM archive")
		g.became(nil)
		refused := g.godwit("rollback", m.id)
		require.Equal(t, 1, refused.code)
		require.Contains(t, refused.err, "it has ended (SUCCESS)", "there is nothing to restore")
	})
}
