package statement

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/sandbox"
	"godwit/internal/task"
)

const insert = "statement: [\"INSERT INTO orders VALUES (1, 'a')\", \"INSERT INTO orders VALUES (2, 'b')\"]\n"

func class(t *testing.T, err error) task.Class {
	t.Helper()
	require.Error(t, err)
	return kind.Classify(err).Class
}

func TestAStatementIsRunOnceHoweverOftenItIsTried(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		j := r.job("once", insert)
		require.Zero(t, j.all().KeepFor, "there is no undo to be kept")
		require.NoError(t, j.try(t.Context()))
		require.Equal(t, "2", r.rows())
		summary, err := New("test").FinishVerify(t.Context(), j.run())
		require.NoError(t, err)
		require.Equal(t, []string{"the statement was run once; it found 2 rows"}, summary.Checked)
	})
}

func TestAStatementThatFailsHalfWayHasNotHappened(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		j := r.job("half", "statement: [\"INSERT INTO orders VALUES (1, 'a')\", \"INSERT INTO orders VALUES (1, 'again')\"]\n")
		j.begin()
		require.ErrorContains(t, j.try(t.Context()), "INSERT INTO orders VALUES (1, 'again')")
		require.Equal(t, "0", r.rows())
	})
}

func TestAnAttemptThatWakesUpAfterAnotherOneHasDoneItWritesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		j := r.job("zombie", insert)
		j.begin()
		session, err := r.db.Session(t.Context())
		require.NoError(t, err)
		defer session.Destroy()
		frozen := j.run()
		lease, err := frozen.Ledger.ClaimShard(t.Context(), task.ShardInput{Ref: frozen.Ref, Phase: task.Transform, Shard: shardNo}, "")
		require.NoError(t, err)
		require.NoError(t, ready(t.Context(), frozen, r.db, session))
		it, err := planned(t.Context(), frozen)
		require.NoError(t, err)
		require.NoError(t, j.try(t.Context()))
		r.exec("DELETE FROM " + r.table())
		require.Equal(t, task.Superseded, class(t, it.doTogether(t.Context(), session, lease)))
		require.Equal(t, "0", r.rows())
	})
}

func TestAStatementWhoseQueryHasAnotherAnswerIsTakenBack(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		j := r.job("asked", insert+"query: SELECT count(*) FROM orders\nexpect: 3\n")
		j.begin()
		err := j.try(t.Context())
		require.Equal(t, task.Mismatch, class(t, err))
		require.ErrorContains(t, err, `"SELECT count(*) FROM orders" says 2 instead of 3; the statement has been taken back`)
		require.Equal(t, "0", r.rows())
		r.exec("INSERT INTO " + r.table() + " VALUES (9, 'there')")
		require.NoError(t, j.try(t.Context()))
	})
}

func TestAQueryAloneChangesNothingAndComparesNumbersAsNumbers(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		j := r.job("query", "query: SELECT 1.50\nexpect: 1.5\n")
		j.all()
		require.NoError(t, j.rollback())
	})
}

func TestAnUndoTakesTheStatementBackOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		j := r.job("undo", insert+"undo: DELETE FROM orders\n")
		cut := j.all()
		require.Equal(t, 24*time.Hour, cut.KeepFor)
		require.Len(t, cut.Kept, 1)
		require.NoError(t, j.rollback())
		require.Equal(t, "0", r.rows())
		r.exec("INSERT INTO " + r.table() + " VALUES (9, 'new')")
		require.NoError(t, j.rollback(), "it is done already")
		require.Equal(t, "1", r.rows())
	})
}

func TestAnUndoOfAStatementThatNeverRanRunsNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.exec("INSERT INTO " + r.table() + " VALUES (9, 'mine')")
		j := r.job("never", insert+"undo: DELETE FROM orders\n")
		j.begin()
		require.NoError(t, j.rollback())
		require.Equal(t, "1", r.rows())
		require.Equal(t, task.Superseded, class(t, j.try(t.Context())), "it has been undone")
	})
}

func TestAStatementWithoutAnUndoStaysWhenCancelledAndRefusesARollback(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		j := r.job("stays", insert)
		j.begin()
		require.NoError(t, j.try(t.Context()))
		require.Equal(t, task.Human, class(t, j.rollback()))
		j.cancel = true
		require.NoError(t, j.rollback())
		require.Equal(t, "2", r.rows())
	})
}

func TestAfterTheCleanupThereIsNoWayBack(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		j := r.job("late", insert+"undo: DELETE FROM orders\n")
		j.all()
		require.NoError(t, New("test").Cleanup(t.Context(), j.run()))
		require.Equal(t, task.Human, class(t, j.rollback()))
		require.Equal(t, "2", r.rows())
	})
}

func TestAStatementThatTheServerCommitsByItselfIsRunAlone(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		both := r.job("both", "statement: [\"CREATE TABLE extra (id int)\", \"INSERT INTO orders VALUES (1, 'a')\"]\n")
		_, err := New("test").Preflight(t.Context(), both.run())
		if r.kind == sandbox.Postgres {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "commits \"CREATE TABLE extra (id int)\" by itself")
		}
		j := r.job("alone", "statement: CREATE TABLE extra (id int)\nundo: DROP TABLE extra\n")
		j.all()
		require.NoError(t, j.try(t.Context()))
		require.NoError(t, j.rollback())
		again := r.job("again", "statement: CREATE TABLE extra (id int)\n")
		again.all()
	})
}

func TestWhatMayHaveBeenCommittedIsNotRunAgainUnasked(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		if r.kind == sandbox.Postgres {
			return // its transaction tells
		}
		j := r.job("lost", "statement: CREATE TABLE extra (id int)\n")
		j.announce()
		r.exec("CREATE TABLE extra (id int)")
		require.Equal(t, task.Human, class(t, j.try(t.Context())))
		require.Equal(t, task.Human, class(t, j.try(t.Context())), "the retry queue is nobody who has looked")
		j.ends(task.TimedOut, task.Human)
		j.begin()
		require.Equal(t, task.Human, class(t, j.try(t.Context())), "nor is a limit that has passed meanwhile")
		j.ends(task.Failed, task.Human)
		j.begin()
		require.ErrorContains(t, j.try(t.Context()), "exists", "whoever retries what has said so wants it run again")
		require.ErrorContains(t, j.try(t.Context()), "exists", "and the server has refused it, which is known")

		asked := r.job("asked", "statement: CREATE TABLE more (id int)\nquery: SELECT count(*) FROM information_schema.tables WHERE table_schema = database() AND table_name = 'more'\nexpect: 1\n")
		asked.announce()
		r.exec("CREATE TABLE more (id int)")
		require.NoError(t, asked.try(t.Context()), "the query tells that it has been done")
	})
}

// ends notes how a run has ended, as the workflow does.
func (j *job) ends(state task.State, class task.Class) {
	j.r.t.Helper()
	require.NoError(j.r.t, j.run().Ledger.SetState(context.Background(), state, task.Transform, &task.Failure{Class: class, Message: "it has ended"}))
}

func TestWhatWasEmptiedIsNotEmptiedAgainByTheRetryQueue(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		if r.kind == sandbox.Postgres {
			return // its transaction tells
		}
		j := r.job("emptied", "statement: TRUNCATE TABLE orders\n")
		j.announce()
		r.exec("TRUNCATE TABLE orders")
		r.exec("INSERT INTO " + r.table() + " VALUES (7, 'written since')")
		for range 3 {
			require.Equal(t, task.Human, class(t, j.try(t.Context())))
		}
		require.Equal(t, "1", r.rows())
		j.ends(task.Failed, task.Human)
		j.begin()
		require.NoError(t, j.try(t.Context()))
		require.Equal(t, "0", r.rows())
	})
}

func TestWhatTheServerHasCommittedIsUndoneAlthoughItsQueryDisagrees(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		if r.kind == sandbox.Postgres {
			return // it takes the statement back
		}
		there := func() string {
			return r.answer("SELECT count(*) FROM information_schema.tables WHERE table_schema = database() AND table_name = 'extra'")
		}
		j := r.job("disagrees", "statement: CREATE TABLE extra (id int)\nquery: SELECT count(*) FROM orders\nexpect: 5\nundo: DROP TABLE extra\n")
		j.begin()
		require.Equal(t, task.Mismatch, class(t, j.try(t.Context())))
		require.Equal(t, task.Mismatch, class(t, j.try(t.Context())), "it is known to have run: only the query is asked again")
		require.Equal(t, "1", there())
		require.NoError(t, j.rollback())
		require.Equal(t, "0", there())

		stays := r.job("no undo", "statement: CREATE TABLE extra (id int)\nquery: SELECT count(*) FROM orders\nexpect: 5\n")
		stays.begin()
		require.Equal(t, task.Mismatch, class(t, stays.try(t.Context())))
		require.Equal(t, task.Human, class(t, stays.rollback()))
	})
}

func TestAnUndoOfUnknownOutcomeIsRunAgainOnlyInARunThatSomebodyHasBegunSince(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		if r.kind == sandbox.Postgres {
			return // its transaction tells
		}
		j := r.job("undo", "statement: CREATE TABLE extra (id int)\nundo: TRUNCATE TABLE orders\n")
		j.all()
		run := j.run()
		_, err := run.Ledger.Take(t.Context(), task.SQL)
		require.NoError(t, err)
		it, err := planned(t.Context(), run)
		require.NoError(t, err)
		require.NoError(t, it.setState(t.Context(), run, r.db, itemUndoing), "and then the worker is lost")
		r.exec("INSERT INTO " + r.table() + " VALUES (7, 'written since')")
		for range 3 {
			require.Equal(t, task.Human, class(t, j.rollback()))
		}
		require.Equal(t, "1", r.rows())
		j.runID = "second"
		require.NoError(t, j.rollback())
		require.Equal(t, "0", r.rows())
	})
}

func TestAStatementOfUnknownOutcomeIsNotTakenForOneThatNeverRan(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		if r.kind == sandbox.Postgres {
			return // its transaction tells
		}
		j := r.job("unknown", "statement: CREATE TABLE extra (id int)\nquery: SELECT count(*) FROM orders\nexpect: 5\nundo: DROP TABLE extra\n")
		j.announce()
		require.Equal(t, task.Human, class(t, j.rollback()))
		j.cancel = true
		require.NoError(t, j.rollback(), "a cancel leaves what nobody knows")
	})
}

// announce leaves the job as a worker does that dies while the statement runs.
func (j *job) announce() {
	j.r.t.Helper()
	j.begin()
	run := j.run()
	lease, err := run.Ledger.ClaimShard(context.Background(), task.ShardInput{Ref: run.Ref, Phase: task.Transform, Shard: shardNo}, "")
	require.NoError(j.r.t, err)
	require.NoError(j.r.t, lease.Advance(context.Background(), j.r.db, ledger.Progress{Digest: progress{Begun: true}}))
}

func TestAProcedureThatMayCommitIsNotRunAgainUnasked(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		if r.kind == sandbox.Postgres {
			r.exec("CREATE PROCEDURE public.halfway() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.orders VALUES (1, 'a'); COMMIT; INSERT INTO public.orders VALUES (1, 'again'); END $$")
			j := r.job("refused", "statement: CALL halfway()\n")
			j.begin()
			require.ErrorContains(t, j.try(t.Context()), "invalid transaction termination")
			require.Equal(t, "0", r.rows())
			return
		}
		for _, name := range []string{"prepared", "executed"} {
			list := map[string]string{"prepared": "[\"PREPARE s FROM 'TRUNCATE TABLE orders'\", EXECUTE s]", "executed": "[CALL halfway(), SELECT 1]"}[name]
			_, err := New("test").Preflight(t.Context(), r.job(name, "statement: "+list+"\n").run())
			require.ErrorContains(t, err, "may commit, so it cannot be in one transaction with others")
		}
		r.exec("CREATE PROCEDURE halfway() BEGIN INSERT INTO orders VALUES (1, 'a'); COMMIT; INSERT INTO orders VALUES (1, 'again'); END")
		j := r.job("half", "statement: CALL halfway()\nundo: CALL halfway()\n")
		j.begin()
		err := j.try(t.Context())
		require.Equal(t, task.Human, class(t, err))
		require.ErrorContains(t, err, "may have committed a part of its work")
		require.Equal(t, "1", r.rows(), "as it has")
		r.exec("DELETE FROM orders")
		require.Equal(t, task.Human, class(t, j.try(t.Context())), "the retry queue is nobody who has looked")
		require.Equal(t, "0", r.rows())
		require.Equal(t, task.Human, class(t, j.rollback()), "nor is a rollback")
		j.ends(task.Failed, task.Human)
		j.begin()
		require.ErrorContains(t, j.try(t.Context()), "may have committed a part of its work", "whoever retries wants it run again")
		require.Equal(t, "1", r.rows())

		r.exec("DELETE FROM orders")
		r.exec("CREATE PROCEDURE well() BEGIN INSERT INTO orders VALUES (2, 'b'); COMMIT; END")
		w := r.job("well", "statement: CALL well()\nundo: CALL halfway()\n")
		w.all()
		require.Equal(t, "1", r.rows())
		for range 2 {
			require.Equal(t, task.Human, class(t, w.rollback()))
			require.Equal(t, "2", r.rows(), "the undo is not run again either")
		}
		r.exec("DELETE FROM orders WHERE id = 1")
		w.runID = "second"
		require.Equal(t, task.Human, class(t, w.rollback()))
		require.Equal(t, "2", r.rows(), "in a run that somebody has begun since, it is")
	})
}

func TestAMistakeInAStatementIsFoundBeforehand(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		j := r.job("wrong", "statement: UPDATE orders SET nothing = 1\n")
		_, err := New("test").Preflight(t.Context(), j.run())
		require.Equal(t, task.Config, class(t, err))
		require.Regexp(t, `column ["']nothing["']`, err.Error())
	})
}

func TestALockIsWaitedForAndThenTriedAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.exec("INSERT INTO " + r.table() + " VALUES (1, 'a')")
		j := r.job("locked", "statement: UPDATE orders SET note = 'b'\nlock_timeout: 1s\n")
		j.begin()
		holder, err := r.db.Begin(t.Context())
		require.NoError(t, err)
		_, err = holder.Exec(t.Context(), "UPDATE "+r.table()+" SET note = 'held'")
		require.NoError(t, err)
		require.Equal(t, task.Busy, class(t, j.try(t.Context())))
		require.NoError(t, holder.Rollback(t.Context()))
		require.NoError(t, j.try(t.Context()))
		require.Equal(t, "b", r.answer("SELECT note FROM "+r.table()))
	})
}

func TestWhatAProcedureLeavesInAnOpenTransactionIsCommitted(t *testing.T) {
	for _, engine := range []sandbox.Kind{sandbox.MariaDB, sandbox.MySQL} {
		t.Run(string(engine), func(t *testing.T) {
			r := newRig(t, engine)
			r.exec("CREATE PROCEDURE opened() BEGIN START TRANSACTION; INSERT INTO orders VALUES (1, 'a'); END")
			r.exec("CREATE PROCEDURE emptied() BEGIN START TRANSACTION; DELETE FROM orders; END")
			j := r.job("open", "statement: CALL opened()\nundo: CALL emptied()\n")
			j.all()
			require.Equal(t, "1", r.rows())
			require.NoError(t, j.rollback())
			require.Equal(t, "0", r.rows())
		})
	}
}

func TestAProcedureThatIsCalledWithSettingsOfItsOwnIsOne(t *testing.T) {
	r := newRig(t, sandbox.MariaDB)
	r.exec("CREATE PROCEDURE halfway() BEGIN INSERT INTO orders VALUES (1, 'a'); COMMIT; INSERT INTO orders VALUES (1, 'again'); END")
	j := r.job("half", "statement: SET STATEMENT max_statement_time=9 FOR CALL halfway()\n")
	j.begin()
	require.ErrorContains(t, j.try(t.Context()), "may have committed a part of its work")
	require.Equal(t, "1", r.rows())
	require.Equal(t, task.Human, class(t, j.try(t.Context())))
}
