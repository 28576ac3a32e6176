package throttle

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRowsFlowNoFasterThanTheLimit(t *testing.T) {
	r := NewRate(1000)
	began := time.Now()
	for range 3 {
		require.NoError(t, r.Wait(context.Background(), 500))
	}
	require.Greater(t, time.Since(began), 1400*time.Millisecond, "nothing is let through in advance")
}

func TestWithoutALimitNothingWaits(t *testing.T) {
	r := NewRate(0)
	began := time.Now()
	require.NoError(t, r.Wait(context.Background(), 1<<40))
	require.Less(t, time.Since(began), 100*time.Millisecond)
	require.EqualValues(t, 50_000, r.Chunk(50_000))
	require.Empty(t, r.Reason())
}

func TestAnEndedContextEndsTheWait(t *testing.T) {
	r := NewRate(1)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, r.Wait(ctx, 100), context.DeadlineExceeded)
}

func TestChunksAreCutToASecondsWorth(t *testing.T) {
	r := NewRate(200)
	require.EqualValues(t, 200, r.Chunk(50_000))
	require.EqualValues(t, 100, r.Chunk(100))
	r.Set(0)
	require.EqualValues(t, 50_000, r.Chunk(50_000))
}
