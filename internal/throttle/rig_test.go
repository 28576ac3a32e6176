package throttle_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/connection"
	"godwit/internal/ledger"
	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/internal/throttle"
)

// rig is a MariaDB server that is read, with a replica, and a PostgreSQL server
// that is written, with a standby.
type rig struct {
	shop, shopReplica, warehouse, standby *sandbox.Server
	connections                           *connection.Registry
	store                                 *ledger.Store
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{
		shop:      sandboxtest.Start(t, sandbox.MariaDB, sandbox.Options{Settings: map[string]string{"log_bin": "bin"}, Databases: []string{"shop"}}),
		warehouse: sandboxtest.Start(t, sandbox.Postgres, sandbox.Options{Settings: map[string]string{"max_wal_size": "64MB", "min_wal_size": "32MB"}, Databases: []string{"warehouse"}}),
	}
	r.shopReplica, r.standby = replica(t, r.shop), replica(t, r.warehouse)
	var err error
	r.connections, err = connection.Load("", []string{
		"GODWIT_CONNECTION_SHOP=" + r.shop.URL("shop"), "GODWIT_CONNECTION_SHOP_R1=" + r.shopReplica.URL(""),
		"GODWIT_CONNECTION_WAREHOUSE=" + r.warehouse.URL("warehouse"), "GODWIT_CONNECTION_WAREHOUSE_R1=" + r.standby.URL("warehouse"),
	})
	require.NoError(t, err)
	t.Cleanup(r.connections.Close)
	c, err := r.connections.Get("warehouse")
	require.NoError(t, err)
	db, err := ledger.Database(t.Context(), c)
	require.NoError(t, err)
	r.store, err = ledger.Open(t.Context(), db, "worker-1")
	require.NoError(t, err)
	return r
}

func replica(t *testing.T, of *sandbox.Server) *sandbox.Server {
	t.Helper()
	s, err := of.Replica(t.Context(), sandbox.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	return s
}

// held is a migration with its governor, as one shard sees it.
type held struct {
	*throttle.Share
	governor *throttle.Governor
	ledger   *ledger.Ledger
	stop     chan struct{}
}

// begin starts a copy's governor with a throttle.
func (r *rig) begin(t *testing.T, limits spec.Throttle) *held {
	t.Helper()
	ctx := t.Context()
	h := &held{ledger: r.store.Migration(t.Name()), stop: make(chan struct{})}
	_, err := h.ledger.Take(ctx, task.Copy)
	require.NoError(t, err)
	require.NoError(t, h.ledger.Start(ctx, ledger.Migration{Kind: task.Copy, Name: "test", Spec: json.RawMessage(`{}`), Fingerprint: ledger.Fingerprint{}},
		[]string{t.Name()}, nil))
	s := &spec.Spec{Common: spec.Common{Kind: task.Copy, Throttle: limits}, Copy: &spec.CopySpec{Source: "shop", Target: "warehouse"}}
	require.NoError(t, s.Throttle.Valid())
	h.governor = throttle.New(throttle.Config{Spec: s, Written: "warehouse", Connections: r.connections, Ledger: h.ledger})
	t.Cleanup(h.governor.Close)
	h.Share, err = h.governor.Share(ctx, task.Transform, 1, h.stop)
	require.NoError(t, err)
	t.Cleanup(h.Share.Close)
	return h
}

// goes checks that the next chunk may begin, now or after what holds is over.
func (h *held) goes(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, h.Wait(ctx, 0, 0), "held: %s", h.Holding())
	require.Empty(t, h.Holding())
}

// whileHeld does something while the next chunk waits for a reason that has
// these words in it, and checks that it goes on afterwards.
func (h *held) whileHeld(t *testing.T, words string, then func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { // as a shard does: chunk after chunk, and at some moment it is held
		for {
			if err := h.Wait(ctx, 0, 0); err != nil {
				ended <- err
				return
			}
			select {
			case <-ctx.Done():
				ended <- context.Cause(ctx)
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	require.Eventually(t, func() bool { return strings.Contains(h.Holding(), words) }, 20*time.Second, 20*time.Millisecond, "it must be held by %q, not %q", words, h.Holding())
	reason, since := h.HoldingSince()
	require.WithinDuration(t, time.Now(), since, 20*time.Second)
	t.Log(reason)
	then()
	require.Eventually(t, func() bool { return h.Holding() == "" }, 20*time.Second, 20*time.Millisecond, "it must go on")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// exec runs statements on a server.
func exec(t *testing.T, s *sandbox.Server, database, sql string) {
	t.Helper()
	require.NoError(t, s.Exec(t.Context(), database, sql))
}
