package control

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	workflowpb "go.temporal.io/api/workflow/v1"

	"godwit/internal/task"
)

func TestWhatHoldsIsToldOnceForAllShards(t *testing.T) {
	st := transforming()
	st.Throttle.Held = []task.HeldTime{{Guard: "max_lag", Seconds: 20, Times: 1}}
	early, late := time.Date(2024, 11, 29, 10, 0, 0, 0, time.UTC), time.Date(2024, 11, 29, 10, 0, 5, 0, time.UTC)
	calm, lagging := task.GuardStatus{Guard: "max_lag r1", Reading: "1s"}, task.GuardStatus{Guard: "max_lag r1", Reading: "5s", Holding: true}
	addActivities(&st, []*workflowpb.PendingActivityInfo{
		shard(t, "transform-0002", &task.Heartbeat{Shard: 2, Holding: "http: 503", HoldingSince: &late, Guards: []task.GuardStatus{calm}}),
		shard(t, "transform-0003", &task.Heartbeat{Shard: 3, Holding: "max_lag r1: 5s", HoldingSince: &early, Guards: []task.GuardStatus{lagging},
			Held: []task.HeldTime{{Guard: "max_lag", Seconds: 30, Times: 2}, {Guard: "http", Seconds: 1, Times: 1}}}),
	})
	require.True(t, st.Throttle.Holding)
	require.Equal(t, "max_lag r1: 5s", st.Throttle.Reason, "what holds the longest")
	require.Equal(t, &early, st.Throttle.Since)
	require.Equal(t, []task.GuardStatus{lagging}, st.Throttle.Guards)
	require.Equal(t, []task.HeldTime{{Guard: "max_lag", Seconds: 30, Times: 2}, {Guard: "http", Seconds: 1, Times: 1}}, st.Throttle.Held)
	require.Empty(t, st.Running[0].Guards)
}
