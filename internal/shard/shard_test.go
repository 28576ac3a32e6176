package shard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestABigTableIsCutIntoFewEnoughShards(t *testing.T) {
	require.EqualValues(t, 250_000, Rows(0, 1_000_000))
	require.EqualValues(t, 416_666, Rows(0, 10_000_000))
	require.EqualValues(t, 5_000_000, Rows(0, 1_000_000_000))
	require.EqualValues(t, 1000, Rows(1000, 10_000_000), "the spec's wish wins")
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
