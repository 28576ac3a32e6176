package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"godwit/internal/task"
)

// backfill is a migration of a ground. What a migration reads from the ledger
// of a copy, it reads from that of its own database.
type backfill struct {
	*migration
	ground *ground
}

// rows is how many rows the ledger says have been looked at; -1 while it
// cannot be asked.
func (m *backfill) rows() int64 {
	var rows int64
	query := fmt.Sprintf("SELECT coalesce(sum(s.rows), 0) FROM %s s WHERE s.migration = '%s' AND s.phase = 'transform'", m.ground.ledger("shard"), m.id)
	if err := m.ground.sql.QueryRowContext(context.Background(), query).Scan(&rows); err != nil {
		return -1
	}
	return rows
}

// awaitMoreRows waits until further rows have been looked at since now.
func (m *backfill) awaitMoreRows() {
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

// countShards counts the shards of a phase by a condition.
func (m *backfill) countShards(phase task.Phase, condition string) int64 {
	m.t.Helper()
	return m.ground.number(fmt.Sprintf("SELECT count(*) FROM %s WHERE migration = '%s' AND phase = '%s' AND (%s)", m.ground.ledger("shard"), m.id, phase, condition))
}

// countEvents is how often something has been noted.
func (m *backfill) countEvents(what string) int64 {
	m.t.Helper()
	return m.ground.number(fmt.Sprintf("SELECT count(*) FROM %s WHERE migration = '%s' AND what = '%s'", m.ground.ledger("event"), m.id, what))
}

// details are the details of the events of a name.
func (m *backfill) details(what string) []string {
	m.t.Helper()
	return m.ground.texts(fmt.Sprintf("SELECT detail FROM %s WHERE migration = '%s' AND what = '%s'", m.ground.ledger("event"), m.id, what))
}

// letsRun lifts the limit on rows per second; after an outage it takes a while
// until the worker is heard of again.
func (m *backfill) letsRun() {
	m.t.Helper()
	await(m.t, 3*time.Minute, "the limit to be lifted", func() bool { return m.godwit("throttle", m.id, "--rows-per-second", "0").code == 0 })
}

// hasLetGo checks that nothing of a backfill that ended is left at work.
func (m *backfill) hasLetGo() {
	m.t.Helper()
	require.Zero(m.t, m.ground.number(fmt.Sprintf("SELECT count(*) FROM %s WHERE migration = '%s'", m.ground.ledger("claim"), m.id)), "claims")
	require.Zero(m.t, m.ground.number(fmt.Sprintf("SELECT count(*) FROM %s WHERE migration = '%s' AND state = 'running'", m.ground.ledger("shard"), m.id)), "shards at work")
}

// awaitCleanup waits until a migration has removed what it kept.
func (m *backfill) awaitCleanup() {
	m.t.Helper()
	await(m.t, limit, "the cleanup", func() bool { return m.describe().Status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED })
	require.Empty(m.t, m.ground.savedTables())
	m.hasLetGo()
}

// pauseTakes pauses it and tells how long after the signal the last rows were
// written and the state was shown.
func (m *backfill) pauseTakes() (lastRows, paused time.Duration) {
	m.t.Helper()
	m.signalWithNothing(task.PauseSignal)
	asked := time.Now()
	last, rows := asked, m.rows()
	for m.state() != task.Paused {
		if now := m.rows(); now != rows {
			last, rows = time.Now(), now
		}
		require.Less(m.t, time.Since(asked), 20*time.Second, "the pause did not come")
		time.Sleep(20 * time.Millisecond)
	}
	require.Less(m.t, rows, m.ground.size, "the pause came in the middle")
	return last.Sub(asked), time.Since(asked)
}
