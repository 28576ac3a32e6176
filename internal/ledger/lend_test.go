package ledger_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/ledger"
	"godwit/internal/task"
)

// wants takes a table for a migration as its preflight does. Before a slash is the id
// of its pipeline.
func wants(t *testing.T, store *ledger.Store, who, table string) error {
	t.Helper()
	ctx := context.Background()
	pipeline, id, is := strings.Cut(who, "/")
	if !is {
		pipeline, id = "", who
	}
	l := store.Migration(id)
	l.Pipeline = pipeline
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
	of := func(id string) string { return p + "/" + id }
	require.NoError(t, wants(t, store, of(first), table))
	require.ErrorContains(t, wants(t, store, of(second), table), "is being migrated by "+first, "it is not done yet")
	succeeds(t, store, first)
	require.NoError(t, wants(t, store, of(second), table))
	require.ErrorContains(t, wants(t, store, "stranger", table), "is being migrated by "+second)
	require.ErrorContains(t, wants(t, store, "q/q.first", table), "is being migrated by "+second, "it is of another pipeline")

	require.NoError(t, store.Migration(second).Release(ctx))
	require.ErrorContains(t, wants(t, store, "stranger", table), "is being migrated by "+first, "it has its claim back")

	require.NoError(t, wants(t, store, of(second), table))
	succeeds(t, store, second)
	require.NoError(t, wants(t, store, of(third), table))
	late := store.Migration(third)
	late.Pipeline = p
	changed, err := late.Changed(ctx, table)
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

// lentByNoName: an id with a dot in it makes no pipeline of two migrations.
func lentByNoName(t *testing.T, store *ledger.Store, _ *server) {
	table := t.Name()
	require.NoError(t, wants(t, store, "plain.one", table))
	succeeds(t, store, "plain.one")
	require.ErrorContains(t, wants(t, store, "plain.two", table), "is being migrated by plain.one")
	require.ErrorContains(t, wants(t, store, "plain/plain.three", table), "is being migrated by plain.one", "which is a step of nothing")
	require.NoError(t, store.Migration("plain.one").Release(context.Background()))
}

// lentAndGivenUpAtOnce: a cleanup of a pipeline ends the keeping of all steps side by
// side. While the claim of their table is locked, the borrower and then the lender
// come for it: none of them may be left with it.
func lentAndGivenUpAtOnce(t *testing.T, store *ledger.Store, s *server) {
	ctx, table := context.Background(), t.Name()
	require.NoError(t, wants(t, store, "atonce/lender", table))
	succeeds(t, store, "lender")
	require.NoError(t, wants(t, store, "atonce/borrower", table))
	succeeds(t, store, "borrower")
	tx, err := s.Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(ctx) //nolint:errcheck // after Commit it does nothing
	_, err = tx.Exec(ctx, "UPDATE "+s.table("claim")+" SET migration = migration WHERE migration = 'borrower'")
	require.NoError(t, err)
	release := func(id string) chan error {
		done := make(chan error, 1)
		go func() { done <- store.Migration(id).Release(ctx) }()
		return done
	}
	borrower := release("borrower")
	waiting := func() int { return strings.Count(s.running(t), s.table("claim")) }
	require.Eventually(t, func() bool { return waiting() == 1 }, 30*time.Second, 20*time.Millisecond, "it waits for the claim")
	lender := release("lender")
	require.Eventually(t, func() bool { return waiting() == 2 || len(lender) > 0 }, 30*time.Second, 20*time.Millisecond)
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, <-borrower)
	require.NoError(t, <-lender)
	require.NoError(t, wants(t, store, "stranger", table))
	require.NoError(t, store.Migration("stranger").Release(ctx))
}
