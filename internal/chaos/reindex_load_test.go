package chaos

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// crowd is so many sessions of the application's that change rows of orders, one
// transaction after the other, each of which takes a while.
func (g *ground) crowd(size int) (leave func()) {
	g.t.Helper()
	ctx, end := context.WithCancel(context.Background())
	var all sync.WaitGroup
	g.sql.SetMaxOpenConns(size + 10)
	for range size {
		all.Go(func() {
			for ctx.Err() == nil {
				_, _ = g.sql.ExecContext(ctx, "UPDATE orders SET visits = visits + 1 WHERE id = $1 AND pg_sleep(0.2) IS NOT NULL", 10*(1+rand.Int64N(g.size)))
			}
		})
	}
	var once sync.Once
	leave = func() {
		once.Do(func() {
			end()
			all.Wait()
		})
	}
	g.t.Cleanup(leave)
	return leave
}

// TestAReindexUnderAHeavyLoadIsGivenUpBacksOffAndIsDoneWhenTheLoadIsOver has a
// real load come while an index is built.
func TestAReindexUnderAHeavyLoadIsGivenUpBacksOffAndIsDoneWhenTheLoadIsOver(t *testing.T) {
	t.Parallel()
	g := newGround(t, "postgres", 20_000)
	before := g.indexed()
	g.worker()
	end := g.transaction() // what keeps the build from its end until the load is there
	m := g.reindex("index: orders_note", "build: {workers: 2, memory: 128MiB}",
		`throttle: {query: {sql: "SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE 'UPDATE orders%'", max: 5}}`,
		"critical: {percent: 150, after: 2s}", "retry: {delay: 25s}") // long enough to be seen on a slow machine
	await(t, limit, "the build", func() bool {
		return g.number("SELECT count(*) FROM pg_stat_progress_create_index WHERE datname = current_database()") > 0
	})
	leave := g.crowd(20)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("events:", strings.Join(g.texts("SELECT concat_ws(' ', at::text, what, detail) FROM godwit.event WHERE migration = '"+m.id+"' ORDER BY no"), "\n"))
		}
	})
	var gone time.Time
	await(t, limit, "the build to be cancelled", func() bool {
		if g.number("SELECT count(*) FROM pg_stat_progress_create_index WHERE datname = current_database()") > 0 {
			gone = time.Time{}
			return false
		}
		if gone.IsZero() {
			gone = time.Now()
		}
		return time.Since(gone) > time.Second // the server may not show it for an instant
	})
	end() // while it is there, nothing can be removed
	m.awaitState(task.Retrying)
	st := m.status()
	require.Contains(t, st.Failures[0].Message, "query on warehouse")
	require.Contains(t, st.Failures[0].Message, "the build is given up")
	require.Equal(t, before, g.indexes(), "nothing of it is left while it waits")
	time.Sleep(27 * time.Second) // its round has come, and the load is still there
	require.Zero(t, g.number("SELECT count(*) FROM pg_stat_progress_create_index WHERE datname = current_database()"), "it does not begin above the low watermark")
	leave()
	m.succeeds()
	m.isOver()
	require.Equal(t, before, g.indexes())
	require.EqualValues(t, 1, m.countEvents("build given up"))
	require.Contains(t, strings.Join(m.details("step done"), "\n"), "with up to 1 workers besides and 64 MiB of memory")
}
