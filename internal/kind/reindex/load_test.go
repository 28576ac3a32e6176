package reindex

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/task"
)

func TestIndexesThatWasteSpaceArePickedByEstimateAndByMeasurement(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders(20_000)
		r.exec("DELETE FROM orders WHERE id % 5 <> 0", "CREATE INDEX orders_fresh ON orders (note)", "VACUUM ANALYZE orders")
		picked := func() (names []string) {
			plan, err := r.db.PlanIndexes(context.Background(), wish(r.job("p", "table: orders\nbloat: {percent: 40, size: 8KiB}\n").spec.Reindex, r.db))
			require.NoError(t, err)
			for _, w := range plan.Works {
				require.GreaterOrEqual(t, *w.Bloat, 40.0)
				names = append(names, w.Index)
			}
			return names
		}
		estimated := picked()
		require.Subset(t, estimated, []string{"orders_note", "orders_pkey"})
		require.NotContains(t, estimated, "orders_fresh")
		r.exec("CREATE EXTENSION pgstattuple")
		require.ElementsMatch(t, []string{"orders_note", "orders_pkey", "orders_customer"}, picked(), "measured, what occurs many times counts as well")
		r.job("bloat", "table: orders\nbloat: {percent: 40, size: 8KiB}\n").all()
		require.Empty(t, picked(), "nothing is wasted any more")
		none := r.job("none", "table: nothing_left\n")
		none.spec.Reindex.Table, none.spec.Reindex.Bloat = "orders", r.job("p", "table: orders\nbloat: {percent: 99, size: 1GiB}\n").spec.Reindex.Bloat
		r.exec("DELETE FROM godwit.claim")
		require.Equal(t, []string{"no index was built"}, none.all().Checked)
		none.cleanup()
	})
}

// loaded is a job whose throttle goes by a number that the test sets.
func (r *rig) loaded(id, lines string) (j *job, set func(n string)) {
	r.t.Helper()
	r.exec("CREATE TABLE IF NOT EXISTS crowd (n bigint NOT NULL)", "INSERT INTO crowd VALUES (0)")
	j = r.job(id, "table: orders\nindex: orders_customer\n"+lines+"throttle: {query: {sql: SELECT max(n) FROM "+r.table("crowd")+", max: 10}}\n")
	return j, func(n string) { r.exec("UPDATE crowd SET n = " + n) }
}

func TestABuildBeginsUnderTheLowWatermarkOnly(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(100)
		j, set := r.loaded("low", "")
		j.begin()
		set("9") // between the low and the high one
		outcome := make(chan error, 1)
		go func() { outcome <- j.shard(context.Background(), task.Transform, 1) }()
		time.Sleep(3 * time.Second)
		require.Empty(t, outcome)
		require.Empty(t, j.events("step done"))
		set("8")
		require.NoError(t, <-outcome)
	})
}

func TestABuildIsGivenUpWhenTheThrottleStaysCriticalAndTakesLessTheNextTime(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(1000)
		before := r.indexes()
		j, set := r.loaded("critical", "build: {workers: 3, memory: 64MiB, lock_timeout: 60s}\ncritical: {percent: 150, after: 2s}\n")
		j.begin()
		end, outcome := j.held(context.Background())
		if !r.postgres() { // there it is waited for before the build has begun
			time.Sleep(patience)
		}
		set("14") // above the high one, and not critical
		time.Sleep(4 * time.Second)
		require.Empty(t, outcome, "what has begun goes on")
		set("16")
		err := <-outcome
		var exhausted *kind.Exhausted
		require.True(t, errors.As(err, &exhausted), "to the retry queue: %v", err)
		require.Equal(t, task.Busy, fault.Of(err).Class)
		require.ErrorContains(t, err, "query on shop: 16, and the limit is 10 for")
		end()
		set("0")
		require.NoError(t, j.shard(context.Background(), task.Transform, 1))
		require.Equal(t, before, r.indexes())
		require.Len(t, j.events("build given up"), 1)
		switch done := strings.Join(j.events("step done"), "\n"); r.kind {
		case "postgres":
			require.Contains(t, done, "with up to 1 workers besides and 32 MiB of memory")
		case "mysql":
			require.Contains(t, done, "with 2 threads and 32 MiB of memory")
		}
	})
}

func TestABuildTakesLessAndLessButNotNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		workers := 2
		for _, c := range []struct {
			halved          int
			postgres, mysql string
		}{
			{0, "with up to 2 workers besides and 64 MiB of memory", "with 3 threads and 64 MiB of memory"},
			{1, "with up to 1 workers besides and 32 MiB of memory", "with 1 threads and 32 MiB of memory"},
			{9, "with up to 0 workers besides and 16 MiB of memory", "with 1 threads and 1.0 MiB of memory"},
		} {
			settings, how, err := r.db.BuildSettings(context.Background(), engine.BuildLimits{Workers: &workers, Memory: 64 << 20, Halved: c.halved, LockWait: 1})
			require.NoError(t, err)
			if r.kind == "mariadb" {
				require.Equal(t, "as the server is set", how)
				continue
			}
			require.Equal(t, r.pick(c.postgres, c.mysql), how)
			session, err := r.db.Session(context.Background())
			require.NoError(t, err)
			for _, setting := range settings {
				_, err := session.Exec(context.Background(), setting)
				require.NoError(t, err, setting)
			}
			session.Destroy()
		}
	})
}

func TestABuildTellsHowFarItHasCome(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(300_000)
		j := r.job("progress", "create: CREATE INDEX orders_wide ON orders (note, customer, id)\n")
		j.begin()
		require.NoError(t, j.shard(context.Background(), task.Transform, 1))
		j.mu.Lock()
		defer j.mu.Unlock()
		last := 0.0
		for _, h := range j.beats {
			require.GreaterOrEqual(t, h.Percent, last, "it does not go back")
			require.LessOrEqual(t, h.Percent, 100.0)
			last = h.Percent
			if h.Percent > 0 {
				require.NotEmpty(t, h.Checkpoint, "the server's phase")
				require.Positive(t, h.RowsTotal)
			}
		}
	})
}
