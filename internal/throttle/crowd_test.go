package throttle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"godwit/internal/connection"
	"godwit/internal/ledger"
	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/internal/throttle"
)

func TestManyMigrationsDoNotTakeASessionEachWhileTheLedgerIsLocked(t *testing.T) {
	ctx := t.Context()
	server := sandboxtest.Start(t, sandbox.Postgres, sandbox.Options{Databases: []string{"warehouse"}})
	connections, err := connection.Load("", []string{"GODWIT_CONNECTION_WAREHOUSE=" + server.URL("warehouse") + "&pool=30"})
	require.NoError(t, err)
	t.Cleanup(connections.Close)
	c, err := connections.Get("warehouse")
	require.NoError(t, err)
	db, err := ledger.Database(ctx, c)
	require.NoError(t, err)
	store, err := ledger.Open(ctx, db, "worker-1")
	require.NoError(t, err)
	watch := throttle.NewWatch(connections)
	var governors []*throttle.Governor
	for i := range 10 {
		l := store.Migration(fmt.Sprint("m", i))
		_, err := l.Take(ctx, task.Copy)
		require.NoError(t, err)
		require.NoError(t, l.Start(ctx, ledger.Migration{Kind: task.Copy, Name: "test", Spec: json.RawMessage(`{}`), Fingerprint: ledger.Fingerprint{}}, nil, nil))
		s := &spec.Spec{Common: spec.Common{Kind: task.Copy}, Copy: &spec.CopySpec{Source: "shop", Target: "warehouse"}}
		g := throttle.New(throttle.Config{Spec: s, Written: "warehouse", Watch: watch, Ledger: l})
		t.Cleanup(g.Close)
		governors = append(governors, g)
	}
	conn, err := pgx.Connect(ctx, server.URL("warehouse"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "LOCK TABLE godwit.shard IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	refused := make(chan error, len(governors))
	for _, g := range governors {
		go func() {
			_, err := g.Share(ctx, task.Transform, 1, nil)
			refused <- err
		}()
	}
	most := 0
	for began := time.Now(); time.Since(began) < 1500*time.Millisecond; time.Sleep(50 * time.Millisecond) {
		var waiting int
		require.NoError(t, tx.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'").Scan(&waiting))
		most = max(most, waiting)
	}
	require.Equal(t, 1, most)
	for range governors {
		require.Error(t, <-refused)
	}
	require.NoError(t, tx.Rollback(ctx))
	share, err := governors[0].Share(ctx, task.Transform, 1, nil)
	require.NoError(t, err)
	share.Close()
}
