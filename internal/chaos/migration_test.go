package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"godwit/internal/task"
)

// limit is how long a migration may take here, whatever is done to it.
const limit = 4 * time.Minute

// migration is one that a test has started.
type migration struct {
	*stage
	id string
}

// start starts a migration from a spec's lines and returns at once.
func (s *stage) start(lines ...string) *migration {
	s.t.Helper()
	s.count++
	m := &migration{s, fmt.Sprintf("copy-%s-%d", s.name, s.count)}
	s.must("run", s.spec(lines...), "--id", m.id)
	return m
}

// wait waits for the end with the CLI; the exit code is that of the state.
func (m *migration) wait() answer {
	m.t.Helper()
	return m.godwit("wait", m.id, "--timeout", limit.String())
}

// succeeds waits for SUCCESS.
func (m *migration) succeeds() {
	m.t.Helper()
	a := m.wait()
	require.Zero(m.t, a.code, "%s%s", a.out, a.err)
}

// status is what the CLI tells of it.
func (m *migration) status() task.Status {
	m.t.Helper()
	var st task.Status
	m.read(&st, "status", m.id)
	return st
}

// state is what Temporal's list shows.
func (m *migration) state() task.State {
	description, err := m.temporal.client.DescribeWorkflow(context.Background(), m.id, "")
	if err != nil {
		return ""
	}
	state, _ := description.TypedSearchAttributes.GetKeyword(temporal.NewSearchAttributeKeyKeyword(task.StateAttribute))
	return task.State(state)
}

func (m *migration) awaitState(state task.State) {
	m.t.Helper()
	await(m.t, limit, "state "+string(state), func() bool { return m.state() == state })
}

// signal sends a signal with the input null. After a restart of the server our
// own client may take a while to find it again.
func (m *migration) signal(name string) {
	m.t.Helper()
	await(m.t, time.Minute, "the signal to be taken", func() bool {
		return m.temporal.client.SignalWorkflow(context.Background(), m.id, "", name, nil) == nil
	})
}

// describe is what Temporal knows of it.
func (m *migration) describe() *client.WorkflowExecutionDescription {
	m.t.Helper()
	description, err := m.temporal.client.DescribeWorkflow(context.Background(), m.id, "")
	require.NoError(m.t, err)
	return description
}

// shardRow is a shard as the ledger has it.
type shardRow struct {
	No        int
	Table     string
	Rows      int64
	State     string
	Attempt   int
	Fruitless int
	Epoch     int64
	Owner     *string
}

func (m *migration) shards(phase task.Phase) []shardRow {
	m.t.Helper()
	return ask(m.stage, pgx.RowToStructByPos[shardRow],
		`SELECT "no", "table", "rows", state, attempt, fruitless, epoch, owner FROM godwit.shard WHERE migration = $1 AND phase = $2 ORDER BY "no"`, m.id, string(phase))
}

// rows is how many rows the ledger says have been copied; -1 while it cannot be asked.
func (m *migration) rows() int64 {
	var rows int64
	err := m.db.QueryRow(context.Background(),
		`SELECT coalesce(sum("rows"), 0)::bigint FROM godwit.shard WHERE migration = $1 AND phase = 'transform'`, m.id).Scan(&rows)
	if err != nil {
		return -1
	}
	return rows
}

// awaitMoreRows waits until further rows have been copied since now.
func (m *migration) awaitMoreRows() {
	m.t.Helper()
	var before int64 = -1
	await(m.t, limit, "more rows", func() bool {
		now := m.rows()
		if before < 0 {
			before = now
		}
		return before >= 0 && now > before
	})
}

// eventRow is a line of the audit trail.
type eventRow struct {
	What, Table, Detail, Owner string
	Shard, Attempt             int
	Class, Message             *string
}

func (m *migration) events() []eventRow {
	m.t.Helper()
	return ask(m.stage, pgx.RowToStructByPos[eventRow],
		`SELECT what, "table", detail, owner, shard, attempt, error->>'class', error->>'message' FROM godwit.event WHERE migration = $1 ORDER BY "no"`, m.id)
}

// countEvents is how often something has been noted.
func (m *migration) countEvents(what string) int {
	m.t.Helper()
	return one[int](m.stage, `SELECT count(*) FROM godwit.event WHERE migration = $1 AND what = $2`, m.id, what)
}

// adds checks the ledger's own sums: all shards are done, and their rows are
// those that the source has.
func (m *migration) adds(tables ...string) {
	m.t.Helper()
	for _, phase := range []task.Phase{task.Transform, task.Verify} {
		copied := map[string]int64{}
		for _, s := range m.shards(phase) {
			require.Equal(m.t, "done", s.State, "%s shard %d of %s", phase, s.No, s.Table)
			copied[s.Table] += s.Rows
		}
		for _, table := range tables {
			require.Equal(m.t, m.sourceCount(table), copied["public."+table], "%s: rows of %s in the ledger", phase, table)
		}
	}
}

// one asks the target database for one value.
func one[T any](s *stage, query string, args ...any) T {
	s.t.Helper()
	var value T
	require.NoError(s.t, s.db.QueryRow(context.Background(), query, args...).Scan(&value), query)
	return value
}

// ask asks the target database for rows.
func ask[T any](s *stage, row func(pgx.CollectableRow) (T, error), query string, args ...any) []T {
	s.t.Helper()
	rows, err := s.db.Query(context.Background(), query, args...)
	require.NoError(s.t, err, query)
	found, err := pgx.CollectRows(rows, row)
	require.NoError(s.t, err, query)
	return found
}
