package chaos

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// TestABackfillBesideAnApplicationChangesEachRowOnce has an application that
// adds to another column of the same rows, and does to the balance what leaves
// it as it is.
func TestABackfillBesideAnApplicationChangesEachRowOnce(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, backfillSize(), func(g *ground) {
		app := newApplication(g)
		g.worker()
		app.run(3, func(random *rand.Rand) deed { return app.visit(app.anyOf(random), 1+random.Int64N(9)) })
		app.run(1, func(random *rand.Rand) deed { return app.backAndForth(app.anyOf(random), 1+random.Int64N(99)) })
		m := g.start(hundredfold, fmt.Sprintf("shards: {rows: %d, parallel: 4}", g.size/5), within(g.size, 5))
		m.succeeds()
		app.stop()
		require.Greater(g.t, app.done, 100, "the application has been at work")
		g.t.Logf("%d transactions of the application, %d of which had to be tried again", app.done, app.failed)
		app.expect()
		g.became(map[string]string{"balance": "b.balance * 100", "visits": "b.visits"})
	})
}

// TestRowsThatMatchAgainWhileABackfillRunsAreTakenIn has an application that
// takes the region away from rows again, adds rows without one and deletes
// some, and moves balance between rows.
func TestRowsThatMatchAgainWhileABackfillRunsAreTakenIn(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, backfillSize(), func(g *ground) {
		app := newApplication(g)
		w := g.worker()
		forgetting := newApplication(g)
		forgetting.run(1, func(random *rand.Rand) deed { return forgetting.forget(forgetting.anyOf(random)) })
		app.run(1, func(random *rand.Rand) deed { return app.visit(app.anyOf(random), 1+random.Int64N(9)) })
		app.run(1, func(random *rand.Rand) deed {
			return app.move(app.anyOf(random), app.anyOf(random), 1+random.Int64N(9))
		})
		inserting := newApplication(g)
		inserting.run(1, inserting.addOrDelete)
		m := g.start(regionSet, regionNull, "passes: 100", "keep_old: 0s", fmt.Sprintf("shards: {rows: %d, parallel: 3}", g.size/5), within(g.size, 5))
		m.awaitMoreRows()
		await(g.t, limit, "a second pass", func() bool { return m.countEvents("pass begins") >= 1 })
		w.kill()
		g.worker()
		m.awaitMoreRows()
		forgetting.stop()
		inserting.stop()
		m.letsRun()
		m.succeeds()
		app.stop()
		require.Positive(g.t, forgetting.done)
		require.Positive(g.t, inserting.done)
		g.t.Logf("%d passes; %d, %d and %d transactions of applications, %d of which had to be tried again", 1+m.countEvents("pass begins"), app.done, forgetting.done, inserting.done,
			app.failed+forgetting.failed+inserting.failed)
		require.Zero(g.t, g.number("SELECT count(*) FROM orders WHERE region IS NULL"))
		app.expect()
		inserting.expect()
		g.became(map[string]string{"region": regioned["region"]})
		m.awaitCleanup()
	})
}

// TestABackfillIsNoWorseForAnApplicationProneToDeadlocksThanPlainBatches has
// one whose transactions change two near rows against the order of the key, and
// compares how many of them fail beside a backfill, and beside batches of 1000
// rows that somebody might write by hand.
func TestABackfillIsNoWorseForAnApplicationProneToDeadlocksThanPlainBatches(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, 20_000, func(g *ground) {
		g.worker()
		plain := newApplication(g)
		plain.prone()
		g.inBatches(1000)
		plain.stop()
		plain.expect()
		g.became(multiplied)
		beside := newApplication(g)
		beside.prone()
		m := g.start(hundredfold, "shards: {rows: 20000, parallel: 1}")
		m.succeeds()
		beside.stop()
		beside.expect()
		g.became(map[string]string{"balance": "b.balance * 10000"})
		g.t.Logf("beside batches of 1000 rows, %d of %d transactions of the application failed; beside the backfill, %d of %d", plain.failed, plain.failed+plain.done, beside.failed, beside.failed+beside.done)
		require.Positive(g.t, beside.done)
		require.EqualValues(g.t, 0, m.countShards(task.Transform, "fruitless > 0"))
	})
}

// inBatches is what hundredfold does, by hand.
func (g *ground) inBatches(rows int64) {
	g.t.Helper()
	for low := int64(0); low < g.size; low += rows {
		for {
			_, err := g.sql.Exec(fmt.Sprintf("UPDATE orders SET balance = balance * 100 WHERE id > %d AND id <= %d", low*gap, (low+rows)*gap))
			if err == nil {
				break
			}
			require.True(g.t, isContention(err), err)
		}
	}
}

// prone runs transactions that change two rows against the order of the key,
// with a moment between them.
func (a *application) prone() {
	a.run(4, func(random *rand.Rand) deed {
		high := a.anyOf(random)
		low := max(gap, high-random.Int64N(200)*gap)
		return deed{
			statements: []string{fmt.Sprintf("UPDATE orders SET visits = visits + 1 WHERE id = %d", high), fmt.Sprintf("UPDATE orders SET visits = visits + 1 WHERE id = %d", low)},
			between:    2 * time.Millisecond,
			record:     func() { a.visits[high]++; a.visits[low]++ },
		}
	})
}
