package postgres

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

func acquire(t *testing.T, s *Server) *Conn {
	t.Helper()
	conn, err := s.Acquire(t.Context())
	require.NoError(t, err)
	t.Cleanup(conn.Release)
	return conn
}

func TestAFrozenWorkersSessionIsKilledAndCannotCommit(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int)")
	zombie := acquire(t, s)
	tx, err := zombie.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "INSERT INTO public.t VALUES (1)")
	require.NoError(t, err)

	require.NoError(t, s.KillSession(t.Context(), zombie.Session()))

	err = tx.Commit(t.Context())
	require.Error(t, err)
	class, known := Classify(err)
	require.True(t, known)
	require.Equal(t, task.Transient, class)
	require.False(t, value[bool](t, s, "SELECT EXISTS (SELECT FROM public.t)"))
	require.NoError(t, tx.Rollback(t.Context()), "there is nothing left to roll back")
}

func TestAKilledSessionHasLetGoOfItsLocksWhenKillReturns(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int)")
	for range 20 {
		zombie := acquire(t, s)
		tx, err := zombie.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "LOCK TABLE public.t IN ACCESS EXCLUSIVE MODE")
		require.NoError(t, err)
		require.NoError(t, s.KillSession(t.Context(), zombie.Session()))
		execute(t, s, "BEGIN; LOCK TABLE public.t IN ACCESS EXCLUSIVE MODE NOWAIT; COMMIT")
		zombie.Destroy()
	}
}

func TestKillingASessionThatIsGoneIsNoError(t *testing.T) {
	s := open(t)
	conn := acquire(t, s)
	session := conn.Session()
	conn.Destroy()
	require.NoError(t, s.KillSession(t.Context(), session))
	require.NoError(t, s.KillSession(t.Context(), session))
	require.NoError(t, s.KillSession(t.Context(), "999999@2020-01-01T00:00:00.000000Z"))
}

func TestANewSessionWithTheSameProcessIDIsLeftAlone(t *testing.T) {
	s := open(t)
	conn := acquire(t, s)
	pid, _, _ := strings.Cut(conn.Session(), "@")
	require.NoError(t, s.KillSession(t.Context(), pid+"@2020-01-01T00:00:00.000000Z"))
	_, err := conn.Exec(t.Context(), "SELECT 1")
	require.NoError(t, err)
}

func TestASessionNameThatIsNoneIsRefused(t *testing.T) {
	require.ErrorContains(t, open(t).KillSession(t.Context(), "nonsense"), "nonsense")
}

func TestASessionThatMayNotBeKilledIsAnErrorWithTheGrant(t *testing.T) {
	s := open(t)
	conn := acquire(t, s)

	blind := newRole(t, "")
	err := connect(t, value[string](t, s, "SELECT current_database()"), blind).KillSession(t.Context(), conn.Session())
	require.ErrorContains(t, err, `GRANT pg_read_all_stats, pg_signal_backend TO "`+blind+`"`)
	require.Equal(t, task.Config, fault.Of(err).Class)

	weak := newRole(t, "IN ROLE pg_read_all_stats")
	err = connect(t, value[string](t, s, "SELECT current_database()"), weak).KillSession(t.Context(), conn.Session())
	require.ErrorContains(t, err, `GRANT pg_signal_backend TO "`+weak+`"`)
	require.Equal(t, task.Config, fault.Of(err).Class)

	_, err = conn.Exec(t.Context(), "SELECT 1")
	require.NoError(t, err)
}

func TestATransactionIsReadCommittedWhateverTheDefault(t *testing.T) {
	s := open(t)
	execute(t, s, "ALTER DATABASE "+value[string](t, s, "SELECT current_database()")+" SET default_transaction_isolation = 'serializable'")
	fresh := connect(t, value[string](t, s, "SELECT current_database()"), "")
	tx, err := acquire(t, fresh).Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	rows, err := tx.Query(t.Context(), "SHOW transaction_isolation")
	require.NoError(t, err)
	require.True(t, rows.Next())
	var level string
	require.NoError(t, rows.Scan(&level))
	require.NoError(t, rows.Close())
	require.Equal(t, "read committed", level)
}

func TestARollbackWorksAfterItsContextHasEndedAndKeepsTheSession(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int)")
	conn := acquire(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	tx, err := conn.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "INSERT INTO public.t VALUES (1)")
	require.NoError(t, err)
	cancel()
	require.NoError(t, tx.Rollback(ctx))
	require.NoError(t, tx.Rollback(ctx), "again")

	next, err := conn.Begin(t.Context())
	require.NoError(t, err)
	n, err := next.Exec(t.Context(), "INSERT INTO public.t VALUES (2), (3)")
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	require.NoError(t, next.Commit(t.Context()))
	require.NoError(t, next.Rollback(t.Context()), "after the commit it does nothing")
	require.EqualValues(t, 2, value[int64](t, s, "SELECT count(*) FROM public.t"))
}

func TestTransactionsOfTheServerGiveTheirConnectionsBack(t *testing.T) {
	s := open(t)
	for n := range 3 * s.pool.Config().MaxConns {
		tx, err := s.Begin(t.Context())
		require.NoError(t, err)
		if n%2 == 0 {
			require.NoError(t, tx.Commit(t.Context()))
			require.Error(t, tx.Commit(t.Context()))
		}
		require.NoError(t, tx.Rollback(t.Context()))
	}
	requireAllGivenBack(t, s)
}

func TestOneAtATimeRunsUnderALock(t *testing.T) {
	s := open(t)
	var inside, total atomic.Int32
	done := make(chan error)
	for range 3 {
		go func() {
			done <- s.WithLock(t.Context(), "the ledger", func(ctx context.Context) error {
				if inside.Add(1) != 1 {
					return errors.New("not alone")
				}
				time.Sleep(30 * time.Millisecond)
				inside.Add(-1)
				total.Add(1)
				return nil
			})
		}()
	}
	for range 3 {
		require.NoError(t, <-done)
	}
	require.EqualValues(t, 3, total.Load())
	requireAllGivenBack(t, s)
}

func TestALockIsWaitedForOnlyAsLongAsTheContextLasts(t *testing.T) {
	s := open(t)
	require.NoError(t, s.WithLock(t.Context(), "x", func(context.Context) error {
		require.NoError(t, s.WithLock(t.Context(), "y", func(context.Context) error { return nil }), "another lock is free")
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		err := s.WithLock(ctx, "x", func(context.Context) error { t.Error("taken twice"); return nil })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		return nil
	}))
}

func TestALockThatWasLostWhileHeldIsAnError(t *testing.T) {
	s := open(t)
	err := s.WithLock(t.Context(), "x", func(ctx context.Context) error {
		_, err := s.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
		return err
	})
	require.ErrorContains(t, err, `the lock "x" was lost`)
	require.Equal(t, task.Transient, fault.Of(err).Class)
}

func TestTheErrorOfWhatRanUnderALockComesBack(t *testing.T) {
	failure := errors.New("no")
	s := open(t)
	require.ErrorIs(t, s.WithLock(t.Context(), "x", func(context.Context) error { return failure }), failure)
	require.NoError(t, s.WithLock(t.Context(), "x", func(context.Context) error { return nil }))
}

func TestAQueryHandsOverItsRowsAndItsError(t *testing.T) {
	s := open(t)
	require.Equal(t, engine.PostgresDialect, s.Dialect())
	rows, err := s.Query(t.Context(), "SELECT n, 10 / (3 - n) FROM generate_series(1, $1::int) n", 5)
	require.NoError(t, err)
	var got []string
	for rows.Next() {
		var n, quotient int
		require.NoError(t, rows.Scan(&n, &quotient))
		got = append(got, strconv.Itoa(n))
	}
	require.Equal(t, []string{"1", "2"}, got)
	require.ErrorContains(t, rows.Err(), "division by zero")
	require.ErrorContains(t, rows.Close(), "division by zero")
}
