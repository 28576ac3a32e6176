package reindex

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/task"
)

// held begins a build that cannot end before a transaction of the application's,
// and returns when it waits for that.
func (j *job) held(ctx context.Context) (end func(), outcome chan error) {
	j.r.t.Helper()
	end = j.r.transaction("UPDATE orders SET customer = 0 WHERE id = 1")
	outcome = make(chan error, 1)
	go func() { outcome <- j.shard(ctx, task.Transform, 1) }()
	soon(j.r.t, "the build to wait for a transaction", func() bool { return j.waited(", to end: ") })
	return end, outcome
}

func TestABuildThatIsStoppedLeavesNothingAndIsDoneByTheNextAttempt(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		for i, lines := range []string{"table: orders\nindex: orders_customer\n", "create: CREATE INDEX orders_new ON orders (customer, note)\n"} {
			r.orders(1000)
			before := r.indexes()
			j := r.job("stopped"+string(rune('a'+i)), lines)
			j.begin()
			end, outcome := j.held(context.Background())
			close(j.stop)
			soon(t, "the attempt to end", func() bool { return len(outcome) == 1 })
			require.Equal(t, task.Stopping, fault.Of(<-outcome).Class)
			end()
			j.stop = make(chan struct{})
			require.NoError(t, j.shard(context.Background(), task.Transform, 1))
			require.Subset(t, r.indexes(), before)
			require.Len(t, r.indexes(), len(before)+i)
			require.NoError(t, j.rollback())
			require.Equal(t, before, r.indexes())
			r.exec("DROP TABLE orders")
		}
	})
}

func TestABuildWhoseSessionIsLostIsDoneByTheNextAttempt(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders(1000)
		before := r.indexes()
		j := r.job("lost", "table: orders\nindex: orders_customer\n")
		j.begin()
		end, outcome := j.held(context.Background())
		r.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_progress_create_index")
		time.Sleep(100 * time.Millisecond)
		end()
		err := <-outcome
		require.Equal(t, task.Transient, kind.Classify(err).Class, "%v", err)
		require.NoError(t, j.shard(context.Background(), task.Transform, 1))
		require.Equal(t, before, r.indexes())
	})
}

// TestABuildWhoseWorkerHasGoneIsEndedAndDoneAgain leaves a build to the server, as
// a worker does that is killed.
func TestABuildWhoseWorkerHasGoneIsEndedAndDoneAgain(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders(1000)
		before := r.indexes()
		j := r.job("frozen", "table: orders\nindex: orders_customer\n")
		j.begin()
		end, first := j.held(context.Background())
		second := make(chan error, 1)
		again := &job{r: r, k: New("test"), id: j.id, spec: j.spec, stop: make(chan struct{})}
		go func() { second <- again.shard(context.Background(), task.Transform, 1) }()
		require.Error(t, <-first, "its session was ended by the second")
		end()
		require.NoError(t, <-second)
		require.Equal(t, before, r.indexes())
		require.Empty(t, r.texts("SELECT pid::text FROM pg_stat_progress_create_index"))
	})
}

func TestARollbackEndsABuildAndRemovesWhatItHasLeft(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(1000)
		before := r.indexes()
		j := r.job("cancelled", "create: CREATE INDEX orders_new ON orders (customer, note)\n")
		j.begin()
		end, outcome := j.held(context.Background())
		undone := make(chan error, 1)
		go func() {
			undone <- (&job{r: r, k: New("test"), id: j.id, spec: j.spec, stop: make(chan struct{})}).rollback()
		}()
		require.Error(t, <-outcome)
		end()
		require.NoError(t, <-undone)
		require.Equal(t, before, r.indexes())
		err := j.shard(context.Background(), task.Transform, 1)
		require.ErrorContains(t, err, "the migration has been undone")
		require.Equal(t, before, r.indexes())
	})
}
