package throttle

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pass waits as a Share does.
func pass(ctx context.Context, r *Rate, units float64) error {
	place := r.Ask(units)
	for {
		left := r.Left(place)
		if left <= 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(left, step)):
		}
	}
}

func TestRowsFlowNoFasterThanTheLimit(t *testing.T) {
	r := NewRate(1000)
	began := time.Now()
	for range 3 {
		require.NoError(t, pass(context.Background(), r, 500))
	}
	require.Greater(t, time.Since(began), 1400*time.Millisecond, "nothing is let through in advance")
}

func TestWithoutALimitNothingWaits(t *testing.T) {
	r := NewRate(0)
	began := time.Now()
	require.NoError(t, pass(context.Background(), r, 1<<40))
	require.Less(t, time.Since(began), time.Second)
}

func TestAnEndedContextEndsTheWait(t *testing.T) {
	r := NewRate(1)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, pass(ctx, r, 100), context.DeadlineExceeded)
}

func TestALimitThatIsRaisedShortensAWaitThatHasBegun(t *testing.T) {
	r := NewRate(1)
	time.AfterFunc(50*time.Millisecond, func() { r.Set(1e6) })
	began := time.Now()
	require.NoError(t, pass(context.Background(), r, 1000))
	require.Less(t, time.Since(began), 10*step)
	r.Set(1)
	time.AfterFunc(50*time.Millisecond, func() { r.Set(0) })
	require.NoError(t, pass(context.Background(), r, 1000))
	require.Less(t, time.Since(began), 20*step)
}

func TestWhatWasNotWaitedForIsWaitedForByTheNext(t *testing.T) {
	r := NewRate(1000)
	r.Ask(300)
	began := time.Now()
	require.NoError(t, pass(context.Background(), r, 0))
	require.Greater(t, time.Since(began), 280*time.Millisecond)
}
