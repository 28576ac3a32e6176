package ddl

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/hook"
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
		file := filepath.Join(t.TempDir(), "held")
		require.NoError(t, hook.Arm("names looked at:1:hold="+file))
		done := make(chan error, 1)
		go func() {
			_, err := j.cutover()
			done <- err
		}()
		soon(t, "it has looked at the names", func() bool {
			_, err := os.Stat(file)
			return err == nil
		})
		r.exec("RENAME TABLE " + r.table("orders") + " TO " + r.table("orders__gw_old") + ", " + r.table("orders__gw_new") + " TO " + r.table("orders"))
		require.NoError(t, os.Remove(file))
		require.NoError(t, <-done)
		require.Contains(t, r.column("customer"), "decimal")
		require.Equal(t, "0", j.atWork())
		require.Equal(t, rows, r.contents())
	})
}
