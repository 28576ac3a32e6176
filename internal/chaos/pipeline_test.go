package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// pipelineSteps are the steps of the pipeline of these tests, all about the table
// orders. None of them may be done twice, nor undone twice: the column and the index
// would be there already or no more, and balance and visits be something else.
var pipelineSteps = []string{"add", "fill", "index", "note"}

// pipelineText is the spec; %[1]s is the connection, and %[2]s to %[5]s are further
// fields of the steps.
const pipelineText = `kind: pipeline
name: four steps
steps:
  - {name: add, ddl: {database: %[1]s, table: orders, alter: "ADD COLUMN tier integer", undo: "ALTER TABLE orders DROP COLUMN tier"}%[2]s}
  - {name: fill, backfill: {database: %[1]s, table: orders, set: {balance: "balance * 100"}, shards: {rows: 1000, parallel: 2}, chunks: {rows: 250}}%[3]s}
  - {name: index, reindex: {database: %[1]s, table: orders, create: "CREATE INDEX orders_country ON orders (country)"}%[4]s}
  - {name: note, sql: {database: %[1]s, statement: "UPDATE orders SET visits = visits + 1 WHERE id = 10", undo: "UPDATE orders SET visits = visits - 1 WHERE id = 10"}%[5]s}
`

// pipeline starts the four steps, with further fields, and returns at once.
func (g *ground) pipeline(fields map[string]string) *pipelineRun {
	g.t.Helper()
	with := []any{g.connection()}
	for _, name := range pipelineSteps {
		more := fields[name]
		if more != "" {
			more = ", " + more
		}
		with = append(with, more)
	}
	return g.runPipeline(fmt.Sprintf(pipelineText, with...))
}

func (g *ground) runPipeline(text string) *pipelineRun {
	g.t.Helper()
	file := filepath.Join(g.t.TempDir(), "pipeline.yaml")
	require.NoError(g.t, os.WriteFile(file, []byte(text), 0o600))
	g.stage.count++
	p := &pipelineRun{&migration{g.stage, fmt.Sprintf("pipeline-%s-%d", g.name, g.stage.count)}, g}
	g.must("run", file, "--id", p.id)
	return p
}

// pipelineRun is a pipeline of a ground.
type pipelineRun struct {
	*migration
	ground *ground
}

// step is how a step stands.
func (p *pipelineRun) step(name string) task.PhaseStatus {
	p.t.Helper()
	steps := p.status().Steps
	i := slices.IndexFunc(steps, func(s task.PhaseStatus) bool { return s.Name == name })
	require.GreaterOrEqual(p.t, i, 0, "%+v", steps)
	return steps[i]
}

func (p *pipelineRun) awaitStep(name, what string, come func(task.PhaseStatus) bool) {
	p.t.Helper()
	await(p.t, limit, "step "+name+" "+what, func() bool { return come(p.step(name)) })
}

// stands compares the table with what is promised of the steps that are done.
func (p *pipelineRun) stands(done ...string) {
	p.t.Helper()
	is := func(name string) int64 {
		if slices.Contains(done, name) {
			return 1
		}
		return 0
	}
	g := p.ground
	require.Equal(g.t, is("add"), g.number("SELECT count(*) FROM information_schema.columns WHERE table_name = 'orders' AND column_name = 'tier' AND table_schema = "+g.schemaNow()), "the column")
	balance, visits := "b.balance", "0"
	if is("fill") == 1 {
		balance = "b.balance * 100"
	}
	if is("note") == 1 {
		visits = "CASE b.id WHEN 10 THEN 1 ELSE 0 END"
	}
	g.became(map[string]string{"balance": balance, "visits": visits})
	require.Equal(g.t, is("index"), g.usable("orders_country"), "the index")
}

// wentBack checks that a pipeline has left nothing behind.
func (p *pipelineRun) wentBack() {
	p.t.Helper()
	p.awaitState(task.RolledBack)
	p.stands()
	require.Zero(p.t, p.ground.number("SELECT count(*) FROM "+p.ground.ledger("claim")), "claims")
	require.Empty(p.t, p.ground.savedTables())
}

// usable is how many usable indexes of a name there are.
func (g *ground) usable(name string) int64 {
	g.t.Helper()
	if g.postgres() {
		return g.number("SELECT count(*) FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid WHERE c.relname = '" + name + "' AND i.indisvalid")
	}
	return g.number("SELECT count(*) FROM information_schema.statistics WHERE index_name = '" + name + "' AND table_schema = database()")
}

// schemaNow is the schema of the tables, in SQL.
func (g *ground) schemaNow() string {
	if g.postgres() {
		return "'public'"
	}
	return "database()"
}

// somebody locks a row of the table, and with it the table's definition, until it is let go.
func (g *ground) somebody() (leaves func()) {
	g.t.Helper()
	tx, err := g.sql.BeginTx(context.Background(), nil)
	require.NoError(g.t, err)
	_, err = tx.ExecContext(context.Background(), "UPDATE orders SET note = 'mine' WHERE id = 10")
	require.NoError(g.t, err)
	return func() { _ = tx.Rollback() }
}

// pipelineJourneys take pipelines through places of each of their steps, in order, and
// between them: at each a worker kills itself, and the next one goes on.
var pipelineJourneys = []string{
	"before step, before change, before build, statement run",
	"after step, after commit, index done, before statement committed",
	"cut-over begins, table cut, built, statement committed",
	"step recorded, step recorded, step recorded, step recorded",
}

// pipelineUndoing are places of the way back, in order.
const pipelineUndoing = "fenced, before undo committed, after restored"

func TestAPipelineWhoseWorkerIsKilledInEveryStepAndBetweenThemDoesEachOnceAndUndoesEachOnce(t *testing.T) {
	t.Parallel()
	for i, places := range pipelineJourneys {
		t.Run(places, func(t *testing.T) {
			t.Parallel()
			onEveryEngine(t, 4000, func(g *ground) {
				var p *pipelineRun
				for place := range strings.SplitSeq(places, ", ") {
					w := g.worker(place + ":1:kill")
					if p == nil {
						p = g.pipeline(nil)
					}
					w.awaitDead()
				}
				w := g.worker()
				p.succeeds()
				p.stands(pipelineSteps...)
				if *rounds > 1 || i == 0 {
					w.kill()
					p.undoneUnderKills()
				}
			})
		})
	}
}

// undoneUnderKills rolls a pipeline back while workers die on the way.
func (p *pipelineRun) undoneUnderKills() {
	p.t.Helper()
	asked := false
	for place := range strings.SplitSeq(pipelineUndoing, ", ") {
		w := p.worker(place + ":1:kill")
		if !asked {
			p.godwit("rollback", p.id) // its answer may be lost with the worker
			asked = true
		}
		w.awaitDead()
	}
	p.worker()
	p.wentBack()
}

// reactions are what may be done about a limit that has passed.
var reactions = []string{"hold", "skip", "rollback", "retry"}

func TestAStepThatHangsOnSomebodysLockEndsAtItsLimitAndIsAnsweredAsItsReactionSays(t *testing.T) {
	t.Parallel()
	for no, name := range pipelineSteps {
		for r, reaction := range reactions {
			if *rounds == 1 && no != r {
				continue // in the short form each step hangs once, and each reaction is taken once
			}
			t.Run(name+" "+reaction, func(t *testing.T) {
				t.Parallel()
				onEveryEngine(t, 2000, func(g *ground) {
					g.worker()
					g.hangs(no, reaction)
				})
			})
		}
	}
}

// hangs runs the pipeline, and holds up the step of this number.
func (g *ground) hangs(no int, reaction string) {
	g.t.Helper()
	name := pipelineSteps[no]
	fields := "approve: true, timeout: 10s, backoff: 1s, on_timeout: " + reaction
	if reaction == "retry" {
		fields += ", retries: 50" // a slow machine may need some after the lock is gone, too
	}
	p := g.pipeline(map[string]string{name: fields})
	p.awaitStep(name, "to be its turn", func(s task.PhaseStatus) bool { return strings.Contains(s.Detail, "godwit approve") })
	leaves := g.somebody()
	defer leaves()
	p.must("approve", p.id, name)
	passed := func(failure *task.Failure) bool {
		return failure != nil && failure.Class == task.Timeout && strings.Contains(failure.Message, "step "+name+" did not end within its timeout of 10s")
	}
	await(g.t, limit, "step "+name+" to pass its limit", func() bool {
		return passed(p.step(name).Error) || passed(p.status().Error) // it may have been undone since
	})
	if reaction == "hold" {
		p.awaitState(task.TimedOut)
		require.Equal(g.t, 4, p.wait().code)
		require.True(g.t, p.status().Attention)
	}
	leaves()
	if reaction == "rollback" {
		p.wentBack()
		return
	}
	await(g.t, limit, "the pipeline to be done", func() bool {
		state := p.state()
		if reaction == "hold" && state == task.TimedOut {
			p.must("retry", p.id, name)
		}
		return state == task.Success
	})
	done := slices.Clone(pipelineSteps)
	if reaction == "skip" {
		done = slices.Delete(done, no, no+1)
		require.Equal(g.t, task.Skipped, p.step(name).State)
		require.Contains(g.t, p.step(name).Detail, "took too long")
	}
	p.stands(done...)
	p.must("rollback", p.id)
	p.wentBack()
}

// apart are four steps that are about a table each, so that of each the way back can
// be barred by itself.
const apart = `kind: pipeline
name: four tables
steps:
  - {name: add, ddl: {database: %[1]s, table: t_add, alter: "ADD COLUMN tier integer", undo: "ALTER TABLE t_add DROP COLUMN tier"}}
  - {name: fill, backfill: {database: %[1]s, table: orders, set: {balance: "balance * 100"}}}
  - {name: index, reindex: {database: %[1]s, create: "CREATE INDEX t_index_b ON t_index (b)"}}
  - {name: note, sql: {database: %[1]s, statement: "INSERT INTO t_note VALUES (1)", undo: "DELETE FROM t_note"}}
`

// obstacle is what bars the way back of a step, and what removes it.
type obstacle struct{ bars, clears []string }

// obstacles are one for each step of apart.
func (g *ground) obstacles() map[string]obstacle {
	away := func(table string) obstacle {
		return obstacle{[]string{"ALTER TABLE " + table + " RENAME TO " + table + "_away"}, []string{"ALTER TABLE " + table + "_away RENAME TO " + table}}
	}
	index := obstacle{[]string{"CREATE TABLE parent (a integer NOT NULL PRIMARY KEY)", "ALTER TABLE t_index ADD CONSTRAINT needs_b FOREIGN KEY (b) REFERENCES parent (a)"},
		[]string{"ALTER TABLE t_index DROP FOREIGN KEY needs_b"}}
	if g.postgres() {
		index = obstacle{[]string{"CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no index is dropped today''; END'",
			"CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('DROP INDEX') EXECUTE FUNCTION refuse()"}, []string{"DROP EVENT TRIGGER refuse"}}
	}
	return map[string]obstacle{"add": away("t_add"), "fill": away("orders"), "index": index, "note": away("t_note")}
}

func TestEveryUndoingThatFailsStopsTheRestAndIsTriedAgainByHand(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, 500, func(g *ground) {
		g.exec("CREATE TABLE t_add (a integer NOT NULL PRIMARY KEY)", "CREATE TABLE t_index (a integer NOT NULL PRIMARY KEY, b integer)", "CREATE TABLE t_note (a integer NOT NULL PRIMARY KEY)")
		g.worker()
		p := g.runPipeline(fmt.Sprintf(apart, g.connection()))
		p.succeeds()
		obstacles := g.obstacles()
		for _, o := range obstacles {
			g.exec(o.bars...)
		}
		p.must("rollback", p.id)
		for i, name := range slices.Backward(pipelineSteps) {
			p.awaitStep(name, "to fail to be undone", func(s task.PhaseStatus) bool {
				require.NotEqual(g.t, task.RolledBack, s.State, "%s was barred", name)
				return strings.Contains(s.Detail, "its undoing failed")
			})
			p.stopsAt(i)
			g.exec(obstacles[name].clears...)
			p.must("retry", p.id, name)
		}
		p.wentBack()
		require.Zero(g.t, g.number("SELECT count(*) FROM t_note"))
		require.Zero(g.t, g.usable("t_index_b"))
		require.Zero(g.t, g.number("SELECT count(*) FROM information_schema.columns WHERE table_name = 't_add' AND column_name = 'tier' AND table_schema = "+g.schemaNow()))
	})
}

// stopsAt checks that those after a step are undone, and nothing before it is touched.
func (p *pipelineRun) stopsAt(no int) {
	p.t.Helper()
	st := p.status()
	require.Equal(p.t, task.Failed, st.State)
	require.True(p.t, st.Attention)
	for i, other := range st.Steps {
		want := task.Success
		if i > no {
			want = task.RolledBack
		}
		require.True(p.t, i == no || other.State == want, "%s is %s", other.Name, other.State)
	}
}

// classic is a backup, a transformation, its verification and a cut-over.
const classic = `kind: pipeline
name: classic
steps:
  - {name: backup, sql: {database: %[1]s, statement: "CREATE TABLE orders_kept AS SELECT * FROM orders", undo: "DROP TABLE orders_kept"}}
  - {name: transform, backfill: {database: %[1]s, table: orders, set: {balance: "balance * 100"}}}
  - {name: verify, sql: {database: %[1]s, query: "SELECT count(*) FROM orders o JOIN orders_kept k ON k.id = o.id WHERE o.balance <> k.balance * 100", expect: 0}}
  - {name: cutover, ddl: {database: %[1]s, table: orders, alter: "%[2]s", strategy: shadow}, approve: true, timeout: 8s, on_timeout: rollback}
`

func TestTheClassicCaseWhoseCutOverHangsOnSomebodysLockGoesBackAtItsLimit(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, 2000, func(g *ground) {
		alter := "MODIFY note varchar(300)"
		if g.postgres() {
			alter = "ALTER COLUMN visits TYPE numeric(20, 0)"
		}
		before := g.definition()
		g.worker()
		p := g.runPipeline(fmt.Sprintf(classic, g.connection(), alter))
		p.awaitStep("cutover", "to be its turn", func(s task.PhaseStatus) bool { return strings.Contains(s.Detail, "godwit approve") })
		leaves := g.somebody()
		defer leaves()
		p.must("approve", p.id, "cutover")
		await(g.t, limit, "the cut-over to pass its limit", func() bool {
			failure := p.status().Error // the step may have been undone since
			return failure != nil && failure.Class == task.Timeout
		})
		leaves()
		p.wentBack()
		require.Equal(g.t, before, g.definition())
		require.Zero(g.t, g.number("SELECT count(*) FROM information_schema.tables WHERE table_name = 'orders_kept' AND table_schema = "+g.schemaNow()))
		require.Contains(g.t, p.wait().out, "within its timeout of 8s")
	})
}

func TestAStatementOfAPipelineThatTheServerCommitsByItselfIsRunOnceAlthoughItsWorkerIsKilled(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, 500, func(g *ground) {
		indexes := func() int64 { // without a name, a second one would be there besides
			if g.postgres() {
				return g.number("SELECT count(*) FROM pg_indexes WHERE tablename = 'orders' AND indexdef LIKE '%(country)'")
			}
			return g.number("SELECT count(*) FROM information_schema.statistics WHERE table_name = 'orders' AND column_name = 'country' AND table_schema = database()")
		}
		statement := "ALTER TABLE orders ADD INDEX (country)"
		if g.postgres() {
			statement = "CREATE INDEX ON orders (country)"
		}
		w := g.worker("statement run:1:kill")
		p := g.runPipeline(fmt.Sprintf("kind: pipeline\nname: alone\nsteps:\n  - {name: index, sql: {database: %s, statement: %q, retry: {rounds: 2, delay: 1s}}}\n", g.connection(), statement))
		w.awaitDead()
		g.worker()
		if g.postgres() { // its transaction has gone with the worker
			p.succeeds()
			require.EqualValues(g.t, 1, indexes())
			return
		}
		p.awaitState(task.Failed)
		require.Contains(g.t, p.step("index").Detail, "its outcome is not known")
		require.EqualValues(g.t, 1, indexes(), "it has been run, and not again")
		name := g.texts("SELECT index_name FROM information_schema.statistics WHERE table_name = 'orders' AND column_name = 'country' AND table_schema = database()")[0]
		g.exec("ALTER TABLE orders DROP INDEX `" + name + "`") // somebody has looked
		p.must("retry", p.id, "index")
		p.succeeds()
		require.EqualValues(g.t, 1, indexes())
	})
}
