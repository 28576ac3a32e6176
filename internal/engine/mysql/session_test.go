package mysql

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/connection"
	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// connect opens a pool as the worker does, as the superuser or another user,
// whose password is "secret".
func (s *testServer) connect(t testing.TB, user, options string) *Server {
	t.Helper()
	address, err := url.Parse(s.box.URL(s.database))
	require.NoError(t, err)
	if user != "" {
		address.User = url.UserPassword(user, "secret")
	}
	address.RawQuery = options
	registry, err := connection.Load("", []string{"GODWIT_CONNECTION_TEST=" + address.String()})
	require.NoError(t, err)
	t.Cleanup(registry.Close)
	named, err := registry.Get("test")
	require.NoError(t, err)
	pool, err := named.MySQL(t.Context())
	require.NoError(t, err)
	return New(pool)
}

// newUser makes a user, and leaves it without any privilege but the given ones.
func (s *testServer) newUser(t testing.TB, grants ...string) string {
	t.Helper()
	user := s.database + "_user"
	statements := []string{"CREATE USER " + user + " IDENTIFIED BY 'secret'"}
	for _, grant := range grants {
		statements = append(statements, "GRANT "+grant+" TO "+user)
	}
	s.exec(t, statements...)
	t.Cleanup(func() { require.NoError(t, s.box.Exec(context.Background(), "", "DROP USER "+user)) })
	return user
}

func acquire(t testing.TB, s *Server) *Conn {
	t.Helper()
	conn, err := s.Acquire(t.Context())
	require.NoError(t, err)
	t.Cleanup(conn.Release)
	return conn
}

func run(t testing.TB, q engine.Querier, statement string, args ...any) int64 {
	t.Helper()
	n, err := q.Exec(t.Context(), statement, args...)
	require.NoError(t, err, statement)
	return n
}

// ask reads one value as text.
func ask(t testing.TB, q engine.Querier, query string, args ...any) string {
	t.Helper()
	found, err := q.Query(t.Context(), query, args...)
	require.NoError(t, err, query)
	require.True(t, found.Next(), query)
	var value string
	require.NoError(t, found.Scan(&value))
	require.NoError(t, found.Close())
	return value
}

func requireAllGivenBack(t testing.TB, s *Server) {
	t.Helper()
	require.Eventually(t, func() bool { return s.db.Stats().InUse == 0 }, 30*time.Second, time.Millisecond)
}

// onBothWritten runs a test with a pool as the worker has it, and a table t.
func onBothWritten(t *testing.T, test func(t *testing.T, box *testServer, s *Server)) {
	onBoth(t, func(t *testing.T, box *testServer) {
		box.exec(t, "CREATE TABLE t (a int PRIMARY KEY, b int NOT NULL DEFAULT 0) ENGINE=InnoDB", "INSERT INTO t (a) VALUES (1), (2), (3)")
		test(t, box, box.connect(t, "", ""))
	})
}

func TestAFrozenWorkersSessionIsKilledAndCannotCommit(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		zombie := acquire(t, s)
		tx, err := zombie.Begin(t.Context())
		require.NoError(t, err)
		run(t, tx, "INSERT INTO t (a) VALUES (10)")
		require.NoError(t, s.KillSession(t.Context(), zombie.Session()))
		err = tx.Commit(t.Context())
		require.Error(t, err)
		class, known := Classify(err)
		require.True(t, known)
		require.Equal(t, task.Transient, class)
		require.Equal(t, "3", ask(t, s, "SELECT count(*) FROM t"))
		require.NoError(t, tx.Rollback(t.Context()), "there is nothing left to roll back")
		zombie.Release()
		requireAllGivenBack(t, s)
	})
}

func TestAKilledSessionHasLetGoOfItsLocksWhenKillReturns(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		run(t, s, "INSERT INTO t (a) WITH RECURSIVE n AS (SELECT 100 v UNION ALL SELECT v + 1 FROM n WHERE v < 1000) SELECT v FROM n")
		for range 10 {
			zombie := acquire(t, s)
			tx, err := zombie.Begin(t.Context())
			require.NoError(t, err)
			run(t, tx, "UPDATE t SET b = b + 1")
			require.NoError(t, s.KillSession(t.Context(), zombie.Session()))
			heir, err := s.Begin(t.Context())
			require.NoError(t, err)
			_, err = heir.Exec(t.Context(), "SELECT a FROM t FOR UPDATE NOWAIT")
			require.NoError(t, err)
			require.NoError(t, heir.Rollback(t.Context()))
			zombie.Destroy()
		}
		require.Equal(t, "0", ask(t, s, "SELECT sum(b) FROM t"))
	})
}

func TestASessionInTheMiddleOfAStatementIsKilled(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		zombie := acquire(t, s)
		tx, err := zombie.Begin(t.Context())
		require.NoError(t, err)
		ended := make(chan error)
		go func() {
			_, err := tx.Exec(context.Background(), "UPDATE t SET b = 1 WHERE sleep(20) = 0")
			ended <- err
		}()
		require.Eventually(t, func() bool { return strings.Contains(processes(t, s), "sleep(20)") }, 30*time.Second, 5*time.Millisecond)
		require.NoError(t, s.KillSession(t.Context(), zombie.Session()))
		require.NotContains(t, processes(t, s), "sleep(20)")
		class, known := Classify(<-ended)
		require.True(t, known)
		require.Equal(t, task.Transient, class)
	})
}

// TestASessionThatWaitsForItsFrozenClientIsKilled: it writes rows that nobody reads.
func TestASessionThatWaitsForItsFrozenClientIsKilled(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		zombie := acquire(t, s)
		tx, err := zombie.Begin(t.Context())
		require.NoError(t, err)
		run(t, tx, "UPDATE t SET b = 1")
		_, err = tx.Query(t.Context(), "SELECT repeat('x', 1000000) FROM t a, t b, t c, t d, t e, t f")
		require.NoError(t, err)
		require.NoError(t, s.KillSession(t.Context(), zombie.Session()))
		require.EqualValues(t, 3, run(t, s, "UPDATE t SET b = 2 WHERE b = 0"))
	})
}

// processes are the statements that run at the server.
func processes(t testing.TB, s *Server) string {
	t.Helper()
	found, err := s.db.QueryContext(t.Context(), "SHOW FULL PROCESSLIST")
	require.NoError(t, err)
	defer found.Close()
	names, err := found.Columns()
	require.NoError(t, err)
	var statements strings.Builder
	for found.Next() {
		row := make([]any, len(names))
		var info any
		for i := range row {
			row[i] = new(any)
			if names[i] == "Info" {
				row[i] = &info
			}
		}
		require.NoError(t, found.Scan(row...))
		fmt.Fprintf(&statements, "%s\n", info)
	}
	require.NoError(t, found.Err())
	return statements.String()
}

func TestKillingASessionThatIsGoneIsNoError(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		conn := acquire(t, s)
		session := conn.Session()
		conn.Destroy()
		require.NoError(t, s.KillSession(t.Context(), session))
		require.NoError(t, s.KillSession(t.Context(), session))
		require.NoError(t, s.KillSession(t.Context(), "1@neverthere"))
		require.ErrorContains(t, s.KillSession(t.Context(), "nonsense"), "nonsense")
	})
}

func TestAnotherSessionWithTheSameNumberIsLeftAlone(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		conn := acquire(t, s)
		number, _, _ := strings.Cut(conn.Session(), "@")
		require.NoError(t, s.KillSession(t.Context(), number+"@ofanothertime"))
		require.Equal(t, "3", ask(t, conn, "SELECT count(*) FROM t"))
	})
}

func TestAReleasedSessionIsNotKilledByItsOldName(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		s.db.SetMaxOpenConns(2)
		first := acquire(t, s)
		old := first.Session()
		first.Release()
		second := acquire(t, s)
		require.NotEqual(t, old, second.Session())
		require.NoError(t, s.KillSession(t.Context(), old))
		require.Equal(t, "3", ask(t, second, "SELECT count(*) FROM t"))
	})
}

func TestASessionOfTheSameUserIsKilledWithoutPrivilegesAndNoOther(t *testing.T) {
	onBothWritten(t, func(t *testing.T, box *testServer, s *Server) {
		user := box.newUser(t, "SELECT ON "+box.database+".*")
		plain := box.connect(t, user, "")
		require.NoError(t, plain.KillSession(t.Context(), acquire(t, box.connect(t, user, "")).Session()))
		mighty := acquire(t, s)
		err := plain.KillSession(t.Context(), mighty.Session())
		require.ErrorContains(t, err, "CONNECTION_ADMIN")
		require.Equal(t, task.Config, fault.Of(err).Class)
		require.Equal(t, "3", ask(t, mighty, "SELECT count(*) FROM t"))
	})
}

func TestABrokenOffStatementHasLetGoOfItsLocksAfterTheRollback(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		conn := acquire(t, s)
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		run(t, tx, "UPDATE t SET b = 1")
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err = tx.Exec(ctx, "UPDATE t SET b = 2 WHERE sleep(20) = 0")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, tx.Rollback(ctx))
		heir, err := s.Begin(t.Context())
		require.NoError(t, err)
		_, err = heir.Exec(t.Context(), "SELECT a FROM t FOR UPDATE NOWAIT")
		require.NoError(t, err)
		require.NoError(t, heir.Rollback(t.Context()))
		conn.Release()
		requireAllGivenBack(t, s)
		require.Equal(t, "0", ask(t, s, "SELECT sum(b) FROM t"))
	})
}

func TestARollbackWorksAfterItsContextHasEndedAndKeepsTheSession(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		conn := acquire(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		tx, err := conn.Begin(ctx)
		require.NoError(t, err)
		_, err = tx.Exec(ctx, "INSERT INTO t (a) VALUES (10)")
		require.NoError(t, err)
		cancel()
		require.NoError(t, tx.Rollback(ctx))
		require.NoError(t, tx.Rollback(ctx), "again")

		next, err := conn.Begin(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, run(t, next, "INSERT INTO t (a) VALUES (11), (12)"))
		require.NoError(t, next.Commit(t.Context()))
		require.Error(t, next.Commit(t.Context()))
		require.NoError(t, next.Rollback(t.Context()), "after the commit it does nothing")
		require.Equal(t, "5", ask(t, s, "SELECT count(*) FROM t"))
	})
}

func TestATransactionIsReadCommitted(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		tx, err := s.Begin(t.Context())
		require.NoError(t, err)
		defer tx.Rollback(t.Context())
		require.Equal(t, "3", ask(t, tx, "SELECT count(*) FROM t"))
		run(t, s, "DELETE FROM t WHERE a = 1")
		require.Equal(t, "2", ask(t, tx, "SELECT count(*) FROM t"))
	})
}

func TestATransactionThatNobodyGoesOnWithIsEnded(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		s.idle = time.Second
		frozen := acquire(t, s)
		tx, err := frozen.Begin(t.Context())
		require.NoError(t, err)
		run(t, tx, "UPDATE t SET b = 1")
		require.EqualValues(t, 3, run(t, s, "UPDATE t SET b = 2 WHERE b = 0"), "after a wait")
		class, known := Classify(tx.Commit(t.Context()))
		require.True(t, known)
		require.Equal(t, task.Transient, class)

		patient := acquire(t, s)
		for _, end := range []func(engine.Tx) error{
			func(tx engine.Tx) error { return tx.Commit(t.Context()) },
			func(tx engine.Tx) error { return tx.Rollback(t.Context()) },
		} {
			tx, err := patient.Begin(t.Context())
			require.NoError(t, err)
			require.Equal(t, "1", ask(t, tx, "SELECT @@wait_timeout"))
			require.NoError(t, end(tx))
			require.Equal(t, "3600", ask(t, patient, "SELECT @@wait_timeout"), "a session may wait for longer outside of one")
		}
	})
}

// TestNothingIsWrittenAfterADeadlock: the server has rolled back, and what
// follows would otherwise be committed at once, each statement by itself.
func TestNothingIsWrittenAfterADeadlock(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		one, err := s.Begin(t.Context())
		require.NoError(t, err)
		two, err := s.Begin(t.Context())
		require.NoError(t, err)
		run(t, one, "UPDATE t SET b = 1 WHERE a = 1")
		run(t, two, "UPDATE t SET b = 2 WHERE a = 2")
		ended := make(chan error)
		go func() {
			_, err := one.Exec(context.Background(), "UPDATE t SET b = 1 WHERE a = 2")
			ended <- err
		}()
		_, failed := two.Exec(t.Context(), "UPDATE t SET b = 2 WHERE a = 1")
		victim, other := two, one
		if also := <-ended; failed == nil {
			victim, other, failed = one, two, also
		}
		class, _ := Classify(failed)
		require.Equal(t, task.Busy, class)
		_, err = victim.Exec(t.Context(), "INSERT INTO t (a) VALUES (10)")
		require.ErrorIs(t, err, failed)
		_, err = victim.Query(t.Context(), "SELECT 1")
		require.ErrorIs(t, err, failed)
		require.ErrorIs(t, victim.Commit(t.Context()), failed)
		require.NoError(t, victim.Rollback(t.Context()))
		require.NoError(t, other.Commit(t.Context()))
		require.Equal(t, "3", ask(t, s, "SELECT count(*) FROM t"))
		requireAllGivenBack(t, s)
	})
}

func TestALockTimeoutInAQueryFailsTheTransaction(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		holder, err := s.Begin(t.Context())
		require.NoError(t, err)
		defer holder.Rollback(t.Context())
		run(t, holder, "UPDATE t SET b = 1 WHERE a = 3")
		tx, err := s.Begin(t.Context())
		require.NoError(t, err)
		defer tx.Rollback(t.Context())
		run(t, tx, "SET innodb_lock_wait_timeout = 1")
		found, err := tx.Query(t.Context(), "SELECT a FROM t FOR UPDATE")
		if err == nil {
			for found.Next() {
			}
			err = found.Err()
		}
		class, _ := Classify(err)
		require.Equal(t, task.Busy, class)
		require.ErrorIs(t, tx.Commit(t.Context()), err)
	})
}

func TestABrokenOrBusySessionIsNeverUsedAgain(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		s.db.SetMaxOpenConns(2)
		for _, leave := range []func(*Conn){
			func(c *Conn) { // in a transaction
				tx, err := c.Begin(t.Context())
				require.NoError(t, err)
				run(t, tx, "UPDATE t SET b = 1")
			},
			func(c *Conn) { require.NoError(t, s.KillSession(t.Context(), c.Session())) },
			func(c *Conn) { // with rows that nobody has read
				_, err := c.Query(t.Context(), "SELECT * FROM t x, t y, t z")
				require.NoError(t, err)
			},
			func(c *Conn) { // in a transaction with such rows
				tx, err := c.Begin(t.Context())
				require.NoError(t, err)
				run(t, tx, "UPDATE t SET b = 1")
				_, err = tx.Query(t.Context(), "SELECT * FROM t x, t y, t z FOR UPDATE")
				require.NoError(t, err)
				require.NoError(t, tx.Rollback(t.Context()))
			},
		} {
			conn, err := s.Acquire(t.Context())
			require.NoError(t, err)
			leave(conn)
			conn.Release()
			conn.Destroy()
			requireAllGivenBack(t, s)
			heir, err := s.Begin(t.Context())
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				return heir.Rollback(t.Context()) == nil && ask(t, s, "SELECT count(*) FROM t WHERE b = 0") == "3"
			}, 30*time.Second, 10*time.Millisecond)
			require.EqualValues(t, 3, run(t, s, "UPDATE t SET b = 0"))
		}
	})
}

func TestTransactionsOfTheServerGiveTheirConnectionsBack(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		s.db.SetMaxOpenConns(3)
		for n := range 9 {
			tx, err := s.Begin(t.Context())
			require.NoError(t, err)
			if n%2 == 0 {
				require.NoError(t, tx.Commit(t.Context()))
				require.Error(t, tx.Commit(t.Context()))
			}
			require.NoError(t, tx.Rollback(t.Context()))
		}
		requireAllGivenBack(t, s)
	})
}

func TestOneAtATimeRunsUnderALock(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		s.db.SetMaxOpenConns(3)
		var inside, total atomic.Int32
		done := make(chan error)
		const rivals = 8
		for range rivals {
			go func() {
				done <- s.WithLock(t.Context(), "the ledger", func(ctx context.Context) error {
					if inside.Add(1) != 1 {
						return errors.New("not alone")
					}
					if _, err := s.Exec(ctx, "UPDATE t SET b = b + 1"); err != nil {
						return err
					}
					time.Sleep(10 * time.Millisecond)
					inside.Add(-1)
					total.Add(1)
					return nil
				})
			}()
		}
		for range rivals {
			require.NoError(t, <-done)
		}
		require.EqualValues(t, rivals, total.Load())
		requireAllGivenBack(t, s)
	})
}

func TestALockIsWaitedForOnlyAsLongAsTheContextLasts(t *testing.T) {
	onBothWritten(t, func(t *testing.T, box *testServer, s *Server) {
		require.NoError(t, s.WithLock(t.Context(), "x", func(context.Context) error {
			require.NoError(t, s.WithLock(t.Context(), "y", func(context.Context) error { return nil }), "another lock is free")
			elsewhere := start(t, box.kind)
			require.NoError(t, elsewhere.WithLock(t.Context(), "x", func(context.Context) error { return nil }), "and that of another database")
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			err := s.WithLock(ctx, "x", func(context.Context) error { t.Error("taken twice"); return nil })
			require.ErrorIs(t, err, context.DeadlineExceeded)
			return nil
		}))
	})
}

func TestALockThatWasLostWhileHeldIsAnError(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		err := s.WithLock(t.Context(), "x", func(ctx context.Context) error {
			key, err := s.lockKey(ctx, "x")
			require.NoError(t, err)
			run(t, s, "KILL "+ask(t, s, "SELECT IS_USED_LOCK(?)", key))
			return nil
		})
		require.ErrorContains(t, err, `the lock "x"`)
		require.Equal(t, task.Transient, fault.Of(err).Class)
		requireAllGivenBack(t, s)
	})
}

func TestTheErrorOfWhatRanUnderALockComesBack(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		failure := errors.New("no")
		require.ErrorIs(t, s.WithLock(t.Context(), "x", func(context.Context) error { return failure }), failure)
		require.NoError(t, s.WithLock(t.Context(), "x", func(context.Context) error { return nil }))
	})
}

func TestAQueryHandsOverWhatItsRowsHold(t *testing.T) {
	onBothWritten(t, func(t *testing.T, _ *testServer, s *Server) {
		require.Equal(t, engine.MySQLDialect, s.Dialect())
		found, err := s.Query(t.Context(), `SELECT 'RUNNING', NULL, 'text', 7, 18446744073709551615, CAST('2024-07-01 12:00:00.123456' AS datetime(6)), NULL,
			CAST('2024-07-01' AS datetime), CAST('{"a": 1}' AS char)`)
		require.NoError(t, err)
		require.True(t, found.Next())
		var (
			state      task.State
			none, text *string
			n          int
			big        uint64
			at         time.Time
			never      = &time.Time{}
			once       *time.Time
			json       *string
		)
		require.NoError(t, found.Scan(&state, &none, &text, &n, &big, &at, &never, &once, &json))
		require.Equal(t, task.Running, state)
		require.Nil(t, none)
		require.Equal(t, "text", *text)
		require.Equal(t, 7, n)
		require.EqualValues(t, uint64(18446744073709551615), big)
		require.Equal(t, time.Date(2024, 7, 1, 12, 0, 0, 123456000, time.UTC), at)
		require.Nil(t, never)
		require.Equal(t, time.Date(2024, 7, 1, 0, 0, 0, 0, time.UTC), *once)
		require.Equal(t, `{"a": 1}`, *json)
		require.False(t, found.Next())
		require.NoError(t, found.Close())

		found, err = s.Query(t.Context(), "SELECT NULL")
		require.NoError(t, err)
		require.True(t, found.Next())
		require.ErrorContains(t, found.Scan(&at), "NULL")
		require.NoError(t, found.Close())
		_, err = s.Query(t.Context(), "SELECT nonsense")
		require.Error(t, err)
	})
}

func TestAGrantIsHeardOfAfterARefusal(t *testing.T) {
	onBothWritten(t, func(t *testing.T, box *testServer, _ *Server) {
		user := box.newUser(t, "SELECT ON "+box.database+".*")
		s := box.connect(t, user, "")
		for _, refused := range []struct {
			statement, grant string
			run              func(statement string) error
		}{
			{"INSERT INTO t (a) VALUES (10)", "INSERT", func(statement string) error {
				_, err := s.Exec(t.Context(), statement)
				return err
			}},
			{"UPDATE t SET b = 1", "UPDATE", func(statement string) error {
				tx, err := s.Begin(t.Context())
				require.NoError(t, err)
				defer tx.Rollback(t.Context())
				_, err = tx.Exec(t.Context(), statement)
				return err
			}},
		} {
			class, _ := Classify(refused.run(refused.statement))
			require.Equal(t, task.Config, class)
			box.exec(t, "GRANT "+refused.grant+" ON "+box.database+".* TO "+user)
			require.NoError(t, refused.run(refused.statement))
		}
	})
}
