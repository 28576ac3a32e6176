package ddl

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/task"
)

func TestTooManyNotedChangesEndTheCopyWhereThatIsAskedFor(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.filled(100)
		j := r.job("many", r.widen(), asShadow+"throttle: {max_changelog: {rows: 10, then: stop}}\n")
		_, err := j.preflight()
		require.NoError(t, err)
		_, err = j.d.Backup(context.Background(), j.run(task.Backup))
		require.NoError(t, err)
		work, err := j.d.PrepareTransform(context.Background(), j.run(task.Transform))
		require.NoError(t, err)
		r.exec("UPDATE " + r.table("orders") + " SET price = price + 1 WHERE id > 50")
		err = j.shards(task.Transform, work, j.d.TransformShard)
		require.ErrorContains(t, err, "max_changelog: 50 noted changes are pending, and the limit is 10: stopped with everything kept")
		require.Equal(t, task.Human, fault.Of(err).Class)
		j.spec.Throttle.MaxChangelog.Rows = 1000
		rows := r.contents()
		require.NoError(t, j.transform(), "a retry with another limit goes on")
		_, err = j.verify()
		require.NoError(t, err)
		_, err = j.cutover()
		require.NoError(t, err)
		require.Equal(t, rows, r.contents())
	})
}
