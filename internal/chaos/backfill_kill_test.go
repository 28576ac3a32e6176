package chaos

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// closing is a cut-over that adds a column, so that a second time would fail.
const closing = `cutover: {sql: "ALTER TABLE {orders} ADD COLUMN closed integer", undo: "ALTER TABLE {orders} DROP COLUMN closed"}`

// backfillJourneys take backfills through all places at which it matters what
// has been done: at each a worker kills itself, and the next one goes on.
var backfillJourneys = []string{
	"plan made, table created, table cut, before change, after commit, verify begins, after closing",
	"plan committed, table committed, shard claimed, before commit, shard compared, before closing, old values removed",
}

func TestABackfillWhoseWorkerIsKilledAtEveryPlaceChangesEachRowOnce(t *testing.T) {
	t.Parallel()
	for _, places := range backfillJourneys {
		t.Run(places, func(t *testing.T) {
			t.Parallel()
			onEveryEngine(t, 8000, func(g *ground) {
				g.exec("UPDATE orders SET balance = balance + 1", "UPDATE orders_before SET balance = balance + 1")
				var m *backfill
				for place := range strings.SplitSeq(places, ", ") {
					w := g.worker(place + ":1:kill")
					if m == nil {
						// The condition makes a verification with shards of its own.
						m = g.start("set: {balance: balance * -100}", "where: balance > 0", g.qualified(closing), "keep_old: 0s", "shards: {rows: 2000, parallel: 2}", "chunks: {rows: 500}")
					}
					w.awaitDead()
				}
				g.worker()
				m.succeeds()
				m.awaitCleanup()
				g.became(map[string]string{"balance": "b.balance * -100"})
				require.Zero(g.t, g.number("SELECT count(closed) FROM orders"), "the closing statement has been run")
				require.Zero(g.t, m.countShards("transform", "state <> 'done'"))
			})
		})
	}
}

func TestABackfillWhoseWorkersAreKilledInARollbackIsTakenBackWhole(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"in the middle", "after the cut-over"} {
		t.Run(before, func(t *testing.T) {
			t.Parallel()
			onEveryEngine(t, 8000, func(g *ground) {
				definition := g.definition()
				lines := []string{hundredfold, g.qualified(closing), "shards: {rows: 2000, parallel: 2}", "chunks: {rows: 500}"}
				undo := func(place string) *worker { return g.worker(place + ":1:kill") }
				var m *backfill
				var w *worker
				if before == "in the middle" {
					gate := newGate(g.t)
					w = g.worker(fmt.Sprintf("after commit:6:hold=%s", gate.file), "fenced:1:kill")
					m = g.start(lines...)
					gate.reached()
					m.ask("rollback")
					gate.open()
				} else {
					w = undo("fenced")
					m = g.start(lines...)
					m.succeeds()
					g.became(multiplied)
					m.ask("rollback")
				}
				w.awaitDead()
				for _, place := range []string{"before restored", "after restored", "undo committed"} {
					undo(place).awaitDead()
				}
				g.worker()
				require.Equal(g.t, 6, m.wait().code)
				g.isUntouched(m, definition)
			})
		})
	}
}
