package backfill

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/task"
)

// TestAnAttemptThatIsHeldUpBeforeItsClosingStatementIsEndedByTheNextOne is
// about one that is frozen where nothing but its statement is missing: on MySQL
// and MariaDB that would commit by itself.
func TestAnAttemptThatIsHeldUpBeforeItsClosingStatementIsEndedByTheNextOne(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(100)
		j := r.job("held", "set: {balance: balance * 100}\ncutover: {sql: \"ALTER TABLE "+r.table("orders")+" ADD COLUMN closed int\"}\n")
		require.NoError(t, j.transform())
		ctx := context.Background()
		run := j.run(task.Cutover, 0)
		it, err := load(ctx, run)
		require.NoError(t, err)
		reached, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- patiently(ctx, run, r.db, it, func(tx engine.Tx) error {
				close(reached)
				<-release
				_, err := tx.Exec(ctx, "ALTER TABLE "+r.table("orders")+" ADD COLUMN late int")
				return err
			})
		}()
		<-reached
		require.NoError(t, j.cutover())
		close(release)
		require.Error(t, <-ended)
		r.exec("SELECT closed FROM " + r.table("orders"))
		_, err = r.db.Exec(ctx, "SELECT late FROM "+r.table("orders"))
		require.ErrorContains(t, err, "late")

		// One that comes only now has nothing to do any more.
		err = patiently(ctx, run, r.db, it, func(engine.Tx) error { panic("it must not come to this") })
		require.ErrorContains(t, err, "another attempt has got further")
	})
}
