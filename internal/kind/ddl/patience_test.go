package ddl

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/sandbox"
	"godwit/internal/task"
)

// touched is a transaction of the application that has the table locked, for so
// long already.
func (r *rig) touched(for_ time.Duration) (end func()) {
	end = r.transaction("UPDATE " + r.table("orders") + " SET price = price + 1 WHERE id = 1")
	time.Sleep(for_)
	return end
}

// alwaysTouched has the table locked by one young transaction after the other: the
// next one begins before the last one ends.
func (r *rig) alwaysTouched() (end func()) {
	statement := "UPDATE " + r.table("orders") + " SET price = price + 1 WHERE id = "
	conns := []*sql.Conn{r.application(), r.application()}
	run := func(i int, statements ...string) {
		for _, s := range statements {
			_, _ = conns[i].ExecContext(context.Background(), s) // an ALTER in the queue may be in its way
		}
	}
	run(0, "BEGIN", statement+"1")
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i = 1 - i {
			select {
			case <-over:
				run(0, "ROLLBACK")
				run(1, "ROLLBACK")
				return
			case <-time.After(500 * time.Millisecond):
				run(1-i, "BEGIN", statement+fmt.Sprint(2-i))
				run(i, "ROLLBACK")
			}
		}
	}()
	return func() {
		close(over)
		<-done
	}
}

// async begins the cut-over of a migration that is prepared.
func (j *job) async() <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := j.cutover()
		done <- err
	}()
	return done
}

// seen lets MariaDB tell whose the locks of tables are.
func (r *rig) seen() {
	if r.kind == sandbox.MariaDB && r.ask("SELECT COUNT(*) FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'METADATA_LOCK_INFO'") == "0" {
		r.exec("INSTALL SONAME 'metadata_lock_info'")
	}
}

func TestAnOldTransactionIsWaitedForByNameWhileNobodyWaitsBehind(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		j := r.job("gap", "ADD COLUMN region varchar(16)", "")
		require.NoError(t, j.prepare())
		end := r.touched(1200 * time.Millisecond)
		done := j.async()
		soon(t, "it says who it waits for", func() bool {
			return j.waited(func(text string) bool {
				return strings.HasPrefix(text, "session ") && strings.Contains(text, ", for ")
			})
		})
		if r.kind != sandbox.MariaDB {
			require.True(t, j.waited(func(text string) bool { return strings.Contains(text, "SET price = price + 1") }), "with its statement")
		}
		began := time.Now()
		for id := 2; id < 10; id++ {
			r.exec(fmt.Sprintf("UPDATE %s SET price = price + 1 WHERE id = %d", r.table("orders"), id))
		}
		require.Less(t, time.Since(began), 2500*time.Millisecond, "nobody waits behind it")
		require.Empty(t, r.column("region"))
		end()
		require.NoError(t, <-done)
		require.NotEmpty(t, r.column("region"))
		require.Empty(t, j.events("lock not had"))
	})
}

func TestATryInVainEndsAfterTheTimeoutAndIsToldOf(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		j := r.job("vain", "ADD COLUMN region varchar(16)", "cutover: {timeout: 1s, retry_delay: 100ms}\n")
		require.NoError(t, j.prepare())
		end := r.alwaysTouched()
		done := j.async()
		soon(t, "the first try is in vain", func() bool { return len(j.events("lock not had")) > 0 })
		require.Contains(t, j.events("lock not had")[0], "try 1: ")
		require.Contains(t, j.events("lock not had")[0], "locks have session ")
		end()
		require.NoError(t, <-done)
		require.NotEmpty(t, r.column("region"))
	})
}

func TestAllTriesTogetherEndWithTheLimitOfTheCutover(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		j := r.job("limit", "ADD COLUMN region varchar(16)", "timeouts: {cutover: 1s}\n")
		require.NoError(t, j.prepare())
		end := r.touched(1100 * time.Millisecond)
		_, err := j.cutover()
		require.ErrorContains(t, err, "was not to be had within 1s")
		require.ErrorContains(t, err, "locks have session ")
		require.Equal(t, task.Busy, fault.Of(err).Class)
		end()
		_, err = j.cutover()
		require.NoError(t, err)
	})
}

func TestSessionsInTheWayAreEndedOnlyWhenItIsAskedForAndOnlySoMany(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		r.seen()
		j := r.job("kill", "ADD COLUMN region varchar(16)", "kill_blockers: {after: 500ms, most: 1}\n")
		require.NoError(t, j.prepare())
		first := r.touched(1200 * time.Millisecond)
		second := r.transaction("UPDATE " + r.table("orders") + " SET price = 7 WHERE id = 2")
		defer first()
		done := j.async()
		soon(t, "the older session is ended", func() bool { return len(j.events("session ended")) == 1 })
		if r.kind != sandbox.MariaDB { // which does not keep the last statement of a session
			require.Contains(t, j.events("session ended")[0], "SET price = price + 1")
		}
		time.Sleep(1500 * time.Millisecond)
		require.Len(t, j.events("session ended"), 1, "and no more than one")
		require.Empty(t, r.column("region"))
		second()
		require.NoError(t, <-done)
		require.NotEmpty(t, r.column("region"))
	})
}

func TestWhoeverMustNotBeEndedIsNot(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		r.seen()
		j := r.job("spared", "ADD COLUMN region varchar(16)", "kill_blockers: {after: 100ms}\n")
		require.NoError(t, j.prepare())
		// One of Godwit's own, as a backfill of another table's rows has them.
		session, err := r.db.Session(context.Background())
		require.NoError(t, err)
		defer session.Destroy()
		tx, err := session.Begin(context.Background())
		require.NoError(t, err)
		_, err = tx.Exec(context.Background(), "UPDATE "+r.table("orders")+" SET price = 2 WHERE id = 5")
		require.NoError(t, err)
		end := func() {}
		if !r.postgres() {
			// One that has changed a lot.
			r.exec("CREATE TABLE "+r.table("many")+" (id int PRIMARY KEY, x int)", "INSERT INTO "+r.table("many")+" SELECT seq, 1 FROM ("+numbers+") n WHERE seq <= 10100")
			end = r.transaction("UPDATE "+r.table("many")+" SET x = 2", "UPDATE "+r.table("orders")+" SET price = 2 WHERE id = 1")
		}
		time.Sleep(1200 * time.Millisecond)
		done := j.async()
		soon(t, "it waits", func() bool { return j.waited(func(string) bool { return true }) })
		time.Sleep(time.Second)
		require.Empty(t, j.events("session ended"))
		end()
		require.NoError(t, tx.Commit(context.Background()))
		require.NoError(t, <-done)
	})
}

// numbers is a query of numbers from 1, for MySQL and MariaDB.
const numbers = "SELECT 1 + a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d AS seq FROM " + digits + " a, " + digits + " b, " + digits + " c, " + digits + " e, " + digits + " f"

const digits = "(SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"

func TestOutsideOfItsWindowNothingIsCutOver(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		now := time.Now().UTC()
		between := now.Add(2*time.Hour).Format("15:04") + "-" + now.Add(3*time.Hour).Format("15:04")
		j := r.job("window", "ADD COLUMN region varchar(16)", "cutover: {between: '"+between+"'}\n")
		require.NoError(t, j.prepare())
		result, err := j.cutover()
		require.NoError(t, err)
		require.True(t, result.Shut)
		require.Empty(t, r.column("region"))
		j.spec.DDL.Cutover.Between = ""
		result, err = j.cutover()
		require.NoError(t, err)
		require.False(t, result.Shut)
		require.NotEmpty(t, r.column("region"))
	})
}

func TestAStopEndsTheWaitAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		j := r.job("stop", "ADD COLUMN region varchar(16)", "")
		require.NoError(t, j.prepare())
		end := r.touched(1200 * time.Millisecond)
		defer end()
		done := j.async()
		soon(t, "it waits", func() bool { return j.waited(func(string) bool { return true }) })
		began := time.Now()
		close(j.stop)
		err := <-done
		require.Equal(t, task.Stopping, fault.Of(err).Class)
		require.Less(t, time.Since(began), time.Second)
	})
}
