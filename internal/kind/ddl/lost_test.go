package ddl

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/hook"
	"godwit/internal/task"
)

// stepsOf is an ALTER of several steps, and how many of them there are.
func (r *rig) stepsOf() (alter string, before, final int) {
	if r.postgres() {
		return "ALTER customer SET NOT NULL, ADD CONSTRAINT noted UNIQUE (note), ADD COLUMN region varchar(16)", 3, 1
	}
	return "ADD COLUMN region varchar(16)", 0, 1
}

// places are where an attempt at a step can be lost.
func (r *rig) places() []string {
	if r.postgres() {
		return []string{"before step", "before step commits", "after step"}
	}
	return []string{"before step", "after step"}
}

// through carries a migration through to its cut-over, whatever its calls say
// before, as its workflow does.
func (j *job) through() error {
	var err error
	for range 5 {
		if err = j.transform(); err != nil {
			continue
		}
		if _, err = j.cutover(); err == nil {
			return nil
		}
	}
	return err
}

// held runs a migration until it comes to a place for the count-th time and
// holds it there, until the function is called that it returns.
func (j *job) held(place string, count int) (goOn func() error) {
	j.r.t.Helper()
	return j.r.hold(place, count, func() error {
		err := j.transform()
		if err == nil {
			_, err = j.cutover()
		}
		return err
	})
}

// hold does some work until it comes to a place for the count-th time, and holds
// it there.
func (r *rig) hold(place string, count int, work func() error) (goOn func() error) {
	r.t.Helper()
	file := filepath.Join(r.t.TempDir(), "held")
	require.NoError(r.t, hook.Arm(fmt.Sprintf("%s:%d:hold=%s", place, count, file)))
	done := make(chan error, 1)
	go func() { done <- work() }()
	soon(r.t, "it comes to "+place, func() bool {
		_, err := os.Stat(file)
		return err == nil
	})
	return func() error {
		require.NoError(r.t, os.Remove(file))
		return <-done
	}
}

// everyPlace runs a test for each place of each step at which an attempt can be lost.
func everyPlace(t *testing.T, test func(t *testing.T, r *rig, j *job, place string, count int)) {
	everywhere(t, func(t *testing.T, r *rig) {
		alter, before, final := r.stepsOf()
		n := 0
		for _, place := range r.places() {
			steps := before + final
			if place == "before step commits" {
				steps-- // an index is built in no transaction
			}
			for count := 1; count <= steps; count++ {
				n++
				r.exec("DROP TABLE IF EXISTS " + r.table("orders"))
				r.orders()
				j := r.job(fmt.Sprintf("lost%d", n), alter, "")
				_, err := j.preflight()
				require.NoError(t, err)
				_, err = j.d.Backup(context.Background(), j.run(task.Backup))
				require.NoError(t, err)
				test(t, r, j, place, count)
				require.Empty(t, r.leftovers(), "%s %d", place, count)
			}
		}
	})
}

// sessionOf is the session that the ledger knows of.
func (j *job) sessionOf() string {
	ledger := j.r.pick("godwit.shard", "_godwit_shard")
	return j.r.ask("SELECT coalesce(max(session_id), '') FROM " + ledger + " WHERE migration = '" + j.id + "' AND state = 'running'")
}

func (j *job) isAltered() {
	j.r.t.Helper()
	require.NotEmpty(j.r.t, j.r.column("region"))
	if j.r.postgres() {
		require.Contains(j.r.t, j.r.column("customer"), "not null")
		require.Equal(j.r.t, "1", j.r.ask("SELECT count(*) FROM pg_constraint WHERE conname = 'noted' AND convalidated"))
	}
}

func TestAConnectionThatIsLostAtAnyStepLeavesNoDoubt(t *testing.T) {
	everyPlace(t, func(t *testing.T, r *rig, j *job, place string, count int) {
		goOn := j.held(place, count)
		if session := j.sessionOf(); session != "" {
			require.NoError(t, r.db.KillSession(context.Background(), session))
		}
		first := goOn()
		if place != "after step" {
			require.Error(t, first, "%s %d", place, count)
		}
		require.NoError(t, j.through(), "%s %d", place, count)
		j.isAltered()
		j.cleanup()
	})
}

func TestAnAttemptThatIsFrozenAtAnyStepIsTakenOverAndDoesNothingMore(t *testing.T) {
	everyPlace(t, func(t *testing.T, r *rig, j *job, place string, count int) {
		goOn := j.held(place, count)
		require.NoError(t, j.through(), "%s %d", place, count)
		j.isAltered()
		shape := r.shape()
		_ = goOn() // what it says does not matter any more
		require.Equal(t, shape, r.shape(), "%s %d", place, count)
		j.cleanup()
	})
}

func TestACancelAtAnyStepLeavesNothingBehind(t *testing.T) {
	everyPlace(t, func(t *testing.T, r *rig, j *job, place string, count int) {
		_, before, final := r.stepsOf()
		shape := r.shape()
		goOn := j.held(place, count)
		err := j.rollback()
		switch {
		case place == "after step" && count == before+final:
			require.ErrorContains(t, err, "has been altered, and the spec has no undo", "%s %d", place, count)
			_ = goOn()
			require.NoError(t, j.through())
			j.isAltered()
			j.cleanup()
			return
		default:
			require.NoError(t, err, "%s %d", place, count)
		}
		require.Error(t, goOn(), "%s %d", place, count)
		require.Equal(t, shape, r.shape(), "%s %d", place, count)
	})
}

func TestAnAttemptThatWakesUpAfterARollbackBeginsNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		j := r.job("late", "ADD COLUMN region varchar(16)", "")
		require.NoError(t, j.prepare())
		goOn := j.held("session taken", 1)
		require.NoError(t, j.rollback())
		require.ErrorContains(t, goOn(), "has been undone")
		require.Empty(t, r.column("region"))
	})
}

func TestAWorkerThatIsFrozenWithTheLockKeepsTheApplicationWaitingForSecondsOnly(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders()
		j := r.job("frozen", "ADD COLUMN region varchar(16)", "")
		require.NoError(t, j.prepare())
		goOn := j.held("before step commits", 1)
		began := time.Now()
		r.exec("UPDATE public.orders SET price = 3 WHERE id = 1")
		require.Greater(t, time.Since(began), time.Second, "it has the lock")
		require.Less(t, time.Since(began), 8*time.Second)
		require.Error(t, goOn())
		require.NoError(t, j.through())
		require.NotEmpty(t, r.column("region"))
	})
}
