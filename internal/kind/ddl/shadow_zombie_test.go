package ddl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/task"
)

func TestOneWhoWakesFromARollbackRemovesNothingOfTheNextMigration(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.filled(40)
		rows := r.contents()
		first := r.job("first", r.widen(), asShadow)
		require.NoError(t, first.prepare())
		run := first.run(task.Cleanup)
		db, it, err := both(t.Context(), run)
		require.NoError(t, err)
		frozen := first.d.shadowOf(run, db, it)
		require.NoError(t, first.rollback())
		next := r.job("next", r.widen(), asShadow)
		require.NoError(t, next.prepare())
		for _, act := range []func() error{
			func() error {
				return frozen.drop(t.Context(), task.Cleanup, it.Reshaping.Capture, it.Reshaping.Table.Name)
			},
			func() error { return frozen.dropTable(t.Context(), task.Cleanup, it.Reshaping.Shadow) },
			func() error { return frozen.undo(t.Context()) },
		} {
			err := act()
			require.ErrorContains(t, err, "another attempt steers")
			require.Equal(t, task.Superseded, fault.Of(err).Class)
		}
		_, err = next.verify()
		require.NoError(t, err)
		_, err = next.cutover()
		require.NoError(t, err)
		require.Equal(t, rows, r.contents())
	})
}
