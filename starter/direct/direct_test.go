package direct_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/connection"
	"godwit/internal/engine"
	"godwit/internal/ledger"
	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
	"godwit/internal/task"
	"godwit/starter/direct"
)

func TestALedgerIsReadWithoutAnybodyElse(t *testing.T) {
	for _, kind := range sandbox.Kinds() {
		t.Run(string(kind), func(t *testing.T) { readAlone(t, kind) })
	}
}

// database reaches a database as a worker does.
func database(t *testing.T, url string) engine.DB {
	t.Helper()
	registry, err := connection.Load("", []string{"GODWIT_CONNECTION_IT=" + url})
	require.NoError(t, err)
	t.Cleanup(registry.Close)
	c, err := registry.Get("it")
	require.NoError(t, err)
	db, err := ledger.Database(t.Context(), c)
	require.NoError(t, err)
	return db
}

func readAlone(t *testing.T, kind sandbox.Kind) {
	ctx := t.Context()
	server := sandboxtest.Start(t, kind, sandbox.Options{Databases: []string{"used", "unused"}})
	t.Setenv("GODWIT_CONNECTION_USED", server.URL("used"))
	t.Setenv("GODWIT_CONNECTION_UNUSED", server.URL("unused"))
	store, err := ledger.Open(ctx, database(t, server.URL("used")), "worker")
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
	made, err := database(t, server.URL("unused")).Query(ctx, "select table_name from information_schema.tables where table_schema in ('godwit', 'unused')")
	require.NoError(t, err)
	require.False(t, made.Next(), "looking makes nothing")
	require.NoError(t, made.Close())

	r, err = direct.Open(ctx, "", "nobody")
	require.NoError(t, err)
	require.Nil(t, r, "a worker has to be asked")
}
