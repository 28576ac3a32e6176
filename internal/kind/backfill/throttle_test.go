package backfill

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestAGuardHoldsABackfillAndItsRollbackUntilItPasses(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(3000)
		before := r.snapshot()
		r.exec("CREATE TABLE "+r.table("brake")+" (a int)", "INSERT INTO "+r.table("brake")+" VALUES (1)")
		j := r.job("held", "set: {balance: balance * 100}\nchunks: {rows: 300}\nthrottle: {query: {sql: SELECT count(*) FROM "+r.table("brake")+", max: 0}}\n")
		for _, work := range []func() error{j.transform, j.rollback} {
			done := make(chan error, 1)
			at := r.snapshot()
			go func() { done <- work() }()
			select {
			case err := <-done:
				require.Fail(t, "it was not held", "%v", err)
			case <-time.After(3 * time.Second):
			}
			require.Equal(t, at, r.snapshot())
			r.exec("DELETE FROM " + r.table("brake"))
			require.NoError(t, <-done)
			r.exec("INSERT INTO " + r.table("brake") + " VALUES (1)")
		}
		require.Equal(t, before, r.snapshot())
		require.NotEmpty(t, j.held(), "the ledger says how long")
	})
}

// held is what the ledger says about who held the migration.
func (j *job) held() []task.HeldTime {
	j.r.t.Helper()
	held, err := j.r.store.Migration(j.id).Holds(j.r.t.Context())
	require.NoError(j.r.t, err)
	return held
}
