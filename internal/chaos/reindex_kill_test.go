package chaos

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// replaced is a new index in place of an old one.
const replaced = "create: CREATE INDEX orders_new ON orders (region, country)\ndrop: orders_country\nkeep_old: 0s"

// reindexJourneys take rebuilds through all places at which it matters what has
// been done: at each a worker kills itself, and the next one goes on.
var reindexJourneys = []struct{ name, lines, places string }{
	{"of all indexes", "", "plan made, table cut, before build, watched build, index done, verify begins"},
	{"of all indexes, and again", "", "plan committed, shard claimed, built, before index done, shard compared"},
	{"of an index in place of another one", replaced, "session taken, before build, built, cut-over begins, before index done"},
}

func TestAReindexWhoseWorkerIsKilledAtEveryPlaceLeavesNoInvalidAndNoDoubledIndex(t *testing.T) {
	t.Parallel()
	for _, journey := range reindexJourneys {
		t.Run(journey.name, func(t *testing.T) {
			t.Parallel()
			onEveryEngine(t, 8000, func(g *ground) {
				before := g.indexed()
				var m *backfill
				for place := range strings.SplitSeq(journey.places, ", ") {
					w := g.worker(place + ":1:kill")
					if m == nil {
						m = g.reindex(journey.lines)
					}
					w.awaitDead()
				}
				g.worker()
				m.succeeds()
				m.isOver()
				now := g.indexes()
				require.Len(g.t, now, len(before))
				if journey.lines == "" {
					require.Equal(g.t, before, now)
					return
				}
				require.Contains(g.t, strings.Join(now, "\n"), "orders_new")
				require.NotContains(g.t, strings.Join(now, "\n"), "orders_country")
			})
		})
	}
}

// TestAReindexWhoseWorkerIsKilledInTheMiddleOfABuildIsDoneOnce has the server
// build on when the worker has gone.
func TestAReindexWhoseWorkerIsKilledInTheMiddleOfABuildIsDoneOnce(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, 60_000, func(g *ground) {
		before := g.indexed()
		end, place := func() {}, "watched build:1:kill"
		if g.postgres() {
			end, place = g.transaction(), "watched build:2:kill" // the build cannot end before it
		}
		w := g.worker(place)
		m := g.reindex("index: orders_note")
		w.awaitDead()
		g.worker()
		end()
		m.succeeds()
		m.isOver()
		require.Equal(g.t, before, g.indexes())
	})
}

func TestAReindexWhoseSessionIsLostIsDoneByTheNextAttempt(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, 8000, func(g *ground) {
		before := g.indexed()
		for _, place := range []string{"before build", "built"} {
			gate := newGate(g.t)
			w := g.worker(gate.at(place))
			m := g.reindex("index: orders_note")
			gate.reached()
			m.killBuilders()
			gate.open()
			m.succeeds()
			m.isOver()
			require.Equal(g.t, before, g.indexes(), place)
			w.stop()
		}
	})
}

// TestAReindexThatIsCancelledAtAnyStageLeavesWhatWasThere holds a worker up at
// each place and cancels meanwhile.
func TestAReindexThatIsCancelledAtAnyStageLeavesWhatWasThere(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"table cut", "before build", "built", "index done", "verify begins"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			onEveryEngine(t, 8000, func(g *ground) {
				before := g.indexed()
				gate := newGate(g.t)
				g.worker(gate.at(place))
				m := g.reindex(replaced)
				gate.reached()
				m.ask("cancel")
				gate.open()
				require.Equal(g.t, 5, m.wait().code)
				require.Equal(g.t, before, g.indexes())
				require.Zero(g.t, g.number("SELECT count(*) FROM "+g.ledger("claim")))
			})
		})
	}
}

// TestAReindexThatIsCancelledWhileItBuildsEndsTheBuild is about a build that
// cannot end by itself.
func TestAReindexThatIsCancelledWhileItBuildsEndsTheBuild(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"index: orders_note", "create: CREATE INDEX orders_new ON orders (region, country)"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			g := newGround(t, "postgres", 8000)
			before := g.indexed()
			end := g.transaction()
			g.worker()
			m := g.reindex(line)
			await(t, limit, "the build", func() bool {
				return g.number("SELECT count(*) FROM pg_stat_progress_create_index WHERE datname = current_database()") > 0
			})
			m.ask("cancel")
			await(t, limit, "the build to end", func() bool {
				return g.number("SELECT count(*) FROM pg_stat_progress_create_index WHERE datname = current_database()") == 0
			})
			end()
			require.Equal(t, 5, m.wait().code)
			require.Equal(t, before, g.indexes())
		})
	}
}

// TestAReindexWhoseBuildIsPausedBuildsThatIndexAnew and keeps those that are done.
func TestAReindexWhoseBuildIsPausedBuildsThatIndexAnew(t *testing.T) {
	t.Parallel()
	g := newGround(t, "postgres", 8000)
	before := g.indexed()
	end := g.transaction()
	g.worker()
	m := g.reindex("")
	await(t, limit, "the build", func() bool {
		return g.number("SELECT count(*) FROM pg_stat_progress_create_index WHERE datname = current_database()") > 0
	})
	m.must("pause", m.id)
	await(t, limit, "the build to end", func() bool {
		return g.number("SELECT count(*) FROM pg_stat_progress_create_index WHERE datname = current_database()") == 0
	})
	end()
	m.must("resume", m.id)
	m.succeeds()
	m.isOver()
	require.Equal(t, before, g.indexes())
}

func TestAReindexOverDuplicatesFailsByNameAndTheOthersAreBuilt(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, 1000, func(g *ground) {
		before := g.indexed()
		g.exec("UPDATE orders SET note = 'twice' WHERE id IN (30, 40)")
		g.worker()
		m := g.reindex("create: [CREATE UNIQUE INDEX orders_only ON orders (note), \"CREATE INDEX orders_new ON orders (region, country)\"]", "retry: {rounds: 0}")
		a := m.wait()
		require.Equal(g.t, 3, a.code, a.out)
		require.Contains(g.t, a.out, "(twice), 2 rows")
		require.Len(g.t, g.indexes(), len(before)+1, "the other one is there, and nothing else")
		g.exec("UPDATE orders SET note = concat('mended ', id) WHERE id IN (30, 40)")
		m.must("retry", m.id)
		m.succeeds()
		require.Len(g.t, g.indexes(), len(before)+2)
		require.Contains(g.t, fmt.Sprint(g.indexes()), "orders_only")
	})
}
