package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

const accounts = "CREATE TABLE accounts (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, code varchar(20), n int NOT NULL, note varchar(60), UNIQUE (code), KEY by_n (n), KEY (note(10)))"

func (s *testServer) accounts(t testing.TB, rows int) {
	s.exec(t, accounts, fmt.Sprintf("INSERT INTO accounts SELECT n, concat('c', n), n, 'a note' FROM (%s) numbers", numbered(rows)))
}

func TestTheShadowTakesTheTablesPlaceAndGivesItBack(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.accounts(t, 1000)
		s.exec(t, "INSERT INTO accounts VALUES (5000, 'gone', 0, '')", "DELETE FROM accounts WHERE id = 5000")
		r := s.copied(t, "accounts", "MODIFY n bigint NOT NULL, ADD extra int", nil)
		require.Len(t, r.Builds, 1)
		stand, err := s.Stand(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, engine.StandBeside, stand)
		s.exec(t, "UPDATE accounts SET n = 77 WHERE id = 5", "DELETE FROM accounts WHERE id = 6")
		require.NoError(t, s.swap(t, &engine.Swap{Reshaping: r}))
		stand, err = s.Stand(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, engine.StandSwapped, stand)
		require.Equal(t, "bigint", s.describe(t, "accounts").Column("n").Type.Base)
		require.Equal(t, "77", s.ask(t, "SELECT n FROM accounts WHERE id = 5"))
		require.Equal(t, "999", s.ask(t, "SELECT count(*) FROM accounts"))
		s.exec(t, "INSERT INTO accounts (code, n) VALUES ('new', 8)")
		require.Equal(t, "5001", s.ask(t, "SELECT max(id) FROM accounts"), "the counter goes on")
		require.NoError(t, s.DropCapture(t.Context(), r.Capture))

		require.NoError(t, s.swap(t, &engine.Swap{Reshaping: r, Back: true}))
		require.Equal(t, "int", s.describe(t, "accounts").Column("n").Type.Base)
		require.Equal(t, "8", s.ask(t, "SELECT n FROM accounts WHERE id = 5001"))
		require.NoError(t, s.DropCapture(t.Context(), r.Back))
		require.NoError(t, s.DropBeside(t.Context(), r, r.Shadow))
		require.Equal(t, []string{"accounts"}, s.tables(t))
	})
}

func TestALockThatIsNotToBeHadIsGivenUpInTime(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.accounts(t, 10)
		r := s.copied(t, "accounts", "MODIFY n bigint NOT NULL", nil)
		tx, err := s.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "UPDATE accounts SET n = 1 WHERE id = 1")
		require.NoError(t, err)
		began := time.Now()
		err = s.swap(t, &engine.Swap{Reshaping: r, Wait: 100 * time.Millisecond})
		require.Equal(t, task.Busy, fault.Of(err).Class, "%v", err)
		require.Less(t, time.Since(began), 900*time.Millisecond)
		require.NoError(t, tx.Rollback(t.Context()))
		stand, err := s.Stand(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, engine.StandBeside, stand)
		require.NotContains(t, s.tables(t), r.Old.Table, "the sentry is gone")
	})
}

func TestWhoeverIsNotCertainChangesNoName(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.accounts(t, 10)
		r := s.copied(t, "accounts", "MODIFY n bigint NOT NULL", nil)
		superseded := errors.New("superseded")
		err := s.swap(t, &engine.Swap{Reshaping: r, Certain: func(context.Context, engine.Querier) error { return superseded }})
		require.ErrorIs(t, err, superseded)
		err = s.swap(t, &engine.Swap{Reshaping: r, Locked: func(context.Context, engine.Querier) error { return superseded }})
		require.ErrorIs(t, err, superseded)
		s.exec(t, "UPDATE accounts SET n = 4 WHERE id = 1")
		require.NotContains(t, s.tables(t), r.Old.Table)
		require.NoError(t, s.swap(t, &engine.Swap{Reshaping: r}))
	})
}

func (s *testServer) kill(t testing.TB, id string) {
	_, _ = s.db.ExecContext(t.Context(), "KILL CONNECTION "+id)
}

func TestWhenTheLocksAreLostTheNamesStay(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.accounts(t, 10)
		r := s.copied(t, "accounts", "MODIFY n bigint NOT NULL", nil)
		var locker string
		err := s.swap(t, &engine.Swap{Reshaping: r,
			Locked: func(ctx context.Context, q engine.Querier) error {
				return readRow(ctx, q, "SELECT CONNECTION_ID()", &locker)
			},
			Certain: func(context.Context, engine.Querier) error {
				s.kill(t, locker)
				require.Eventually(t, func() bool {
					return s.ask(t, "SELECT count(*) FROM information_schema.PROCESSLIST WHERE ID = "+locker) == "0"
				}, 30*time.Second, time.Millisecond)
				s.exec(t, "UPDATE accounts SET n = 99 WHERE id = 1") // slips in
				return nil
			}})
		require.Error(t, err)
		stand, err := s.Stand(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, engine.StandBeside, stand)
		require.NoError(t, s.swap(t, &engine.Swap{Reshaping: r}))
		require.Equal(t, "99", s.ask(t, "SELECT n FROM accounts WHERE id = 1"))
	})
}

func TestWhenTheRenameIsKilledTheApplicationGoesOn(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.accounts(t, 10)
		r := s.copied(t, "accounts", "MODIFY n bigint NOT NULL", nil)
		err := s.swap(t, &engine.Swap{Reshaping: r, Certain: func(context.Context, engine.Querier) error {
			require.NoError(t, s.endSwapper(context.Background(), r.Table.Name))
			return nil
		}})
		require.Error(t, err)
		s.exec(t, "UPDATE accounts SET n = 99 WHERE id = 1")
		stand, err := s.Stand(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, engine.StandBeside, stand)
		require.NoError(t, s.swap(t, &engine.Swap{Reshaping: r}))
	})
}

func TestAFrozenWorkerLosesItsLocksByTheServersClock(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.accounts(t, 10)
		r := s.copied(t, "accounts", "MODIFY n bigint NOT NULL", nil)
		began := time.Now()
		var waited time.Duration
		err := s.swap(t, &engine.Swap{Reshaping: r, Hold: 2 * time.Second, Locked: func(context.Context, engine.Querier) error {
			s.exec(t, "UPDATE accounts SET n = 99 WHERE id = 1")
			waited = time.Since(began)
			time.Sleep(100 * time.Millisecond)
			return nil
		}})
		require.Error(t, err)
		require.Less(t, waited, 3500*time.Millisecond)
		stand, err := s.Stand(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, engine.StandBeside, stand)
		require.NoError(t, s.swap(t, &engine.Swap{Reshaping: r}))
		require.Equal(t, "99", s.ask(t, "SELECT n FROM accounts WHERE id = 1"))
	})
}

func TestWhatWasHungOnTheTableMeanwhileIsNotLeftWithTheOldOne(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.accounts(t, 10)
		r := s.copied(t, "accounts", "MODIFY n bigint NOT NULL", nil)
		for hang, c := range map[string]struct{ says, remedy string }{
			"CREATE TRIGGER audit BEFORE INSERT ON accounts FOR EACH ROW SET @x = 1":                                                     {"triggers (audit)", "DROP TRIGGER audit"},
			"CREATE TABLE cards (id int PRIMARY KEY, account int, CONSTRAINT of_account FOREIGN KEY (account) REFERENCES accounts (id))": {"of_account of ", "DROP TABLE cards"},
		} {
			s.exec(t, hang)
			err := s.swap(t, &engine.Swap{Reshaping: r})
			require.ErrorContains(t, err, c.says)
			require.Equal(t, task.Config, fault.Of(err).Class)
			s.exec(t, c.remedy)
		}
		require.NoError(t, s.swap(t, &engine.Swap{Reshaping: r}))
	})
}

func TestAServerThatLetsWritesPassBeforeTheRenameIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.accounts(t, 10)
		r := s.copied(t, "accounts", "MODIFY n bigint NOT NULL", nil)
		s.exec(t, "SET GLOBAL max_write_lock_count = 1")
		defer s.exec(t, "SET GLOBAL max_write_lock_count = DEFAULT")
		err := s.swap(t, &engine.Swap{Reshaping: r})
		require.ErrorContains(t, err, "max_write_lock_count is 1")
		s.exec(t, "CREATE TABLE others (id int PRIMARY KEY, n int)")
		_, err = s.reshape(t, "others", "MODIFY n bigint", nil)
		require.ErrorContains(t, err, "SET GLOBAL max_write_lock_count")
		require.Equal(t, task.Config, fault.Of(err).Class)
	})
}

func TestLocksOfAStatementThatIsGivenUpAreLetGoAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.accounts(t, 10)
		r := s.copied(t, "accounts", "MODIFY n bigint NOT NULL", nil)
		waited := make(chan time.Duration, 1)
		err := s.swap(t, &engine.Swap{Reshaping: r, Locked: func(ctx context.Context, q engine.Querier) error {
			ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
			defer cancel()
			go func() {
				began := time.Now()
				_, _ = s.db.ExecContext(context.Background(), "UPDATE accounts SET n = 99 WHERE id = 1")
				waited <- time.Since(began)
			}()
			_, err := q.Exec(ctx, "UPDATE accounts SET note = note WHERE id = 1 AND SLEEP(20) = 0")
			return err
		}})
		require.Error(t, err)
		require.Less(t, <-waited, 5*time.Second)
		require.Equal(t, "99", s.ask(t, "SELECT n FROM accounts WHERE id = 1"))
	})
}

func TestASentryIsNoOldTable(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.accounts(t, 10)
		r := s.copied(t, "accounts", "MODIFY n bigint NOT NULL", nil)
		s.exec(t, "CREATE TABLE accounts__gw_old (id int NOT NULL PRIMARY KEY) COMMENT='"+sentryComment+"'") // of a worker that was killed
		stand, err := s.Stand(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, engine.StandBeside, stand)
		require.NoError(t, s.swap(t, &engine.Swap{Reshaping: r}))
		require.NoError(t, s.Settle(t.Context(), r, false))
		require.Equal(t, "10", s.ask(t, "SELECT count(*) FROM accounts__gw_old"))
	})
}

func TestNoWriteSlipsThroughAChangeOfNames(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.accounts(t, 2000)
		s.db.SetMaxIdleConns(40)
		for round := range 10 {
			r := s.copied(t, "accounts", "ENGINE=InnoDB", nil)
			done := s.underLoad(t, 16)
			time.Sleep(200 * time.Millisecond)
			var since, drained time.Time
			var tries int
			err := errors.New("not tried")
			for ; err != nil && tries < 30; tries++ {
				for range 5 { // each leaves less to the next
					require.NoError(t, s.drainNow(t, r))
				}
				err = s.swap(t, &engine.Swap{Reshaping: r, Locked: func(ctx context.Context, q engine.Querier) error {
					since = time.Now()
					err := s.drain(ctx, q, r.Capture, r.Forward)
					drained = time.Now()
					return err
				}})
				if err != nil {
					require.Equal(t, task.Busy, fault.Of(err).Class, "%v", err)
				}
			}
			require.NoError(t, err)
			held, rest := time.Since(since), time.Since(drained)
			time.Sleep(50 * time.Millisecond)
			report := done()
			require.Equal(t, "0", s.ask(t, "SELECT count(*) FROM "+QuoteName(r.Capture.Log)+" WHERE id > 0"), "a write has slipped through")
			require.Equal(t, fmt.Sprint(report.increments), s.ask(t, "SELECT sum(n) - 2001000 FROM accounts"), "every increment that was acknowledged is there")
			t.Logf("round %d: locks held for %s, of which %s after draining, longest statement %s, %d deadlocks, %d increments, %d tries", round, held.Round(time.Millisecond), rest.Round(time.Millisecond), report.longest.Round(time.Millisecond), report.deadlocks, report.increments, tries)
			require.NoError(t, s.DropCapture(t.Context(), r.Capture))
			require.NoError(t, s.DropCapture(t.Context(), r.Back))
			require.NoError(t, s.DropBeside(t.Context(), r, r.Old))
			s.exec(t, "UPDATE accounts SET n = id")
		}
	})
}

func (s *testServer) drainNow(t testing.TB, r *engine.Reshaping) error {
	tx, err := s.Begin(t.Context())
	if err != nil {
		return err
	}
	defer tx.Rollback(context.Background()) //nolint:errcheck // after Commit it does nothing
	if err := s.drain(t.Context(), tx, r.Capture, r.Forward); err != nil {
		if class, _ := Classify(err); class == task.Busy {
			return nil
		}
		return err
	}
	return tx.Commit(t.Context())
}

// load is what writers have done.
type load struct {
	increments, deadlocks int64
	longest               time.Duration
}

// underLoad lets writers increment rows, some by transactions that have read
// before, until the function is called.
func (s *testServer) underLoad(t testing.TB, writers int) func() load {
	var increments, deadlocks, longest atomic.Int64
	var failed atomic.Pointer[error]
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for no := range writers {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				began := time.Now()
				err := s.increment(1+(i*writers+no)%2000, i%10 == 0)
				took := time.Since(began)
				for old := longest.Load(); int64(took) > old && !longest.CompareAndSwap(old, int64(took)); old = longest.Load() {
				}
				switch {
				case err == nil:
					increments.Add(1)
				case number(err) == 1213:
					deadlocks.Add(1)
				default:
					failed.CompareAndSwap(nil, &err)
					return
				}
				time.Sleep(2 * time.Millisecond)
			}
		})
	}
	return func() load {
		close(stop)
		wg.Wait()
		if err := failed.Load(); err != nil {
			require.NoError(t, *err, "the application saw an error")
		}
		return load{increments.Load(), deadlocks.Load(), time.Duration(longest.Load())}
	}
}

func (s *testServer) increment(id int, reads bool) error {
	ctx := context.Background()
	update := fmt.Sprintf("UPDATE accounts SET n = n + 1 WHERE id = %d", id)
	if !reads {
		_, err := s.db.ExecContext(ctx, update)
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	for _, statement := range strings.Split(fmt.Sprintf("SELECT n FROM accounts WHERE id = %d;%s", id, update), ";") {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return tx.Commit()
}
