package backfill

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/task"
)

func TestARollbackGivesEveryRowItsOldValuesBack(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(3000)
		before := r.snapshot()
		j := r.job("back", "set: {balance: balance * 100, region: \"'x'\"}\nshards: {rows: 1000}\n")
		j.all()
		require.NotEqual(t, before, r.snapshot())
		require.NoError(t, j.rollback())
		require.Equal(t, before, r.snapshot())
		require.Equal(t, "0", r.savedTables())
		require.NoError(t, j.rollback(), "again, it has nothing to do")
		j.all() // the same id can begin anew
		require.Equal(t, "0", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE balance <> id * 100"))
	})
}

func TestARollbackSkipsAndListsRowsThatOthersHaveChangedSince(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(1000)
		j := r.job("skip", region)
		j.all()
		r.exec("UPDATE "+r.table("orders")+" SET region = 'EU' WHERE id = 1000", // differs by case alone
			"UPDATE "+r.table("orders")+" SET region = 'mine' WHERE id = 10", "DELETE FROM "+r.table("orders")+" WHERE id = 20",
			"UPDATE "+r.table("orders")+" SET balance = 5 WHERE id = 30")
		require.NoError(t, j.rollback())
		require.Equal(t, "997", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE region IS NULL"))
		require.Equal(t, "mine", r.ask("SELECT region FROM "+r.table("orders")+" WHERE id = 10"))
		listed := strings.Join(j.events("row not restored"), "\n")
		require.Contains(t, listed, "id=10; region was NULL, the backfill made it apac, now it is mine")
		require.Contains(t, listed, "id=20: the row is gone")
		require.Contains(t, listed, "id=1000; region was NULL, the backfill made it ")
		require.Equal(t, "1", r.savedTables(), "the old values of these three rows")
		require.Contains(t, strings.Join(j.events("rows restored"), ""), "997 rows have their old values again; 3 were changed by others")
	})
}

func TestARollbackKnowsWhatTheTablesTriggersHaveMadeOfTheNewValues(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(200)
		if r.postgres() {
			r.exec("CREATE FUNCTION public.odd() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.balance := NEW.balance + 1; RETURN NEW; END'",
				"CREATE TRIGGER odd BEFORE UPDATE ON public.orders FOR EACH ROW WHEN (NEW.balance > 200) EXECUTE FUNCTION public.odd()")
		} else {
			r.exec("CREATE TRIGGER " + r.table("odd") + " BEFORE UPDATE ON " + r.table("orders") + " FOR EACH ROW SET NEW.balance = NEW.balance + (NEW.balance > 200)")
		}
		j := r.job("trigger", "set: {balance: balance * 100}\n")
		j.all()
		require.Equal(t, "198", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE balance = id * 100 + 1"))
		require.NoError(t, j.rollback())
		require.Contains(t, strings.Join(j.events("rows restored"), ""), "200 rows have their old values again; 0 were changed by others")
	})
}

func TestRowsThatATriggerKeepsAsTheyAreAreNotWaitedFor(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		if !r.postgres() {
			return // there no trigger can
		}
		r.orders(200)
		r.exec("CREATE TRIGGER idle BEFORE UPDATE ON public.orders FOR EACH ROW EXECUTE FUNCTION pg_catalog.suppress_redundant_updates_trigger()")
		before := r.snapshot()
		j := r.job("idle", "set: {balance: \"CASE WHEN id > 100 THEN 0 ELSE balance END\"}\n")
		j.all()
		require.Equal(t, "100", r.ask("SELECT count(*) FROM public.orders WHERE balance = 0"))
		require.NoError(t, j.rollback())
		require.Equal(t, before, r.snapshot())
	})
}

func TestARollbackThatIsInterruptedGoesOn(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(5000)
		before := r.snapshot()
		j := r.job("halfway", "set: {balance: balance * 100}\nchunks: {rows: 100}\n")
		j.all()
		ctx, cancel := context.WithCancel(context.Background())
		run := j.run(task.Cleanup, 0)
		chunks := 0
		run.Beat = func(task.Heartbeat) {
			if chunks++; chunks == 10 {
				cancel()
			}
		}
		require.Error(t, j.b.Rollback(ctx, run))
		require.NotEqual(t, before, r.snapshot())
		require.NoError(t, j.rollback())
		require.Equal(t, before, r.snapshot())
	})
}

func TestABackfillOfSeveralPassesIsUndonePassByPass(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(100)
		j := r.job("twice", region)
		require.NoError(t, j.transform())
		r.exec("UPDATE " + r.table("orders") + " SET region = NULL WHERE id = 5")
		work, err := j.b.FinishTransform(context.Background(), j.run(task.Transform, 0))
		require.NoError(t, err)
		for _, no := range work.Open {
			require.NoError(t, j.shard(no))
		}
		require.NoError(t, j.rollback())
		require.Equal(t, "100", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE region IS NULL"))
	})
}

func TestWhatHasNoBackupCannotBeRolledBackButCancelled(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(100)
		j := r.job("none", "set: {balance: balance * 2}\nbackup: none\n")
		j.all()
		err := j.rollback()
		require.ErrorContains(t, err, "no old values were kept of the 100 rows")
		require.Equal(t, task.Human, fault.Of(err).Class)
		run := j.run(task.Cleanup, 0)
		run.Cancel = true
		require.NoError(t, j.b.Rollback(context.Background(), run))
		require.Len(t, j.events("left as it is"), 1)
	})
}

func TestTheClosingStatementRunsOnceAndIsTakenBack(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(500)
		closing, undo := "ALTER TABLE orders ALTER region SET NOT NULL", "ALTER TABLE "+r.table("orders")+" ALTER region DROP NOT NULL"
		if !r.postgres() {
			closing, undo = "ALTER TABLE "+r.table("orders")+" MODIFY region varchar(8) NOT NULL", "ALTER TABLE "+r.table("orders")+" MODIFY region varchar(8)"
		}
		j := r.job("close", region+"cutover: {sql: \""+closing+"\", undo: \""+undo+"\"}\n")
		j.all()
		require.Equal(t, "NO", r.ask("SELECT is_nullable FROM information_schema.columns WHERE table_schema = '"+r.schema+"' AND table_name = 'orders' AND column_name = 'region'"))
		require.NoError(t, j.cutover(), "again, it has nothing to do")
		_, err := j.preflight()
		require.NoError(t, err, "what the closing statement has changed is no reason not to go on")
		require.NoError(t, j.rollback())
		require.Equal(t, "500", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE region IS NULL"))
	})
}

func TestAClosingStatementWhoseOutcomeIsUnknownIsNotRunTwice(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		if r.postgres() {
			return // there it is one transaction with its record
		}
		r.orders(10)
		closing := "ALTER TABLE " + r.table("orders") + " ADD COLUMN done int"
		j := r.job("lost", region+"cutover: {sql: \""+closing+"\"}\n")
		require.NoError(t, j.transform())
		it, err := load(context.Background(), j.run(task.Cutover, 0))
		require.NoError(t, err)
		require.ErrorContains(t, closeWith(context.Background(), j.run(task.Cutover, 0), r.db, it, "ALTER TABLE "+r.table("orders")+" DROP COLUMN nowhere"), "nowhere")
		r.exec(closing) // as a try does whose answer is lost
		require.NoError(t, j.cutover())
	})
}

func TestAClosingStatementThatDoesNotGetItsLockGivesUp(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(10)
		j := r.job("lock", region+"cutover: {sql: \"ALTER TABLE "+r.table("orders")+" ADD COLUMN done int\", timeout: 1s}\n")
		require.NoError(t, j.transform())
		release := r.locked("UPDATE " + r.table("orders") + " SET balance = 1 WHERE id = 1")
		began := time.Now()
		err := j.cutover()
		require.Equal(t, task.Busy, fault.Of(err).Class)
		require.Less(t, time.Since(began), 5*time.Second)
		release()
		require.NoError(t, j.cutover())
	})
}

func TestARollbackAfterAClosingStatementThatFailedNeedsNothingToTakeItBack(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(100)
		j := r.job("failed", "set: {balance: balance * 100}\ncutover: {sql: \"ALTER TABLE "+r.table("orders")+" DROP COLUMN nowhere\"}\n")
		require.NoError(t, j.transform())
		require.ErrorContains(t, j.cutover(), "nowhere")
		require.NoError(t, j.rollback())
		require.Equal(t, "100", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE balance = id"))
	})
}

func TestAClosingStatementAboutSomethingElseIsTakenBackAsWell(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(100)
		r.exec("CREATE TABLE "+r.table("flags")+" (done int)", "INSERT INTO "+r.table("flags")+" VALUES (0)")
		j := r.job("flags", fmt.Sprintf("set: {balance: balance * 100}\ncutover: {sql: %q, undo: %q}\n", "UPDATE "+r.table("flags")+" SET done = done + 1", "UPDATE "+r.table("flags")+" SET done = done - 1"))
		j.all()
		require.Equal(t, "1", r.ask("SELECT done FROM "+r.table("flags")))
		require.NoError(t, j.rollback())
		require.Equal(t, "0", r.ask("SELECT done FROM "+r.table("flags")))
	})
}

func TestWhatIsHalfRolledBackIsNotGoneOnWith(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(3000)
		j := r.job("halfway", "set: {balance: balance * 100}\nchunks: {rows: 100}\n")
		j.all()
		ctx, cancel := context.WithCancel(t.Context())
		run := j.run(task.Cleanup, 0)
		run.Beat = func(task.Heartbeat) { cancel() }
		require.Error(t, j.b.Rollback(ctx, run))
		_, err := j.preflight()
		require.ErrorContains(t, err, "`godwit rollback halfway` carries it through")
		require.NoError(t, j.rollback())
		j.all()
	})
}

func TestOldValuesThatAreLeftAreNotMixedWithOthers(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(100)
		j := r.job("left", "set: {balance: balance * 100}\n")
		j.all()
		r.exec("UPDATE " + r.table("orders") + " SET balance = 7 WHERE id = 10")
		require.NoError(t, j.rollback())
		_, err := j.preflight()
		require.ErrorContains(t, err, "is there from an earlier backfill left, with the old values of rows that its rollback could not restore")
		it, err := load(t.Context(), j.run(task.Preflight, 0))
		require.NoError(t, err)
		r.exec(r.db.DropSaved(it.Rewrite))
		j.all()
	})
}
