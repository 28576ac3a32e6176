package shard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestABigTableIsCutIntoFewEnoughShards(t *testing.T) {
	require.EqualValues(t, 250_000, Rows(0, 1_000_000, DefaultRows))
	require.EqualValues(t, 416_666, Rows(0, 10_000_000, DefaultRows))
	require.EqualValues(t, 5_000_000, Rows(0, 1_000_000_000, DefaultRows))
	require.EqualValues(t, 1000, Rows(1000, 10_000_000, DefaultRows), "the spec's wish wins")
}

func TestChunksGrowByHalfUntilTheyTakeTheirTime(t *testing.T) {
	s := NewSizer(DefaultLimits)
	require.EqualValues(t, 10_000, s.Rows())
	s.Done(10_000, 1000, 10*time.Millisecond)
	require.EqualValues(t, 15_000, s.Rows())
	for range 50 {
		s.Done(s.Rows(), 1000, time.Duration(s.Rows())*time.Microsecond) // a row takes 1 µs
	}
	require.InDelta(t, 700_000, s.Rows(), 10)
}

func TestAChunkStaysUnderItsBytes(t *testing.T) {
	s := NewSizer(DefaultLimits)
	for range 50 {
		s.Done(s.Rows(), s.Rows()*1024, time.Millisecond)
	}
	require.EqualValues(t, 16<<10, s.Rows())
}

func TestTheFirstChunkOfWideRowsIsSmall(t *testing.T) {
	require.EqualValues(t, 16, NewSizer(DefaultLimits.For(1000, 1000<<20)).Rows())
	require.EqualValues(t, 10_000, NewSizer(DefaultLimits.For(1000, 1000)).Rows())
	require.EqualValues(t, 1, NewSizer(DefaultLimits.For(2, 2<<30)).Rows())
	require.EqualValues(t, 10_000, NewSizer(DefaultLimits.For(0, 0)).Rows())
}

func TestOneSlowChunkCutsTheSizeToATenth(t *testing.T) {
	s := NewSizer(DefaultLimits)
	s.Done(10_000, 1000, 4*time.Second)
	require.EqualValues(t, 1000, s.Rows())
}

func TestADeadlockHalvesTheChunkDownToTheSmallest(t *testing.T) {
	s := NewSizer(Limits{Target: time.Second, MaxBytes: 1 << 20, Start: 300, Min: 100, Max: 1000})
	s.Halve()
	require.EqualValues(t, 150, s.Rows())
	s.Halve()
	require.EqualValues(t, 100, s.Rows())
}

func TestWithoutALimitACommitMayTakeALittleLongerThanTheQuickest(t *testing.T) {
	s := NewSizer(Limits{Target: time.Second, MaxBytes: 1 << 30, Start: 1000, Min: 10, Max: 2000})
	slow, more := 20*time.Millisecond, 2*time.Millisecond
	s.CommitGently(1000, slow, more)
	require.EqualValues(t, 1000, s.Rows(), "it is the disk that needs this")
	s.CommitGently(1000, slow+time.Millisecond, more)
	require.EqualValues(t, 1000, s.Rows())
	s.CommitGently(1000, slow+5*time.Millisecond, more)
	require.EqualValues(t, 1000, s.Rows(), "once is by chance")
	s.CommitGently(1000, slow, more)
	s.CommitGently(1000, slow+5*time.Millisecond, more)
	s.CommitGently(1000, slow+5*time.Millisecond, more)
	require.EqualValues(t, 500, s.Rows())
	s.CommitGently(500, time.Millisecond, more)
	s.CommitGently(s.Rows(), slow, more)
	s.CommitGently(s.Rows(), slow, more)
	require.Less(t, s.Rows(), int64(300), "now that the disk is quicker, it is the chunk")
	for range 1000 {
		s.CommitGently(s.Rows(), slow, more)
	}
	require.GreaterOrEqual(t, s.Rows(), int64(1000), "what was quick once is forgotten")
}

func TestALongCommitHalvesTheChunksUntilTheyAreCalmAgain(t *testing.T) {
	s := NewSizer(Limits{Target: time.Second, MaxBytes: 1 << 30, Start: 1000, Min: 10, Max: 2000})
	s.Commit(1000, 50*time.Millisecond, 10*time.Millisecond)
	require.EqualValues(t, 500, s.Rows())
	s.Commit(500, 20*time.Millisecond, 10*time.Millisecond)
	require.EqualValues(t, 250, s.Rows())
	s.Commit(100, time.Millisecond, 10*time.Millisecond)
	require.EqualValues(t, 250, s.Rows(), "a smaller chunk says nothing about this size")
	s.Commit(250, time.Millisecond, 10*time.Millisecond)
	require.EqualValues(t, 275, s.Rows())
	for range 20 {
		s.Commit(s.Rows(), time.Second, 10*time.Millisecond)
	}
	require.EqualValues(t, 10, s.Rows(), "not below the smallest")
	s.Commit(10, time.Second, 0)
	require.EqualValues(t, 1000, s.Rows(), "the limit was taken away")
}
