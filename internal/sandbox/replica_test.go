package sandbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
)

func TestAReplicaHasWhatItsPrimaryHadAndGetsAndComesBack(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, kind sandbox.Kind) {
		settings := map[string]string{"log_bin": "bin"}
		database := "shop"
		if kind == sandbox.Postgres {
			settings, database = nil, "postgres"
		}
		primary := sandboxtest.Start(t, kind, sandbox.Options{Settings: settings, Databases: []string{"shop"}})
		require.NoError(t, primary.Exec(t.Context(), database, "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)"))
		replica, err := primary.Replica(t.Context(), sandbox.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, replica.Stop()) })
		has := func(want string) {
			t.Helper()
			require.Eventually(t, func() bool {
				args := []string{"--batch", "--skip-column-names", "--execute=SELECT count(*) FROM t", database}
				if kind == sandbox.Postgres {
					args = []string{"--no-align", "--tuples-only", "--command=SELECT count(*) FROM t", database}
				}
				output, err := replica.Client(args...).Output()
				return err == nil && string(output) == want+"\n"
			}, 20*time.Second, 100*time.Millisecond)
		}
		has("1")
		require.NoError(t, replica.Kill())
		require.NoError(t, primary.Exec(t.Context(), database, "INSERT INTO t VALUES (2)"))
		require.NoError(t, replica.Resume(t.Context()))
		has("2")
		require.NoError(t, replica.Kill(), "what a killed one leaves is removed as well")
	})
}
