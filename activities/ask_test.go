package activities

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/connection"
	"godwit/internal/kind"
	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
	"godwit/internal/task"
)

// A query that is broken off says nothing about itself: a worker that stops must not
// make its step fail.
func TestAQueryThatIsBrokenOffIsNoMistakeOfTheSpec(t *testing.T) {
	for _, k := range sandbox.Kinds() {
		t.Run(string(k), func(t *testing.T) {
			server := sandboxtest.Start(t, k, sandbox.Options{Databases: []string{"shop"}})
			connections, err := connection.Load("", []string{"GODWIT_CONNECTION_SHOP=" + server.URL("shop")})
			require.NoError(t, err)
			t.Cleanup(connections.Close)
			a := New(connections, nil, "test")
			ask := func(ctx context.Context, query string) error {
				_, err := a.condition(ctx, task.ConditionInput{Database: "shop", Query: query})
				return err
			}
			require.NoError(t, ask(t.Context(), "SELECT 1"))
			require.Equal(t, task.Config, kind.Classify(ask(t.Context(), "SELECT nothing FROM nowhere")).Class)
			asleep := map[bool]string{true: "SELECT CAST(pg_sleep(60) AS text)", false: "SELECT sleep(60)"}[k == sandbox.Postgres]
			for _, delay := range []time.Duration{0, 300 * time.Millisecond} {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(delay, cancel)
				err := ask(ctx, asleep)
				require.Error(t, err)
				require.NotEqual(t, task.Config, kind.Classify(err).Class, "%v", err)
			}
		})
	}
}
