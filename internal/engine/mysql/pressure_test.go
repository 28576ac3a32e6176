package mysql

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
	"godwit/internal/task"
)

// replicated starts a server with a binary log, and a replica of it.
func replicated(t *testing.T, kind sandbox.Kind) (primary, replica *testServer) {
	box := sandboxtest.Start(t, kind, sandbox.Options{Settings: map[string]string{"log_bin": "bin"}, Databases: []string{"shop"}})
	follower, err := box.Replica(t.Context(), sandbox.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, follower.Stop()) })
	primary = &testServer{box: box, kind: kind, database: "shop"}
	primary.Server = New(primary.pool(t, box.User(), box.Password()))
	replica = &testServer{box: follower, kind: kind}
	replica.Server = New(replica.pool(t, follower.User(), follower.Password()))
	return primary, replica
}

func TestAReplicaTellsHowFarItIsBehind(t *testing.T) {
	for _, kind := range []sandbox.Kind{sandbox.MariaDB, sandbox.MySQL} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			primary, replica := replicated(t, kind)
			caughtUp := func() bool {
				lag, err := replica.Lag(t.Context())
				return err == nil && lag == 0
			}
			require.Eventually(t, caughtUp, 30*time.Second, 50*time.Millisecond)
			_, err := primary.Lag(t.Context())
			require.ErrorContains(t, err, "it is not a replica")

			stop, start := "STOP REPLICA SQL_THREAD", "START REPLICA SQL_THREAD"
			require.NoError(t, replica.box.Exec(t.Context(), "", stop))
			require.Eventually(t, func() bool { // the receiver may just be connecting again
				_, err = replica.Lag(t.Context())
				return err != nil && strings.Contains(err.Error(), "it does not replicate (receiving: Yes, applying: No)")
			}, 30*time.Second, 50*time.Millisecond, "%v", err)
			require.NoError(t, replica.box.Exec(t.Context(), "", start))
			require.Eventually(t, caughtUp, 30*time.Second, 50*time.Millisecond)

			delay := "STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 3600; START REPLICA"
			if kind == sandbox.MariaDB {
				delay = "STOP SLAVE; CHANGE MASTER TO MASTER_DELAY = 3600; START SLAVE"
			}
			require.NoError(t, replica.box.Exec(t.Context(), "", delay))
			primary.exec(t, "CREATE TABLE behind (id int PRIMARY KEY)")
			require.Eventually(t, func() bool {
				lag, err := replica.Lag(t.Context())
				return err == nil && lag >= 2*time.Second
			}, 30*time.Second, 50*time.Millisecond)
		})
	}
}

func TestTheLogGrowsWithWhatIsWrittenAndShrinksWhenItIsPurged(t *testing.T) {
	for _, kind := range []sandbox.Kind{sandbox.MariaDB, sandbox.MySQL} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			box := sandboxtest.Start(t, kind, sandbox.Options{Settings: map[string]string{"log_bin": "bin", "binlog_format": "ROW",
				"loose_slave_connections_needed_for_purge": "0"}, Databases: []string{"shop"}})
			s := &testServer{box: box, kind: kind, database: "shop"}
			s.Server = New(s.pool(t, box.User(), box.Password()))
			s.exec(t, "CREATE TABLE filled (id int PRIMARY KEY, a longtext)")
			before, err := s.LogBytes(t.Context())
			require.NoError(t, err)
			s.exec(t, "INSERT INTO filled VALUES (1, REPEAT('x', 6000000))")
			after, err := s.LogBytes(t.Context())
			require.NoError(t, err)
			require.Greater(t, after, before+5_000_000)
			s.exec(t, "FLUSH BINARY LOGS")
			require.Eventually(t, func() bool { // a log that a checkpoint still needs is not purged
				s.exec(t, "PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY")
				purged, err := s.LogBytes(t.Context())
				return err == nil && purged < after-5_000_000
			}, 30*time.Second, 200*time.Millisecond)
		})
	}
}

func TestAnOldTransactionIsSeenWithItsAgeAndItsThread(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE held (id int PRIMARY KEY)", "INSERT INTO held VALUES (1)")
		conn, err := s.db.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.ExecContext(t.Context(), "BEGIN")
		require.NoError(t, err)
		_, err = conn.ExecContext(t.Context(), "UPDATE held SET id = 2")
		require.NoError(t, err)
		const pause = 300 * time.Millisecond // the server's own answer is fresh only when nobody has asked for a tenth of a second
		require.Eventually(t, func() bool {
			age, holder, err := s.Oldest(t.Context())
			return err == nil && holder != "" && age >= time.Second && age < time.Minute // the time zones are not mixed up
		}, 30*time.Second, pause)
		_, err = conn.ExecContext(t.Context(), "ROLLBACK")
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			age, _, err := s.Oldest(t.Context())
			return err == nil && age == 0
		}, 30*time.Second, pause)
	})
}

func TestRunningStatementsAreCountedWithoutTheQuestionItself(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		var done sync.WaitGroup
		defer done.Wait()
		for range 3 {
			done.Go(func() { assert.NoError(t, s.box.Exec(t.Context(), "", "DO SLEEP(2)")) })
		}
		require.Eventually(t, func() bool {
			n, err := s.Active(t.Context())
			return err == nil && n >= 3
		}, 30*time.Second, 50*time.Millisecond)
		done.Wait()
		require.Eventually(t, func() bool {
			n, err := s.Active(t.Context())
			return err == nil && n < 3
		}, 30*time.Second, 50*time.Millisecond)
		waits, err := s.IOWaits(t.Context())
		require.NoError(t, err)
		require.GreaterOrEqual(t, waits, int64(0))
	})
}

func TestAQueryOfAUsersMustReturnOneNumber(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		value, err := s.Number(t.Context(), "SELECT 2.5")
		require.NoError(t, err)
		require.Equal(t, 2.5, value)
		for query, want := range map[string]string{
			"SELECT 1 FROM information_schema.tables WHERE 1 = 0": "returns 0 rows",
			"SELECT 1 UNION SELECT 2":                             "returns 2 rows",
			"SELECT 'much'":                                       `returns "much"`,
			"SELECT nothing":                                      "Unknown column",
		} {
			_, err := s.Number(t.Context(), query)
			require.ErrorContains(t, err, want, query)
		}
	})
}

func TestWhoMayNotLookIsToldTheGrant(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE USER IF NOT EXISTS looker@'%' IDENTIFIED BY 'secret'", "GRANT SELECT ON "+s.database+".* TO looker@'%'")
		logs, replication := "BINLOG MONITOR", "REPLICA MONITOR"
		if !s.isMariaDB() {
			logs, replication = "REPLICATION CLIENT", "REPLICATION CLIENT"
		}
		looker := func() *Server { return New(s.pool(t, "looker", "secret")) } // a session keeps the rights that it began with
		refused := func(err error, privilege string) {
			t.Helper()
			require.ErrorContains(t, err, "GRANT "+privilege+" ON *.* TO 'looker'@'%'")
			require.Equal(t, task.Config, fault.Of(err).Class)
		}
		_, err := looker().Lag(t.Context())
		refused(err, replication)
		_, _, err = looker().Oldest(t.Context())
		refused(err, "PROCESS")
		_, err = looker().LogBytes(t.Context())
		refused(err, "PROCESS")
		s.exec(t, "GRANT PROCESS ON *.* TO 'looker'@'%'")
		_, _, err = looker().Oldest(t.Context())
		require.NoError(t, err)
		_, err = looker().LogBytes(t.Context())
		refused(err, logs)
		s.exec(t, "GRANT "+logs+", "+replication+" ON *.* TO 'looker'@'%'")
		_, err = looker().LogBytes(t.Context())
		require.NoError(t, err)
		_, err = looker().Lag(t.Context())
		require.ErrorContains(t, err, "it is not a replica")
		_, err = looker().Active(t.Context())
		require.NoError(t, err)
	})
}
