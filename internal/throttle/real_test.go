package throttle_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/internal/throttle"
)

// TestGuards runs on real servers with real replicas; every scenario has a
// migration of its own.
func TestGuards(t *testing.T) {
	r := newRig(t)
	for _, scenario := range []struct {
		name string
		run  func(*testing.T, *rig)
		side bool // it can run beside others
	}{
		{"AllGuardsOfAHealthyRigLetWorkGo", healthy, false},
		{"AReplicaThatLagsHoldsUntilItHasCaughtUp", laggingReplica, false},
		{"AReplicaThatIsFrozenHoldsUntilItAnswers", frozenReplica, false},
		{"AStandbyThatDoesNotApplyHoldsUntilItHasCaughtUp", laggingStandby, false},
		{"AStandbyThatDiesHoldsUntilItIsBackOrTheGuardIsTakenAway", deadStandby, false},
		{"ABudgetOfLogHoldsUntilTheLogIsFreed", logBudget, false},
		{"ABudgetOfLogCanStopInstead", logStop, false},
		{"AnOldTransactionHoldsUntilItEnds", oldTransaction, false},
		{"AnEndpointThatRefusesFailsOrHangsHoldsUntilItRecovers", endpoint, true},
		{"ADiskThatIsFullHoldsUntilThereIsRoom", fullDisk, true},
		{"AQueryHoldsWhileItsNumberIsTooHigh", ownQuery, true},
		{"CommitsThatTakeLongHoldUntilTheyDoNot", slowCommits, true},
		{"AnOperatorHoldsAndReleases", operatorsHold, true},
		{"BytesFlowNoFasterThanTheirLimit", bytesLimit, true},
		{"TooManyNotedChangesAreAppliedBeforeItGoesOn", changelogLimit, true},
		{"TooManyNotedChangesCanStopInstead", changelogStop, true},
		{"NotedChangesAreAppliedWhileSomethingElseHolds", drainedWhileHeld, true},
		{"AStopEndsTheWaitAtOnce", stopWhileHeld, true},
		{"WhatSomebodyHasToMendIsFoundBeforehand", checked, true},
	} {
		t.Run(scenario.name, func(t *testing.T) {
			if scenario.side {
				t.Parallel()
			}
			scenario.run(t, r)
		})
	}
}

const second = spec.Duration(time.Second)

func healthy(t *testing.T, r *rig) {
	h := r.begin(t, spec.Throttle{Replicas: []string{"shop_r1", "warehouse_r1"}, MaxLag: 10 * second, MaxActive: 50, MaxIOWaits: 50, MaxCommitLatency: 5 * second,
		MaxLogGrowth: &spec.LogGrowth{Bytes: 1 << 40}, MaxTransactionAge: 3600 * second, MinFreeDisk: &spec.FreeDisk{Bytes: 1, Path: t.TempDir()},
		Query: &spec.QueryGuard{SQL: "SELECT 0"}})
	h.goes(t)
	guards := h.Guards()
	require.Len(t, guards, 12)
	for _, g := range guards {
		require.False(t, g.Holding, g)
		require.NotEmpty(t, g.Reading, g)
	}
	require.Equal(t, 5*time.Second, h.CommitLimit())
}

func laggingReplica(t *testing.T, r *rig) {
	h := r.begin(t, spec.Throttle{Replicas: []string{"shop_r1"}, MaxLag: second})
	h.goes(t)
	exec(t, r.shopReplica, "", "STOP SLAVE; CHANGE MASTER TO MASTER_DELAY = 3600; START SLAVE")
	exec(t, r.shop, "shop", "CREATE OR REPLACE TABLE traffic (id int PRIMARY KEY)")
	h.whileHeld(t, "max_lag shop_r1: ", func() {
		exec(t, r.shopReplica, "", "STOP SLAVE; CHANGE MASTER TO MASTER_DELAY = 0; START SLAVE")
	})
	exec(t, r.shopReplica, "", "STOP SLAVE SQL_THREAD")
	h.whileHeld(t, "max_lag shop_r1: it does not replicate", func() { exec(t, r.shopReplica, "", "START SLAVE SQL_THREAD") })
	h.governor.Close()
	holds, err := h.ledger.Holds(t.Context())
	require.NoError(t, err)
	require.Len(t, holds, 1)
	require.Equal(t, "max_lag", holds[0].Guard)
	require.Greater(t, holds[0].Seconds, 0.5)
	require.GreaterOrEqual(t, holds[0].Times, 1)
}

func frozenReplica(t *testing.T, r *rig) {
	h := r.begin(t, spec.Throttle{Replicas: []string{"shop_r1"}, MaxLag: 30 * second})
	h.goes(t)
	require.NoError(t, syscall.Kill(r.shopReplica.PID(), syscall.SIGSTOP))
	h.whileHeld(t, "max_lag shop_r1: it does not answer within 2s", func() {
		require.NoError(t, syscall.Kill(r.shopReplica.PID(), syscall.SIGCONT))
	})
}

func laggingStandby(t *testing.T, r *rig) {
	h := r.begin(t, spec.Throttle{Replicas: []string{"warehouse_r1"}, MaxLag: 2 * second})
	h.goes(t)
	exec(t, r.standby, "warehouse", "SELECT pg_wal_replay_pause()")
	exec(t, r.warehouse, "warehouse", "CREATE TABLE IF NOT EXISTS public.traffic (id int)")
	h.whileHeld(t, "max_lag ", func() { exec(t, r.standby, "warehouse", "SELECT pg_wal_replay_resume()") })
}

func deadStandby(t *testing.T, r *rig) {
	h := r.begin(t, spec.Throttle{MaxLag: 30 * second})
	h.goes(t)
	require.NoError(t, r.standby.Kill())
	h.whileHeld(t, "does not stream any more", func() { require.NoError(t, r.standby.Resume(t.Context())) })
	require.NoError(t, r.standby.Kill())
	h.whileHeld(t, "does not stream any more", func() {
		require.NoError(t, h.ledger.SetThrottle(t.Context(), task.ThrottleSettings{MaxLag: new("0")}))
	})
	require.Empty(t, h.Guards())
	require.NoError(t, r.standby.Resume(t.Context()))
}

// fill makes the warehouse write about 60 MB of WAL that a slot keeps.
func fill(t *testing.T, r *rig) {
	exec(t, r.warehouse, "warehouse", "SELECT pg_create_physical_replication_slot('keeper', true)")
	t.Cleanup(func() {
		_ = r.warehouse.Exec(context.Background(), "warehouse", "SELECT pg_drop_replication_slot('keeper')") // it may be gone already
		require.NoError(t, r.warehouse.Exec(context.Background(), "warehouse", "CHECKPOINT"))
	})
	for range 8 {
		exec(t, r.warehouse, "warehouse", "SELECT pg_logical_emit_message(false, 'fill', repeat('x', 8000000))")
		exec(t, r.warehouse, "warehouse", "SELECT pg_switch_wal()")
	}
}

func logBudget(t *testing.T, r *rig) {
	h := r.begin(t, spec.Throttle{MaxLogGrowth: &spec.LogGrowth{Bytes: 40 << 20}})
	h.goes(t)
	fill(t, r)
	h.whileHeld(t, "max_log_growth warehouse: ", func() {
		exec(t, r.warehouse, "warehouse", "SELECT pg_drop_replication_slot('keeper')")
		exec(t, r.warehouse, "warehouse", "CHECKPOINT")
	})
}

func logStop(t *testing.T, r *rig) {
	h := r.begin(t, spec.Throttle{MaxLogGrowth: &spec.LogGrowth{Bytes: 40 << 20, Then: spec.ThenStop}})
	h.goes(t)
	fill(t, r)
	var err error
	require.Eventually(t, func() bool { err = h.Wait(t.Context(), 0, 0); return err != nil }, 30*time.Second, 50*time.Millisecond)
	require.ErrorContains(t, err, "stopped with everything kept")
	require.Equal(t, task.Human, fault.Of(err).Class)
	// The baseline is the ledger's: another worker, or the same one after a
	// restart, does not begin to count anew.
	h.governor.Close()
	again := throttle.New(throttle.Config{Spec: &spec.Spec{Common: spec.Common{Kind: task.Copy, Throttle: spec.Throttle{MaxLogGrowth: &spec.LogGrowth{Bytes: 40 << 20}}},
		Copy: &spec.CopySpec{Source: "shop", Target: "warehouse"}}, Written: "warehouse", Connections: r.connections, Ledger: h.ledger})
	defer again.Close()
	share, err := again.Share(t.Context(), task.Transform, 1, nil)
	require.NoError(t, err)
	defer share.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	require.ErrorIs(t, share.Wait(ctx, 0, 0), context.DeadlineExceeded)
	require.Contains(t, share.Holding()+fmt.Sprint(share.Guards()), "max_log_growth warehouse")
}

func oldTransaction(t *testing.T, r *rig) {
	h := r.begin(t, spec.Throttle{MaxTransactionAge: 2 * second})
	h.goes(t)
	c, err := r.connections.Get("shop")
	require.NoError(t, err)
	pool, err := c.MySQL(t.Context())
	require.NoError(t, err)
	exec(t, r.shop, "shop", "CREATE OR REPLACE TABLE blocked (id int PRIMARY KEY); INSERT INTO blocked VALUES (1)")
	tx, err := pool.BeginTx(t.Context(), &sql.TxOptions{})
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "UPDATE blocked SET id = 2")
	require.NoError(t, err)
	h.whileHeld(t, "max_transaction_age shop: ", func() { require.NoError(t, tx.Rollback()) })
}

func endpoint(t *testing.T, r *rig) {
	const ok, refuses, hangs = 0, 1, 2
	var mood atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch mood.Load() {
		case refuses:
			http.Error(w, "deploy in progress", http.StatusServiceUnavailable)
		case hangs:
			select {
			case <-q.Context().Done():
			case <-t.Context().Done():
			}
		}
	}))
	address := server.Listener.Addr().String()
	h := r.begin(t, spec.Throttle{HTTP: "http://" + address + "/go?token=secret", MaxActive: 100})
	h.goes(t)
	mood.Store(refuses)
	h.whileHeld(t, "http http://"+address+"/go: 503 (deploy in progress), and 200 means go", func() { mood.Store(ok) })
	mood.Store(hangs)
	h.whileHeld(t, "no answer for 7s", func() {
		require.NotContains(t, h.Holding(), "secret")
		for _, g := range h.Guards() {
			require.Equal(t, g.Guard[:4] == "http", g.Holding, "one that hangs does not keep the others: %v", g)
		}
		mood.Store(ok)
	})
	server.CloseClientConnections()
	server.Close()
	h.whileHeld(t, "connection refused", func() {
		require.NotContains(t, h.Holding(), "secret")
		require.NoError(t, h.ledger.SetThrottle(t.Context(), task.ThrottleSettings{HTTP: new("none")}))
	})
}

func fullDisk(t *testing.T, r *rig) {
	var free atomic.Value
	free.Store("100GiB")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { fmt.Fprintln(w, free.Load()) }))
	defer server.Close()
	h := r.begin(t, spec.Throttle{MinFreeDisk: &spec.FreeDisk{Bytes: 50 << 30, URL: server.URL}})
	h.goes(t)
	free.Store("10GiB")
	h.whileHeld(t, "10 GiB, and the limit is 50 GiB", func() { free.Store("80GiB") })
	free.Store("much")
	h.whileHeld(t, `"much" is not a size`, func() { free.Store("80GiB") })
	h.governor.Close()

	path := r.begin(t, spec.Throttle{MinFreeDisk: &spec.FreeDisk{Bytes: 1 << 60, Path: t.TempDir()}})
	path.whileHeld(t, "and the limit is 1.0 EiB", func() {
		require.NoError(t, path.ledger.SetThrottle(t.Context(), task.ThrottleSettings{MinFreeDisk: new("1MB")}))
	})
}

func ownQuery(t *testing.T, r *rig) {
	exec(t, r.shop, "shop", "CREATE OR REPLACE TABLE jobs (id int PRIMARY KEY)")
	h := r.begin(t, spec.Throttle{Query: &spec.QueryGuard{SQL: "SELECT count(*) FROM jobs", Max: 1, Connection: "shop"}})
	h.goes(t)
	exec(t, r.shop, "shop", "INSERT INTO jobs VALUES (1), (2)")
	h.whileHeld(t, "query on shop: 2, and the limit is 1", func() { exec(t, r.shop, "shop", "DELETE FROM jobs") })
	exec(t, r.shop, "shop", "DROP TABLE jobs")
	h.whileHeld(t, "query on shop: Error 1146", func() { exec(t, r.shop, "shop", "CREATE TABLE jobs (id int PRIMARY KEY)") })
}

func slowCommits(t *testing.T, r *rig) {
	h := r.begin(t, spec.Throttle{MaxCommitLatency: second / 2})
	h.goes(t)
	for range 5 {
		h.Committed(time.Second)
	}
	h.whileHeld(t, "max_commit_latency warehouse: 1s", func() {}) // the small writes of our own, which are fast, let it go on
}

func operatorsHold(t *testing.T, r *rig) {
	h := r.begin(t, spec.Throttle{Hold: "until the sale is over"})
	h.whileHeld(t, "hold: until the sale is over", func() {
		require.NoError(t, h.ledger.SetThrottle(t.Context(), task.ThrottleSettings{Hold: new("")}))
	})
}

func bytesLimit(t *testing.T, r *rig) {
	h := r.begin(t, spec.Throttle{BytesPerSecond: 1000, RowsPerSecond: 1000})
	began := time.Now()
	require.NoError(t, h.Wait(t.Context(), 10, 0))
	h.Owe(0, 1500)
	require.NoError(t, h.Wait(t.Context(), 10, 0))
	require.InDelta(t, 3, time.Since(began).Seconds(), 1.9, "1.5 s, and what the machine takes")
	require.Contains(t, h.Holding(), "bytes_per_second: this shard's part is 1000 B", "a rate is told for a while after its wait")
	require.LessOrEqual(t, h.Chunk(1000), int64(20), "by how wide the rows were")
}

func stopWhileHeld(t *testing.T, r *rig) {
	h := r.begin(t, spec.Throttle{Hold: "for ever"})
	time.AfterFunc(500*time.Millisecond, func() { close(h.stop) })
	began := time.Now()
	err := h.Wait(t.Context(), 0, 0)
	require.Equal(t, task.Stopping, fault.Of(err).Class)
	require.Less(t, time.Since(began), 5*time.Second)

	h = r.begin(t, spec.Throttle{RowsPerSecond: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	began = time.Now()
	require.ErrorIs(t, h.Wait(ctx, 1000, 0), context.DeadlineExceeded)
	require.Less(t, time.Since(began), 5*time.Second)
}

func checked(t *testing.T, r *rig) {
	check := func(limits spec.Throttle) error {
		return throttle.Check(t.Context(), r.connections, &spec.Spec{Common: spec.Common{Kind: task.Copy, Throttle: limits}, Copy: &spec.CopySpec{Source: "shop", Target: "warehouse"}}, "warehouse")
	}
	require.NoError(t, check(spec.Throttle{}))
	require.NoError(t, check(spec.Throttle{MaxLag: second, Replicas: []string{"shop_r1"}, MaxActive: 10, MaxLogGrowth: &spec.LogGrowth{Bytes: 1}, HTTP: "http://127.0.0.1:1/go"}),
		"what only holds is no reason to refuse")
	for _, wrong := range []struct {
		limits spec.Throttle
		want   string
	}{
		{spec.Throttle{MaxLag: second, Replicas: []string{"nowhere"}}, "nowhere"},
		{spec.Throttle{MaxLag: second, Replicas: []string{"shop"}}, "throttle.max_lag shop: it is not a replica"},
		{spec.Throttle{Query: &spec.QueryGuard{SQL: "SELECT nothing"}}, "throttle.query on warehouse: "},
		{spec.Throttle{Query: &spec.QueryGuard{SQL: "SELECT 'many'", Connection: "shop"}}, `returns "many"`},
		{spec.Throttle{MinFreeDisk: &spec.FreeDisk{Bytes: 1, Path: "/no/such/folder"}}, "/no/such/folder on the worker's machine: no such file"},
		{spec.Throttle{MaxArchiveQueue: 5}, "throttle.max_archive_queue warehouse: archive_mode is off"},
	} {
		err := check(wrong.limits)
		require.ErrorContains(t, err, wrong.want)
		require.Equal(t, task.Config, fault.Of(err).Class)
	}
}
