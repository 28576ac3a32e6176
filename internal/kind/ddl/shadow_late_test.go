package ddl

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// atWork is how many shards of a job the ledger has as at work.
func (j *job) atWork() string {
	j.r.t.Helper()
	return j.r.ask("SELECT count(*) FROM " + j.r.pick("godwit.shard", "_godwit_shard") + " WHERE migration = '" + j.id + "' AND state = 'running'")
}

func TestNamesThatAnAttemptHasChangedBeforeItWasLostAreFoundChanged(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.filled(30)
		j := r.job("lost", r.widen(), asShadow)
		j.compared()
		lost := j.shadow(task.Cutover)
		require.NoError(t, plans(ctx, lost.run, lost.it, task.Cutover))
		require.NoError(t, lost.prepareSwap(ctx))
		lease, err := lost.run.Ledger.ClaimShard(ctx, task.ShardInput{Ref: lost.run.Ref, Phase: task.Cutover, Shard: stepsShard}, "")
		require.NoError(t, err)
		require.NoError(t, lost.swapOnce(ctx, lease, 1, &lockReport{limit: lost.share()}))
		require.Equal(t, "1", j.atWork())

		rows := r.contents()
		_, err = j.cutover()
		require.NoError(t, err)
		require.Equal(t, "0", j.atWork())
		require.Equal(t, rows, r.contents())
		require.NoError(t, j.rollback())
		require.Empty(t, r.beside())
	})
}

func TestARenameThatComesThroughWhenTheNextAttemptHasLookedAtTheNamesIsFound(t *testing.T) {
	onMySQL(t, func(t *testing.T, r *rig) {
		r.filled(30)
		j := r.job("through", r.widen(), asShadow)
		j.compared()
		require.NoError(t, j.shadow(task.Cutover).prepareSwap(context.Background()))
		rows := r.contents()
		goOn := r.hold("names looked at", 1, func() error {
			_, err := j.cutover()
			return err
		})
		r.exec("RENAME TABLE " + r.table("orders") + " TO " + r.table("orders__gw_old") + ", " + r.table("orders__gw_new") + " TO " + r.table("orders"))
		require.NoError(t, goOn())
		require.Contains(t, r.column("customer"), "decimal")
		require.Equal(t, "0", j.atWork())
		require.Equal(t, rows, r.contents())
	})
}

func TestWhatIsDrainedBeforeTheSwapIsNotNotedForTheWayBack(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.filled(50)
		j := r.job("derived", r.widen(), asShadow)
		j.compared()
		s := j.shadow(task.Cutover)
		require.NoError(t, s.prepareSwap(context.Background()))
		noted := func() string { return r.ask("SELECT count(*) FROM " + r.db.QuoteName(s.r.Back.Log) + " WHERE id > 0") }
		r.exec("UPDATE " + r.table("orders") + " SET price = price + 1 WHERE id < 20")
		require.NoError(t, s.drainTo(context.Background(), few))
		require.Equal(t, "0", noted(), "by draining")
		goOn := r.hold("before lock", 1, func() error {
			_, err := j.cutover()
			return err
		})
		r.exec("UPDATE "+r.table("orders")+" SET price = price + 1 WHERE id < 20", "DELETE FROM "+r.table("orders")+" WHERE id = 30")
		require.NoError(t, goOn())
		require.Equal(t, "0", noted(), "by draining under the lock")
		r.exec("UPDATE " + r.table("orders") + " SET price = price + 1 WHERE id < 20")
		require.Equal(t, "19", noted(), "what the application changes is")
		rows := r.contents()
		require.NoError(t, j.rollback())
		require.Equal(t, rows, r.contents())
	})
}
