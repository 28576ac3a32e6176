package chaos

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
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
