package control

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestAnEstimateIsCarriedForwardUntilTheNextHeartbeatComes(t *testing.T) {
	carried := func(beat task.Heartbeat, age time.Duration) task.Heartbeat {
		carryForward(&beat, age)
		return beat
	}
	carry := &task.Carry{PercentPerSecond: 4, UntilPercent: 100}
	beat := task.Heartbeat{Percent: 40, Carry: carry, Rows: 400, RowsTotal: 1000}
	require.Equal(t, task.Heartbeat{Percent: 50, Carry: carry, Rows: 500, RowsTotal: 1000}, carried(beat, 2500*time.Millisecond))
	require.InDelta(t, 80, carried(beat, time.Hour).Percent, 0.01, "for a while")
	require.Equal(t, beat, carried(beat, -time.Minute), "by a clock that is behind")
	beat.Carry = &task.Carry{PercentPerSecond: 4, UntilPercent: 45}
	require.InDelta(t, 45, carried(beat, 5*time.Second).Percent, 0.01, "until what it does now is over")
	beat.Percent, beat.Carry = 95, carry
	require.InDelta(t, 99, carried(beat, 5*time.Second).Percent, 0.01, "it is not done before it is")
	beat.Percent = 100
	require.Equal(t, beat, carried(beat, 5*time.Second))
	counted := task.Heartbeat{Percent: 40, Rows: 400, RowsTotal: 1000, RowsPerSecond: 40}
	require.Equal(t, counted, carried(counted, 5*time.Second), "what is counted is told as it was counted")
}
