package chaos

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// TestAnApplicationProneToDeadlocksFailsNoMoreOftenBesideABackfillThanBesidePlainBatches
// has one whose transactions change two near rows against the order of the key,
// and counts how many of them the server ends while the whole table is changed:
// by a backfill, and in batches of 1000 rows, as somebody might do by hand.
func TestAnApplicationProneToDeadlocksFailsNoMoreOftenBesideABackfillThanBesidePlainBatches(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, 80_000, func(g *ground) {
		g.worker()
		var plain, beside int
		runs := 1 + *rounds
		for run := range runs {
			plain += g.besideProne(func() { g.inBatches(1000) })
			beside += g.besideProne(func() {
				m := g.start("set: {balance: balance + 1}", "keep_old: 0s", "shards: {rows: 80000, parallel: 1}")
				m.succeeds()
				require.Zero(g.t, m.countShards(task.Transform, "fruitless > 0"))
				m.awaitCleanup()
			})
			g.became(map[string]string{"balance": fmt.Sprintf("b.balance + %d", 2*(run+1))})
		}
		g.t.Logf("in %d runs, %d transactions of the application failed beside batches of 1000 rows, and %d beside the backfill", runs, plain, beside)
		require.LessOrEqual(g.t, beside, 2*plain+10, "as many, but for chance")
	})
}

// besideProne does something beside an application whose transactions change
// two rows against the order of the key, and counts those that failed.
func (g *ground) besideProne(do func()) (failed int) {
	g.t.Helper()
	a := newApplication(g)
	a.run(8, func(random *rand.Rand) deed {
		high := a.anyOf(random)
		low := max(gap, high-random.Int64N(500)*gap)
		return deed{
			statements: []string{fmt.Sprintf("UPDATE orders SET visits = visits + 1 WHERE id = %d", high), fmt.Sprintf("UPDATE orders SET visits = visits + 1 WHERE id = %d", low)},
			between:    5 * time.Millisecond,
			record:     func() { a.visits[high]++; a.visits[low]++ },
		}
	})
	time.Sleep(200 * time.Millisecond)
	do()
	a.stop()
	require.Positive(g.t, a.done)
	a.expect()
	return a.failed
}

// inBatches adds to every balance, by hand.
func (g *ground) inBatches(rows int64) {
	g.t.Helper()
	for low := int64(0); low < g.size; low += rows {
		for {
			_, err := g.sql.Exec(fmt.Sprintf("UPDATE orders SET balance = balance + 1 WHERE id > %d AND id <= %d", low*gap, (low+rows)*gap))
			if err == nil {
				break
			}
			require.True(g.t, isContention(err), err)
		}
	}
}
