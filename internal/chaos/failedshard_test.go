package chaos

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// TestOnlyTheFailedShardIsRetried has one row that the target refuses: the other
// shards end, and when the cause is gone only that shard is read and written.
func TestOnlyTheFailedShardIsRetried(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t)).ownSource(`
		CREATE TABLE accounts (id int NOT NULL PRIMARY KEY, owner varchar(40) NOT NULL, balance decimal(12,2) NOT NULL);
		INSERT INTO accounts SELECT seq, CONCAT('owner ', seq), IF(seq = 31415, -2.72, seq / 3) FROM seq_1_to_60000;
		ANALYZE TABLE accounts`)
	s.onTarget(`CREATE TABLE accounts (id integer PRIMARY KEY, owner varchar(40) NOT NULL, balance numeric(12,2) NOT NULL,
		CONSTRAINT never_negative CHECK (balance >= 0))`)
	w := s.worker()
	m := s.start("tables: [accounts]", "schema: existing", "shards: {rows: 10000, parallel: 2}", "retry: {rounds: 1, delay: 3s}")
	m.awaitState(task.Retrying)
	a := m.wait()
	require.Equal(t, 3, a.code, a.out)
	st := m.status()
	require.Equal(t, task.Failed, st.State)
	require.True(t, st.Attention)
	require.Equal(t, task.Data, st.Error.Class)
	for _, named := range []string{"accounts", "id=31415", "column balance", "-2.72", "never_negative"} {
		require.Contains(t, st.Error.Message, named)
	}
	require.Contains(t, st.WaitingFor, "godwit retry "+m.id)

	failed, others := theFailed(t, m.shards(task.Transform))
	var kept int64
	for _, other := range others {
		kept += other.Rows
	}
	require.Equal(t, kept, one[int64](s, "SELECT count(*) FROM accounts"), "the other shards are done and kept")
	s.onTarget("ALTER TABLE accounts DROP CONSTRAINT never_negative")
	w.stop()

	// The retry is looked at where the copy ends, since verification reads everything.
	g := newGate(t)
	s.worker(g.at("verify begins"))
	before, newest := s.rowsRead("accounts"), one[string](s, "SELECT max(xmin::text::bigint)::text FROM accounts")
	m.must("retry", m.id)
	g.reached()
	missing := 60000 - kept
	read := s.rowsRead("accounts") - before
	require.GreaterOrEqual(t, read, missing)
	require.LessOrEqual(t, read, 2*missing+1000, "one shard is read, once for its bounds and once for its rows")
	require.Equal(t, missing, one[int64](s, "SELECT count(*) FROM accounts WHERE xmin::text::bigint > $1::bigint", newest), "one shard is written")
	after := m.shards(task.Transform)
	require.Equal(t, failed.Attempt+1, after[failed.No-1].Attempt)
	require.Equal(t, missing, after[failed.No-1].Rows)
	for _, other := range others {
		require.Equal(t, other, after[other.No-1], "nobody has touched it")
	}
	g.open()
	m.succeeds()
	s.arrived("accounts")
	m.adds("accounts")
}

// theFailed finds the one failed shard; all others are done.
func theFailed(t *testing.T, shards []shardRow) (failed shardRow, others []shardRow) {
	t.Helper()
	for _, s := range shards {
		if s.State == "failed" {
			failed = s
			continue
		}
		require.Equal(t, "done", s.State)
		others = append(others, s)
	}
	require.Greater(t, len(others), 3)
	require.Equal(t, 2, failed.Attempt, "the first try and one round")
	return failed, others
}

// rowsRead is how many rows of a table the source's server has read, ever.
func (s *stage) rowsRead(table string) int64 {
	s.t.Helper()
	n, err := strconv.ParseInt(s.askSource(fmt.Sprintf("SELECT COALESCE(SUM(rows_read), 0) FROM information_schema.table_statistics WHERE table_schema = '%s' AND table_name = '%s'", s.from, table)), 10, 64)
	require.NoError(s.t, err)
	return n
}
