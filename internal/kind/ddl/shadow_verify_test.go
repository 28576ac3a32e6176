package ddl

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestATableThatIsEmptiedFasterThanItIsDrainedIsComparedAllTheSame(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.filled(30)
		j := r.job("emptied", r.widen(), asShadow)
		require.NoError(t, j.prepare())
		copies, _, err := j.shadow(task.Verify).shards(ctx)
		require.NoError(t, err)
		within := copies[0].Range
		now := func(busy bool) (compared, bool) {
			s := j.shadow(task.Verify)
			session, err := s.session(ctx, nil)
			require.NoError(t, err)
			defer session.Destroy()
			found, done, err := s.compareNow(ctx, session, within, busy, false)
			require.NoError(t, err)
			return found, done
		}
		found, done := now(false)
		require.True(t, done)
		require.EqualValues(t, 15, found.Rows)

		r.exec("TRUNCATE "+r.table("orders"), "INSERT INTO "+r.table("orders")+" (id, customer, note, price) VALUES (3, 1, 'new', 1), (5, 1, 'too', 1)")
		_, done = now(false)
		require.False(t, done, "it is drained first")
		found, done = now(true)
		require.True(t, done)
		require.Equal(t, compared{LeftOut: 15}, found)

		r.exec("ALTER TABLE "+r.table("orders")+" DISABLE TRIGGER USER", "INSERT INTO "+r.table("orders")+" (id, customer, note, price) VALUES (4, 1, 'missed', 1)")
		found, done = now(true)
		require.False(t, done)
		require.NotZero(t, found.different(), "a row that is not noted")
	})
}
