package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"

	"godwit/internal/cluster"
	"godwit/internal/cluster/clustertest"
	"godwit/internal/connection"
	"godwit/internal/kind"
	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/workflows"
)

// line is a real worker with a real Temporal and a database of one engine.
type line struct {
	t           *testing.T
	kind        sandbox.Kind
	c           *cluster.Client
	connections *connection.Registry
	db          kind.Database
	worker      sdkworker.Worker
}

// TestPipelines runs pipelines by a real worker against real servers of each engine.
func TestPipelines(t *testing.T) {
	temporal := clustertest.Start(t)
	c := temporal.Dial()
	t.Cleanup(c.Close)
	_, err := cluster.Setup(t.Context(), c.Client, "default", cluster.DefaultRetention)
	require.NoError(t, err)
	for _, k := range sandbox.Kinds() {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			l := newLine(t, c, k)
			for _, s := range []struct {
				name string
				run  func(*testing.T, *line)
			}{
				{"four steps of one table are done and taken back again", fourStepsAndBack},
				{"a step that waits for somebody's lock ends at its limit and is skipped", stuckAndSkipped},
				{"a step that waits for somebody's lock ends at its limit and all is undone", stuckAndRolledBack},
				{"a step that waits for somebody's lock ends at its limit and is held", stuckAndHeld},
				{"a step that waits for somebody's lock ends at its limit and is tried again", stuckAndTriedAgain},
				{"a step that fails is answered by a rollback of all before it", failedAndRolledBack},
				{"ways back are kept until the pipeline is over, and no longer than that", keptUntilItIsOver},
				{"a worker that stops in the middle is followed by another one", workerReplaced},
			} {
				done := t.Run(s.name, func(t *testing.T) {
					l.t = t
					l.table()
					s.run(t, l)
				})
				if !done {
					return // the tables are still its own
				}
			}
		})
	}
}

func newLine(t *testing.T, c *cluster.Client, k sandbox.Kind) *line {
	server := sandboxtest.Start(t, k, sandbox.Options{Databases: []string{"shop"}})
	connections, err := connection.Load("", []string{"GODWIT_CONNECTION_SHOP=" + server.URL("shop")})
	require.NoError(t, err)
	t.Cleanup(connections.Close)
	named, err := connections.Get("shop")
	require.NoError(t, err)
	db, err := kind.OpenDatabase(context.Background(), named)
	require.NoError(t, err)
	l := &line{t: t, kind: k, c: c, connections: connections, db: db}
	l.work()
	t.Cleanup(func() { l.worker.Stop() })
	return l
}

// work starts a worker.
func (l *line) work() {
	l.worker = newWorker(l.c.Client, string(l.kind), 8, l.connections)
	require.NoError(l.t, l.worker.Start())
}

func (l *line) name(table string) string {
	if l.kind == sandbox.Postgres {
		return "public." + table
	}
	return table
}

func (l *line) exec(statement string) {
	l.t.Helper()
	_, err := l.db.Exec(context.Background(), statement)
	require.NoError(l.t, err, statement)
}

func (l *line) answer(query string) string {
	l.t.Helper()
	got, err := kind.Answer(context.Background(), l.db, query)
	require.NoError(l.t, err, query)
	return got
}

// table makes the table anew that pipelines are about.
func (l *line) table() {
	l.exec("DROP TABLE IF EXISTS " + l.name("orders"))
	l.exec("DROP TABLE IF EXISTS " + l.name("done"))
	l.exec("CREATE TABLE " + l.name("orders") + " (id bigint NOT NULL PRIMARY KEY, country char(2) NOT NULL)")
	l.exec("CREATE TABLE " + l.name("done") + " (what varchar(20) NOT NULL)")
	var rows []string
	for id := range 3000 {
		rows = append(rows, fmt.Sprintf("(%d, '%s')", id, []string{"CN", "DE", "FR"}[id%3]))
	}
	l.exec("INSERT INTO " + l.name("orders") + " VALUES " + strings.Join(rows, ", "))
}

// columns are those of the table.
func (l *line) columns() string {
	schema := "shop"
	if l.kind == sandbox.Postgres {
		schema = "public"
	}
	names := []string{}
	rows, err := l.db.Query(context.Background(), "SELECT column_name FROM information_schema.columns WHERE table_schema = '"+schema+"' AND table_name = 'orders' ORDER BY ordinal_position")
	require.NoError(l.t, err)
	defer rows.Close() //nolint:errcheck // it is only read
	for rows.Next() {
		var name string
		require.NoError(l.t, rows.Scan(&name))
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// classic is the four steps; more are fields of the backfill's step.
func (l *line) classic(more string) string {
	return `kind: pipeline
name: split-region
retry: {delay: 1s}
steps:
  - {name: add, ddl: {database: shop, table: orders, alter: "ADD COLUMN region varchar(16)", undo: "ALTER TABLE orders DROP COLUMN region"}}
  - {name: fill, backfill: {database: shop, table: orders, set: {region: "CASE WHEN country = 'CN' THEN 'apac' ELSE 'eu' END"}, where: "region IS NULL", retry: {attempts: 1, rounds: 0}}` + more + `}
  - {name: index, reindex: {database: shop, table: orders, create: "CREATE INDEX orders_region ON orders (region)"}}
  - {name: note, sql: {database: shop, statement: "INSERT INTO done VALUES ('split')", query: "SELECT count(*) FROM orders WHERE region IS NULL", undo: "DELETE FROM done"}}
`
}

// start starts a pipeline.
func (l *line) start(id, text string) {
	l.t.Helper()
	s, err := spec.Parse("p.yaml", []byte(text))
	require.NoError(l.t, err, text)
	raw, err := json.Marshal(s)
	require.NoError(l.t, err)
	_, err = l.c.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{ID: id, TaskQueue: string(l.kind)}, task.PipelineWorkflow,
		workflows.PipelineInput{Spec: raw, Ledger: "shop", Target: "shop"})
	require.NoError(l.t, err)
}

func (l *line) status(id string) (st task.Status, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	value, err := l.c.QueryWorkflow(ctx, id, "", task.StatusQuery)
	if err == nil {
		err = value.Get(&st)
	}
	return st, err
}

// until waits until a pipeline is as wanted.
func (l *line) until(id string, want func(task.Status) bool) task.Status {
	l.t.Helper()
	var st task.Status
	require.Eventually(l.t, func() bool {
		var err error
		st, err = l.status(id)
		return err == nil && (want(st) || st.State == task.Failed) // which does not end by itself
	}, 90*time.Second, 100*time.Millisecond, "%v", shownSteps{&st})
	require.True(l.t, want(st), "%v", shownSteps{&st})
	return st
}

// shownSteps is how a pipeline stands, for the message of a test that waits in vain.
type shownSteps struct{ st *task.Status }

func (s shownSteps) String() string {
	text, err := json.MarshalIndent(s.st, "", " ")
	return string(text) + fmt.Sprint(errors.Join(err))
}

func is(state task.State) func(task.Status) bool {
	return func(st task.Status) bool { return st.State == state }
}

func (l *line) update(id, name, step string) {
	l.t.Helper()
	handle, err := l.c.UpdateWorkflow(context.Background(), client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: name,
		Args: []any{task.StepRequest{Step: step}}, WaitForStage: client.WorkflowUpdateStageCompleted})
	require.NoError(l.t, err)
	require.NoError(l.t, handle.Get(context.Background(), nil))
}

func (l *line) id(name string) string { return "pipeline-" + string(l.kind) + "-" + name }

func stepStates(st task.Status) (list []task.State) {
	for _, s := range st.Steps {
		list = append(list, s.State)
	}
	return list
}

func fourStepsAndBack(t *testing.T, l *line) {
	id := l.id("back")
	before := l.columns()
	l.start(id, l.classic(""))
	l.until(id, is(task.Success))
	require.Equal(t, "id country region", l.columns())
	require.Equal(t, "1000", l.answer("SELECT count(*) FROM "+l.name("orders")+" WHERE region = 'apac'"))
	require.Equal(t, "1", l.answer("SELECT count(*) FROM "+l.name("done")))
	require.Eventually(t, func() bool {
		return l.answer("SELECT state FROM "+l.ledger("migration")+" WHERE id = '"+id+"'") == "SUCCESS"
	}, 30*time.Second, 50*time.Millisecond, "the ledger is told besides")
	require.Equal(t, "4", l.answer("SELECT count(*) FROM "+l.ledger("item")+" WHERE migration = '"+id+"' AND state = 'SUCCESS'"))

	l.update(id, task.RollbackUpdate, "")
	l.until(id, is(task.RolledBack))
	require.Equal(t, before, l.columns())
	require.Equal(t, "1", l.answer("SELECT count(*) FROM "+l.ledger("event")+" WHERE migration = '"+id+".index' AND what = 'taken back'"), "the index was dropped, and not lost with its column")
	require.Equal(t, "0", l.answer("SELECT count(*) FROM "+l.name("done")))
	require.Equal(t, "0", l.answer("SELECT count(*) FROM "+l.ledger("claim")), "nothing is held any more")
}

func (l *line) ledger(table string) string {
	if l.kind == sandbox.Postgres {
		return "godwit." + table
	}
	return "_godwit_" + table
}

// hold takes a lock on all rows of the table until it is let go.
func (l *line) hold() (release func()) {
	l.t.Helper()
	tx, err := l.db.Begin(context.Background())
	require.NoError(l.t, err)
	_, err = tx.Exec(context.Background(), "UPDATE "+l.name("orders")+" SET country = 'XX' WHERE id < 100")
	require.NoError(l.t, err)
	return func() { _ = tx.Rollback(context.Background()) }
}

// stuck starts a pipeline whose second step meets a lock that somebody holds, with a
// limit of four seconds. The lock is let go when the step has been given up.
func (l *line) stuck(id, reaction string, givenUp func(task.Status) bool) task.Status {
	l.t.Helper()
	text := strings.Replace(l.classic(", approve: true, timeout: 4s, backoff: 1s, on_timeout: "+reaction), "SELECT count(*) FROM orders WHERE region IS NULL", "SELECT 0", 1)
	l.start(id, text)
	l.until(id, func(st task.Status) bool { return st.Steps[0].State == task.Success })
	release := l.hold()
	defer release()
	l.update(id, task.ApproveUpdate, "fill")
	return l.until(id, givenUp)
}

// left is how many rows the second step has not changed.
func (l *line) left() string {
	return l.answer("SELECT count(*) FROM " + l.name("orders") + " WHERE region IS NULL")
}

func stuckAndSkipped(t *testing.T, l *line) {
	id := l.id("skipped")
	st := l.stuck(id, "skip", func(st task.Status) bool { return st.Steps[1].State == task.Skipped })
	require.Contains(t, st.Steps[1].Detail, "took too long")
	st = l.until(id, is(task.Success))
	require.Equal(t, []task.State{task.Success, task.Skipped, task.Success, task.Success}, stepStates(st))
	require.Equal(t, "3000", l.left(), "what was done of it has been undone")
	l.update(id, task.RollbackUpdate, "")
	l.until(id, is(task.RolledBack))
}

func stuckAndRolledBack(t *testing.T, l *line) {
	before := l.columns()
	id := l.id("rolled-back")
	l.stuck(id, "rollback", func(st task.Status) bool {
		return strings.Contains(st.WaitingFor, "its undoing") || st.State == task.RolledBack
	})
	st := l.until(id, is(task.RolledBack))
	require.Equal(t, []task.State{task.RolledBack, task.RolledBack, task.Pending, task.Pending}, stepStates(st))
	require.Equal(t, before, l.columns())
}

func stuckAndHeld(t *testing.T, l *line) {
	id := l.id("held")
	st := l.stuck(id, "hold", is(task.TimedOut))
	require.True(t, st.Attention)
	l.until(id, func(st task.Status) bool {
		if st.State == task.TimedOut { // again, where the machine is slow
			l.update(id, task.RetryUpdate, "fill")
		}
		return st.State == task.Success
	})
	require.Equal(t, "0", l.left())
	l.update(id, task.RollbackUpdate, "")
	l.until(id, is(task.RolledBack))
}

func stuckAndTriedAgain(t *testing.T, l *line) {
	id := l.id("again")
	l.stuck(id, "retry, retries: 50", func(st task.Status) bool { return st.Steps[1].State == task.Retrying })
	l.until(id, is(task.Success))
	require.Equal(t, "0", l.left())
	l.update(id, task.RollbackUpdate, "")
	l.until(id, is(task.RolledBack))
}

func failedAndRolledBack(t *testing.T, l *line) {
	id := l.id("failed")
	before := l.columns()
	text := strings.Replace(l.classic(""), "query: \"SELECT count(*) FROM orders WHERE region IS NULL\"", "query: \"SELECT 7\", retry: {attempts: 1, rounds: 0}", 1)
	l.start(id, strings.Replace(text, "undo: \"DELETE FROM done\"}", "undo: \"DELETE FROM done\"}, on_failure: rollback", 1))
	st := l.until(id, is(task.RolledBack))
	require.Equal(t, []task.State{task.RolledBack, task.RolledBack, task.RolledBack, task.RolledBack}, stepStates(st))
	require.Contains(t, st.Error.Message, "says 7 instead of 0")
	require.Equal(t, before, l.columns())
	require.Equal(t, "0", l.answer("SELECT count(*) FROM "+l.name("done")))
}

// keptUntilItIsOver has an online copy and a statement whose times are much shorter than
// what an operator takes.
func keptUntilItIsOver(t *testing.T, l *line) {
	text := `kind: pipeline
name: kept
steps:
  - {name: add, ddl: {database: shop, table: orders, alter: "ADD COLUMN region varchar(16)", strategy: shadow, keep_old: 2s}}
  - {name: note, sql: {database: shop, statement: "INSERT INTO done VALUES ('kept')", undo: "DELETE FROM done", keep_old: 2s}}
  - {name: last, sql: {database: shop, statement: "INSERT INTO done VALUES ('LAST')", retry: {attempts: 1, rounds: 0}}, approve: true, on_failure: rollback}
`
	before := l.columns()
	wait := func(id string) {
		l.until(id, func(st task.Status) bool { return st.Attention && st.Steps[1].State == task.Success })
		time.Sleep(6 * time.Second)
		l.exec("INSERT INTO " + l.name("orders") + " (id, country) VALUES (9001, 'NO')")
		for _, step := range []string{"add", "note"} {
			st, err := l.status(task.StepID(id, step))
			require.NoError(t, err)
			require.Equal(t, []any{task.Success, (*time.Time)(nil)}, []any{st.State, st.KeptUntil})
			require.Contains(t, st.WaitingFor, "pipeline "+id+" to be over")
		}
		require.Equal(t, "2", l.kept(id))
	}
	back := l.id("kept-back")
	l.start(back, strings.Replace(text, "'LAST'", "'more than the twenty characters that fit'", 1))
	wait(back)
	l.update(back, task.ApproveUpdate, "last")
	l.until(back, is(task.RolledBack))
	require.Equal(t, before, l.columns())
	require.Equal(t, "3001", l.answer("SELECT count(*) FROM "+l.name("orders")), "the old table is up to date")
	require.Equal(t, "0", l.answer("SELECT count(*) FROM "+l.name("done")))
	l.exec("DELETE FROM " + l.name("orders") + " WHERE id = 9001")

	on := l.id("kept-on")
	l.start(on, text)
	wait(on)
	l.update(on, task.ApproveUpdate, "last")
	l.until(on, is(task.Success))
	st := l.until(on, func(st task.Status) bool { return st.EndedAt != nil })
	require.GreaterOrEqual(t, st.EndedAt.Sub(*st.Steps[2].EndedAt), 2*time.Second, "the time begins when all is done")
	require.Equal(t, "0", l.kept(on))
	require.Equal(t, "0", l.answer("SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'orders%gw%'"))
	require.Equal(t, "0", l.answer("SELECT count(*) FROM "+l.ledger("claim")))
}

// kept is how many things a pipeline's steps keep.
func (l *line) kept(id string) string {
	return l.answer("SELECT count(*) FROM " + l.ledger("backup") + " WHERE migration LIKE '" + id + ".%' AND state = 'kept'")
}

func workerReplaced(t *testing.T, l *line) {
	id := l.id("replaced")
	l.start(id, l.classic(""))
	for i := range 3 {
		l.until(id, func(st task.Status) bool {
			return st.Steps[i].State == task.Success || st.Steps[i].State == task.Running
		})
		l.worker.Stop()
		l.work()
	}
	l.until(id, is(task.Success))
	require.Equal(t, "1", l.answer("SELECT count(*) FROM "+l.name("done")))
	l.update(id, task.CleanupUpdate, "")
	l.until(id, func(st task.Status) bool { return st.EndedAt != nil })
	require.Equal(t, "0", l.answer("SELECT count(*) FROM "+l.ledger("claim")))
}
