package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// pipelineJourneys take pipelines through places of each of their steps, in order: at
// each a worker kills itself, and the next one goes on.
var pipelineJourneys = []string{
	"before step, before change, before build, statement run",
	"after step, after commit, index done, before statement committed",
	"cut-over begins, table cut, built, statement committed",
}

// pipelineUndoing are places of the way back, in order.
const pipelineUndoing = "fenced, before undo committed, after restored"

// pipeline starts the four steps on the table orders and returns at once. None of them
// may be done twice: the column and the index would be there already, the balance be
// multiplied again, and the journal have two lines.
func (g *ground) pipeline() *migration {
	g.t.Helper()
	g.exec("CREATE TABLE journal (what varchar(20) NOT NULL)")
	c := g.connection()
	text := fmt.Sprintf(`kind: pipeline
name: four steps
steps:
  - {name: add, ddl: {database: %[1]s, table: orders, alter: "ADD COLUMN tier integer", undo: "DROP COLUMN tier"}}
  - {name: fill, backfill: {database: %[1]s, table: orders, set: {balance: "balance * 100"}, shards: {rows: 2000, parallel: 2}, chunks: {rows: 500}}}
  - {name: index, reindex: {database: %[1]s, table: orders, create: "CREATE INDEX orders_country ON orders (country)"}}
  - {name: note, sql: {database: %[1]s, statement: "INSERT INTO journal VALUES ('done')", undo: "DELETE FROM journal"}}
`, c)
	file := filepath.Join(g.t.TempDir(), "pipeline.yaml")
	require.NoError(g.t, os.WriteFile(file, []byte(text), 0o600))
	g.stage.count++
	m := &migration{g.stage, fmt.Sprintf("pipeline-%s-%d", g.name, g.stage.count)}
	g.must("run", file, "--id", m.id)
	return m
}

// notMultipliedBy is how many rows have not this many times the balance that they had.
func (g *ground) notMultipliedBy(times int) int64 {
	return g.number(fmt.Sprintf("SELECT count(*) FROM orders o JOIN orders_before b ON b.id = o.id WHERE o.balance <> b.balance * %d", times))
}

func TestAPipelineWhoseWorkerIsKilledInEveryStepDoesEachOnceAndUndoesEachOnce(t *testing.T) {
	t.Parallel()
	for _, places := range pipelineJourneys {
		t.Run(places, func(t *testing.T) {
			t.Parallel()
			onEveryEngine(t, 8000, func(g *ground) {
				var m *migration
				for place := range strings.SplitSeq(places, ", ") {
					w := g.worker(place + ":1:kill")
					if m == nil {
						m = g.pipeline()
					}
					w.awaitDead()
				}
				w := g.worker()
				m.succeeds()
				require.Zero(g.t, g.notMultipliedBy(100))
				require.EqualValues(g.t, 1, g.number("SELECT count(*) FROM journal"))
				w.kill()
				g.undoneUnderKills(m)
			})
		})
	}
}

// undoneUnderKills rolls a pipeline back while workers die on the way.
func (g *ground) undoneUnderKills(m *migration) {
	g.t.Helper()
	asked := false
	for place := range strings.SplitSeq(pipelineUndoing, ", ") {
		w := g.worker(place + ":1:kill")
		if !asked {
			g.godwit("rollback", m.id) // its answer may be lost with the worker
			asked = true
		}
		w.awaitDead()
	}
	g.worker()
	m.awaitState(task.RolledBack)
	require.Zero(g.t, g.notMultipliedBy(1))
	require.Zero(g.t, g.number("SELECT count(*) FROM journal"))
	require.Zero(g.t, g.number("SELECT count(*) FROM information_schema.columns WHERE table_name = 'orders' AND column_name = 'tier' AND table_schema = "+g.schemaNow()))
	require.Zero(g.t, g.number("SELECT count(*) FROM "+g.ledger("claim")))
}

// schemaNow is the schema of the tables, in SQL.
func (g *ground) schemaNow() string {
	if g.postgres() {
		return "'public'"
	}
	return "database()"
}
