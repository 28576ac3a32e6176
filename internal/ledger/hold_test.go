package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/ledger"
)

func heldTime(t *testing.T, store *ledger.Store, db *server) {
	ctx := t.Context()
	l, other := begin(t, store, 0), store.Migration(t.Name())
	held := func(guard string) (seconds float64, times int) {
		holds, err := l.Holds(ctx)
		require.NoError(t, err)
		for _, h := range holds {
			if h.Guard == guard {
				return h.Seconds, h.Times
			}
		}
		return 0, 0
	}
	require.NoError(t, l.Held(ctx, "max_lag", "replica 5 s behind", 10*time.Second, 10*time.Second))
	seconds, times := held("max_lag")
	require.Equal(t, 10.0, seconds)
	require.Equal(t, 1, times)

	// Another worker was held for the same ten seconds.
	require.NoError(t, other.Held(ctx, "max_lag", "replica 6 s behind", 10*time.Second, 10*time.Second))
	seconds, times = held("max_lag")
	require.InDelta(t, 10.0, seconds, 1, "only what has passed since the last report counts")
	require.Equal(t, 1, times)

	require.NoError(t, l.Held(ctx, "http", "", 500*time.Millisecond, 500*time.Millisecond))
	time.Sleep(3 * time.Second)
	require.NoError(t, l.Held(ctx, "http", "503 中", 500*time.Millisecond, 500*time.Millisecond))
	seconds, times = held("http")
	require.InDelta(t, 1.0, seconds, 0.01)
	require.Equal(t, 2, times, "it had let go in between")

	holds, err := l.Holds(ctx)
	require.NoError(t, err)
	require.Len(t, holds, 2)
	require.Equal(t, "max_lag", holds[0].Guard, "the longest first")
	require.Equal(t, "503 中", holds[1].Detail)
	require.WithinDuration(t, time.Now(), holds[1].LastAt, time.Minute)
	st, err := l.Status(ctx)
	require.NoError(t, err)
	require.Equal(t, holds, st.Throttle.Held)
}

func baseline(t *testing.T, store *ledger.Store, db *server) {
	ctx := t.Context()
	l := begin(t, store, 0)
	for _, now := range []int64{100, 250, 50} {
		first, err := l.Baseline(ctx, "log shop", now)
		require.NoError(t, err)
		require.EqualValues(t, 100, first)
	}
	require.NoError(t, l.StartBeat(ctx))
	require.NoError(t, l.Beat(ctx))
}
