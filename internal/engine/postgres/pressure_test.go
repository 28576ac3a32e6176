package postgres

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"godwit/internal/connection"
	"godwit/internal/fault"
	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
	"godwit/internal/task"
)

// reach opens a pool on a server of a test's own.
func reach(t *testing.T, s *sandbox.Server) *Server {
	registry, err := connection.Load("", []string{"GODWIT_CONNECTION_TEST=" + s.URL("postgres")})
	require.NoError(t, err)
	t.Cleanup(registry.Close)
	named, err := registry.Get("test")
	require.NoError(t, err)
	pool, err := named.Postgres(t.Context())
	require.NoError(t, err)
	return New(pool)
}

func TestAStandbyAndItsPrimaryTellHowFarItIsBehind(t *testing.T) {
	first := sandboxtest.Start(t, sandbox.Postgres, sandbox.Options{})
	second, err := first.Replica(t.Context(), sandbox.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, second.Stop()) })
	primary, standby := reach(t, first), reach(t, second)

	following := func() *Follower {
		followers, _, err := primary.Followers(t.Context())
		require.NoError(t, err)
		if len(followers) != 1 {
			return nil
		}
		return &followers[0]
	}
	require.Eventually(t, func() bool {
		f := following()
		lag, err := standby.Lag(t.Context())
		return f != nil && f.Attached && f.Behind == 0 && err == nil && lag == 0
	}, 30*time.Second, 50*time.Millisecond)
	require.Contains(t, following().Name, "standby_")

	execute(t, standby, "SELECT pg_wal_replay_pause()")
	execute(t, primary, "CREATE TABLE public.behind (id int)")
	require.Eventually(t, func() bool {
		lag, err := standby.Lag(t.Context())
		return err == nil && lag > time.Second && following().Behind > 0
	}, 30*time.Second, 50*time.Millisecond)
	execute(t, standby, "SELECT pg_wal_replay_resume()")
	require.Eventually(t, func() bool { return following().Behind == 0 }, 30*time.Second, 50*time.Millisecond)

	_, err = primary.Lag(t.Context())
	require.ErrorContains(t, err, "it is not a standby")
	require.NoError(t, first.Kill())
	require.Eventually(t, func() bool {
		_, err := standby.Lag(t.Context())
		return err != nil && err.Error() == "it receives no WAL from its primary"
	}, 30*time.Second, 50*time.Millisecond)
}

func TestASlotThatNobodyReadsIsAFollowerAndKeepsTheWAL(t *testing.T) {
	s := reach(t, sandboxtest.Start(t, sandbox.Postgres, sandbox.Options{Settings: map[string]string{"max_wal_size": "64MB", "min_wal_size": "32MB"}}))
	before, err := s.LogBytes(t.Context())
	require.NoError(t, err)
	execute(t, s, "SELECT pg_create_physical_replication_slot('forgotten', true)",
		"CREATE TABLE public.filled AS SELECT repeat(md5(n::text), 30) AS a FROM generate_series(1, 100000) n", "SELECT pg_switch_wal()", "CHECKPOINT")
	followers, position, err := s.Followers(t.Context())
	require.NoError(t, err)
	require.Len(t, followers, 1)
	require.Equal(t, "slot forgotten", followers[0].Name)
	require.False(t, followers[0].Attached)
	require.Greater(t, followers[0].Behind, int64(50<<20))
	require.Greater(t, position, followers[0].Position)
	after, err := s.LogBytes(t.Context())
	require.NoError(t, err)
	require.Greater(t, after, before+50<<20)
	execute(t, s, "SELECT pg_drop_replication_slot('forgotten')", "CHECKPOINT")
	freed, err := s.LogBytes(t.Context())
	require.NoError(t, err)
	require.Less(t, freed, after-40<<20)
}

func TestWALThatIsNotArchivedQueuesUp(t *testing.T) {
	s := reach(t, sandboxtest.Start(t, sandbox.Postgres, sandbox.Options{Settings: map[string]string{"archive_mode": "on", "archive_command": "false"}}))
	for range 3 {
		execute(t, s, "SELECT pg_logical_emit_message(false, 'test', 'x')", "SELECT pg_switch_wal()")
	}
	require.Eventually(t, func() bool {
		queue, err := s.ArchiveQueue(t.Context())
		return err == nil && queue >= 3
	}, 30*time.Second, 50*time.Millisecond)
	_, err := open(t).ArchiveQueue(t.Context())
	require.ErrorContains(t, err, "archive_mode is off")
}

func TestSessionsOfOthersAreCountedByWhatTheyDo(t *testing.T) {
	s := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { assert.Error(t, box.Exec(ctx, "", "BEGIN; SELECT pg_sleep(60)")) })
	require.Eventually(t, func() bool {
		n, err := s.Active(t.Context())
		age, holder, old := s.Oldest(t.Context())
		return err == nil && n == 1 && old == nil && age > time.Second && holder != ""
	}, 30*time.Second, 50*time.Millisecond)
	cancel()
	done.Wait()
	require.Eventually(t, func() bool {
		n, err := s.Active(t.Context())
		age, _, old := s.Oldest(t.Context())
		return err == nil && n == 0 && old == nil && age == 0
	}, 30*time.Second, 50*time.Millisecond)
	waits, err := s.IOWaits(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, waits, int64(0))
}

func TestAQueryOfAUsersMustReturnOneNumber(t *testing.T) {
	s := open(t)
	for _, query := range []string{"SELECT 2.5", "SELECT 2.5::float4", "SELECT 2.5::numeric"} {
		value, err := s.Number(t.Context(), query)
		require.NoError(t, err)
		require.Equal(t, 2.5, value, query)
	}
	for _, query := range []string{"SELECT 2::bigint", "SELECT 2::int", "SELECT 2::smallint", "SELECT count(*) FROM (VALUES (1), (2)) v"} {
		value, err := s.Number(t.Context(), query)
		require.NoError(t, err)
		require.Equal(t, 2.0, value, query)
	}
	for query, want := range map[string]string{
		"SELECT 1 WHERE false": "returns 0 rows", "VALUES (1), (2)": "returns 2 rows", "SELECT 1, 2": "returns 2 columns",
		"SELECT 'much'": "must return a number", "SELECT nothing": "does not exist", "SELECT NULL::int": "must return a number",
	} {
		_, err := s.Number(t.Context(), query)
		require.ErrorContains(t, err, want, query)
	}
}

func TestWhoMayNotLookIsToldTheGrant(t *testing.T) {
	database, role := newDatabase(t), newRole(t, "")
	s := connect(t, database, role)
	readings := []func() error{
		func() error { _, err := s.Active(t.Context()); return err },
		func() error { _, err := s.IOWaits(t.Context()); return err },
		func() error { _, _, err := s.Oldest(t.Context()); return err },
		func() error { _, err := s.LogBytes(t.Context()); return err },
		func() error { _, _, err := s.Followers(t.Context()); return err },
	}
	for _, reading := range readings {
		err := reading()
		require.ErrorContains(t, err, `GRANT pg_monitor TO "`+role+`"`)
		require.Equal(t, task.Config, fault.Of(err).Class)
	}
	require.NoError(t, box.Exec(t.Context(), "", "GRANT pg_monitor TO "+role))
	for i, reading := range slices.All(readings) {
		require.NoError(t, reading(), i)
	}
}
