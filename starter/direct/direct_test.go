package direct_test

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"godwit/internal/engine/postgres"
	"godwit/internal/ledger"
	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
	"godwit/internal/task"
	"godwit/starter/direct"
)

func TestALedgerIsReadWithoutAnybodyElse(t *testing.T) {
	ctx := t.Context()
	server := sandboxtest.Start(t, sandbox.Postgres, sandbox.Options{Databases: []string{"used", "unused"}})
	t.Setenv("GODWIT_CONNECTION_USED", server.URL("used"))
	t.Setenv("GODWIT_CONNECTION_UNUSED", server.URL("unused"))
	pool, err := pgxpool.New(ctx, server.URL("used"))
	require.NoError(t, err)
	defer pool.Close()
	store, err := ledger.Open(ctx, postgres.New(pool), "worker")
	require.NoError(t, err)
	l := store.Migration("copy-1")
	_, err = l.Take(ctx, task.Copy)
	require.NoError(t, err)
	require.NoError(t, l.Start(ctx, ledger.Migration{Kind: task.Copy, Name: "a → b", Spec: json.RawMessage(`{}`), Fingerprint: ledger.Fingerprint{}}, nil, nil))
	require.NoError(t, l.Note(ctx, task.Event{What: "something happened"}))

	r, err := direct.Open(ctx, "", "USED")
	require.NoError(t, err)
	defer r.Close()
	status, err := r.Status(ctx, "copy-1")
	require.NoError(t, err)
	require.Equal(t, task.Running, status.State)
	page, err := r.Events(ctx, "copy-1", 0, 10)
	require.NoError(t, err)
	require.Len(t, page.Events, 1)
	_, err = r.Status(ctx, "copy-2")
	require.ErrorContains(t, err, "knows no migration copy-2")

	_, err = direct.Open(ctx, "", "unused")
	require.ErrorContains(t, err, "no ledger in this database")
	other, err := pgxpool.New(ctx, server.URL("unused"))
	require.NoError(t, err)
	defer other.Close()
	exists, err := postgres.New(other).SchemaExists(ctx, ledger.Schema)
	require.NoError(t, err)
	require.False(t, exists, "looking makes nothing")

	r, err = direct.Open(ctx, "", "nobody")
	require.NoError(t, err)
	require.Nil(t, r, "a worker has to be asked")
}
