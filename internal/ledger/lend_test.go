package ledger_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/ledger"
	"godwit/internal/task"
)

// wants takes a table for a migration as its preflight does.
func wants(t *testing.T, store *ledger.Store, id, table string) error {
	t.Helper()
	ctx := context.Background()
	l := store.Migration(id)
	_, err := l.Take(ctx, task.DDL)
	require.NoError(t, err)
	return l.Start(ctx, ledger.Migration{Kind: task.DDL, Name: id, Spec: json.RawMessage(`{}`), Fingerprint: ledger.Fingerprint{"a": "b"}, Version: "v0"}, []string{table}, nil)
}

// succeeds notes that a migration is done and keeps what it has.
func succeeds(t *testing.T, store *ledger.Store, id string) {
	t.Helper()
	l := store.Migration(id)
	_, err := l.Load(context.Background())
	require.NoError(t, err)
	require.NoError(t, l.SetState(context.Background(), task.Success, task.Cleanup, nil))
}

// lentToALaterStep: a pipeline's steps may be about one table, while others wait.
func lentToALaterStep(t *testing.T, store *ledger.Store, _ *server) {
	ctx, table, p := context.Background(), t.Name(), "p-"+t.Name()[len(t.Name())-20:]
	first, second, third := p+".first", p+".second", p+".third"
	require.NoError(t, wants(t, store, first, table))
	require.ErrorContains(t, wants(t, store, second, table), "is being migrated by "+first, "it is not done yet")
	succeeds(t, store, first)
	require.NoError(t, wants(t, store, second, table))
	require.ErrorContains(t, wants(t, store, "stranger", table), "is being migrated by "+second)
	require.ErrorContains(t, wants(t, store, "q.first", table), "is being migrated by "+second, "it is of another pipeline")

	require.NoError(t, store.Migration(second).Release(ctx))
	require.ErrorContains(t, wants(t, store, "stranger", table), "is being migrated by "+first, "it has its claim back")

	require.NoError(t, wants(t, store, second, table))
	succeeds(t, store, second)
	require.NoError(t, wants(t, store, third, table))
	changed, err := store.Migration(third).Changed(ctx, table)
	require.NoError(t, err)
	require.Equal(t, second, changed)
	changed, err = store.Migration("stranger").Changed(ctx, table)
	require.NoError(t, err)
	require.Empty(t, changed)
	require.NoError(t, store.Migration(second).Release(ctx), "which owes it to the first one")
	require.ErrorContains(t, wants(t, store, "stranger", table), "is being migrated by "+third)
	require.NoError(t, store.Migration(third).Release(ctx))
	require.ErrorContains(t, wants(t, store, "stranger", table), "is being migrated by "+first)
	require.NoError(t, store.Migration(first).Release(ctx))
	require.NoError(t, wants(t, store, "stranger", table))
	require.NoError(t, store.Migration("stranger").Release(ctx))
}
