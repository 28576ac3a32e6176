package reindex

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// invalid makes an index as a broken-off build leaves it.
func (r *rig) invalid(name, on string) {
	r.t.Helper()
	r.exec("CREATE INDEX "+name+" ON "+on, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"+name+"'::regclass")
}

func TestWhatEarlierBuildsHaveLeftIsRemovedAndOnlyThat(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders(100)
		r.exec("CREATE INDEX mine_ccnew ON orders (note)") // valid: somebody calls it so
		before := r.indexes()
		r.invalid("orders_customer_ccnew", "orders (customer)")
		r.invalid("orders_customer_ccold3", "orders (customer)")
		r.invalid("orders_failed", "orders (note)")
		plan, err := r.job("p", "table: orders\n").plan()
		require.NoError(t, err)
		require.Contains(t, strings.Join(plan.Warnings, "\n"), "earlier builds have left orders_customer_ccnew, orders_customer_ccold3 on public.orders")
		require.Contains(t, strings.Join(plan.Warnings, "\n"), "public.orders_failed is invalid")
		j := r.job("sweep", "table: orders\n")
		j.all()
		require.Equal(t, []string{"orders_customer_ccnew, orders_customer_ccold3"}, j.events("leftover removed"))
		now := r.indexes()
		require.Len(t, now, len(before)+1)
		require.Contains(t, now, "CREATE INDEX orders_failed ON public.orders USING btree (note)", "it is valid now")
		require.Subset(t, now, before)
	})
}

func TestAnInvalidIndexByTheNewOnesNameIsNoIndex(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders(100)
		r.invalid("orders_new", "orders (note)")
		j := r.job("new", "create: CREATE INDEX orders_new ON orders (customer, id)\n")
		j.all()
		require.Contains(t, r.indexes(), "CREATE INDEX orders_new ON public.orders USING btree (customer, id)")
		require.Equal(t, []string{"orders_new"}, j.events("leftover removed"))
	})
}

func TestAnIndexThatSomebodyElseIsBuildingIsWaitedForAndLeftAlone(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders(100)
		end := r.transaction("UPDATE orders SET note = 'held' WHERE id = 1")
		theirs := make(chan error, 1)
		go func() {
			_, err := r.sql.Exec("CREATE INDEX CONCURRENTLY theirs_ccnew ON orders (note)")
			theirs <- err
		}()
		soon(t, "the build of somebody else", func() bool {
			return len(r.texts("SELECT '' FROM pg_index WHERE indexrelid = to_regclass('theirs_ccnew')")) == 1
		})
		j := r.job("ours", "table: orders\nindex: orders_customer\n")
		j.begin()
		ours := make(chan error, 1)
		go func() { ours <- j.shard(context.Background(), task.Transform, 1) }()
		soon(t, "to be told who is waited for", func() bool { return j.waited("which builds an index of the table") })
		select {
		case err := <-ours:
			require.Fail(t, "it did not wait", "%v", err)
		case <-time.After(300 * time.Millisecond):
		}
		end()
		require.NoError(t, <-theirs)
		require.NoError(t, <-ours)
		require.Contains(t, r.indexes(), "CREATE INDEX theirs_ccnew ON public.orders USING btree (note)")
		require.Empty(t, j.events("leftover removed"))
	})
}

func TestAUniqueIndexOverDuplicatesNamesThemAndLeavesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(100)
		r.exec("UPDATE orders SET note = 'twice' WHERE id IN (3, 4)", "UPDATE orders SET note = 'thrice' WHERE id IN (5, 6, 7)")
		before := r.indexes()
		j := r.job("unique", "create: [CREATE UNIQUE INDEX orders_unique ON orders (note), \"CREATE INDEX orders_other ON orders (id, note)\"]\n")
		work := j.begin()
		require.Equal(t, 2, work.Shards)
		err := j.shard(context.Background(), task.Transform, 1)
		require.ErrorContains(t, err, r.pick("(note)", "(`note`)")+"=(twice), 2 rows")
		require.ErrorContains(t, err, r.pick("(note)", "(`note`)")+"=(thrice), 3 rows")
		require.Equal(t, task.Data, fault.Of(err).Class)
		require.Equal(t, before, r.indexes())
		require.NoError(t, j.shard(context.Background(), task.Transform, 2), "the other one is built")
		r.exec("UPDATE orders SET note = concat('note ', id) WHERE id IN (3, 4, 5, 6, 7)")
		require.NoError(t, j.shard(context.Background(), task.Transform, 1), "and this one when the rows are mended")
		require.NoError(t, j.rollback())
		require.Equal(t, before, r.indexes())
	})
}

func TestAnIndexWhoseRowsAreNoLongerUniqueIsNotBuiltAnew(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders(100)
		r.exec("CREATE UNIQUE INDEX orders_only ON orders (note)", "UPDATE pg_index SET indisunique = false WHERE indexrelid = 'orders_only'::regclass",
			"UPDATE orders SET note = 'twice' WHERE id IN (3, 4)", "UPDATE pg_index SET indisunique = true WHERE indexrelid = 'orders_only'::regclass")
		before := r.indexes()
		j := r.job("corrupt", "table: orders\nindex: orders_only\n")
		j.begin()
		err := j.shard(context.Background(), task.Transform, 1)
		require.ErrorContains(t, err, "(note)=(twice), 2 rows")
		require.Equal(t, before, r.indexes(), "the old one is there, and nothing beside it")
	})
}
