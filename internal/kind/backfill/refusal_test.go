package backfill

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/task"
)

func TestWhatCannotBeBackfilledIsRefusedBeforeAnythingIsChanged(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(10)
		r.exec("CREATE TABLE "+r.table("keyless")+" (a int)", "ALTER TABLE "+r.table("orders")+" ADD COLUMN twice bigint GENERATED ALWAYS AS (balance * 2) STORED")
		for _, c := range []struct{ table, more, want string }{
			{"nothing", "set: {a: '1'}\n", "there is no table " + r.table("nothing") + " on connection shop"},
			{"keyless", "set: {a: '1'}\n", "has no key that ranges can be cut by"},
			{"orders", "set: {regoin: '1'}\n", `set.regoin: ` + r.table("orders") + ` has no such column; did you mean "region"?`},
			{"orders", "set: {id: id + 1}\n", "set.id: the column is part of the key"},
			{"orders", "set: {twice: '1'}\n", "set.twice: the column is generated"},
			{"orders", "set: {balance: balans + 1}\n", "set of " + r.table("orders") + ".balance"},
			{"orders", "set: {balance: '1'}\nwhere: regoin IS NULL\n", "where of " + r.table("orders")},
			{"orders", "set: {balance: '1'}\nwhere: \"1=1) OR (1=1\"\n", "where of " + r.table("orders")},
			{"orders", "set: {balance: '1'}\ncheck: {query: SELECT nonsense FROM nowhere}\n", "check.query"},
			{"orders", "statement: DELETE FROM nowhere WHERE :range\n", "statement 1"},
			{"orders", "set: {region: o.region}\nfrom: " + r.table("keyless") + "\non: keyless.a = orders.id\n", "set, where and on, together with from"},
		} {
			j := r.job("refused", c.more)
			j.spec.Backfill.Table = r.table(c.table)
			_, err := j.preflight()
			require.ErrorContains(t, err, c.want)
			require.Equal(t, task.Config, fault.Of(err).Class, err.Error())
		}
		require.Equal(t, "0", r.savedTables())
	})
}

func TestASecondBackfillOfATableIsRefusedAndNamesTheFirst(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(10)
		_, err := r.job("first", region).preflight()
		require.NoError(t, err)
		_, err = r.job("second", region).preflight()
		require.ErrorContains(t, err, "is being migrated by first")
	})
}

func TestAChangedTableIsFoundOnResume(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(10)
		j := r.job("changed", region)
		_, err := j.preflight()
		require.NoError(t, err)
		r.exec("ALTER TABLE " + r.table("orders") + " ADD COLUMN more int")
		_, err = j.preflight()
		require.ErrorContains(t, err, "changed since the migration began: table "+r.table("orders"))
	})
}

func TestAChunkThatMeetsALockIsHalvedAndTriedAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(2000)
		release := r.locked("UPDATE " + r.table("orders") + " SET balance = balance WHERE id = 1500")
		j := r.job("locked", "set: {balance: balance * 100}\n")
		done := make(chan error, 1)
		go func() { done <- j.transform() }()
		soon(t, "the rows before the locked one are done", func() bool {
			return r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE balance = id * 100 AND id <= 1000") == "1000"
		})
		time.Sleep(1500 * time.Millisecond)
		release()
		require.NoError(t, <-done)
		require.Equal(t, "0", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE balance <> id * 100"))
	})
}

func TestASupersededAttemptWritesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(1000)
		j := r.job("zombie", "set: {balance: balance * 100}\nchunks: {rows: 100}\n")
		_, err := j.preflight()
		require.NoError(t, err)
		_, err = j.b.Backup(t.Context(), j.run(task.Backup, 0))
		require.NoError(t, err)
		work, err := j.b.PrepareTransform(t.Context(), j.run(task.Transform, 0))
		require.NoError(t, err)
		run, chunks := j.run(task.Transform, 1), 0
		frozen := make(chan error, 1)
		proceed, at := make(chan struct{}), make(chan struct{})
		run.Beat = func(task.Heartbeat) {
			if chunks++; chunks == 4 {
				close(at)
				<-proceed
			}
		}
		go func() {
			_, err := j.b.TransformShard(t.Context(), run, task.ShardInput{Ref: task.Ref{ID: j.id}, Phase: task.Transform, Shard: work.Open[0]})
			frozen <- err
		}()
		<-at
		require.NoError(t, j.shard(1), "another attempt takes over")
		close(proceed)
		require.Error(t, <-frozen)
		require.Equal(t, "0", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE balance <> id * 100"))
	})
}
