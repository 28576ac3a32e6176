package control

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"godwit/internal/task"
)

func payloads(t *testing.T, value any) *commonpb.Payloads {
	t.Helper()
	p, err := converter.GetDefaultDataConverter().ToPayloads(value)
	require.NoError(t, err)
	return p
}

func shard(t *testing.T, id string, beat *task.Heartbeat) *workflowpb.PendingActivityInfo {
	t.Helper()
	info := &workflowpb.PendingActivityInfo{
		ActivityId: id, ActivityType: &commonpb.ActivityType{Name: task.TransformShardActivity},
		State: enumspb.PENDING_ACTIVITY_STATE_STARTED, Attempt: 1,
	}
	if beat != nil {
		info.HeartbeatDetails = payloads(t, *beat)
	}
	return info
}

// transforming is what a workflow tells of itself with two shards at work and
// one of four done.
func transforming() task.Status {
	return task.Status{
		State: task.Running, Phase: task.Transform, Source: "workflow",
		Progress: task.Progress{RowsDone: 1000, RowsTotal: 4000, Percent: 19, ETASeconds: -1},
		Shards:   task.ShardCounts{Total: 4, Done: 1, Running: 2},
		Running: []task.Heartbeat{
			{Phase: task.Transform, Table: "shop.orders", Shard: 2}, {Phase: task.Transform, Table: "shop.lines", Shard: 3},
		},
	}
}

func TestTheRowsOfShardsAtWorkCount(t *testing.T) {
	st := transforming()
	addActivities(&st, []*workflowpb.PendingActivityInfo{
		shard(t, "transform-0003", &task.Heartbeat{Shard: 3, Rows: 500, Bytes: 50, RowsPerSecond: 100, Holding: "replica lag 5s"}),
		shard(t, "transform-0002", &task.Heartbeat{Shard: 2, Rows: 300, Bytes: 30, RowsPerSecond: 60}),
	})

	require.EqualValues(t, 1800, st.Progress.RowsDone)
	require.EqualValues(t, 160, st.Progress.RowsPerSecond)
	require.InDelta(t, 19+68*0.2, st.Progress.Percent, 0.05)
	require.EqualValues(t, 24, st.Progress.ETASeconds, "2200 rows to copy and 4000 to compare, which is 27/68 as much work")
	require.Equal(t, []int{2, 3}, []int{st.Running[0].Shard, st.Running[1].Shard}, "in the order of their numbers")
	require.Equal(t, "shop.lines", st.Running[1].Table, "what the heartbeat leaves out is the workflow's")
	require.True(t, st.Throttle.Holding)
	require.Equal(t, "replica lag 5s", st.Throttle.Reason)
}

func TestAFailedTryIsShownWithItsErrorAndWhenItIsTriedAgain(t *testing.T) {
	st := transforming()
	info := shard(t, "transform-0002", &task.Heartbeat{Shard: 2, Rows: 300})
	info.State, info.Attempt = enumspb.PENDING_ACTIVITY_STATE_SCHEDULED, 3
	info.NextAttemptScheduleTime = timestamppb.New(time.Date(2024, 11, 29, 10, 0, 5, 0, time.UTC))
	info.LastFailure = &failurepb.Failure{
		Message:     "connection reset by peer",
		FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: string(task.Transient)}},
	}
	addActivities(&st, []*workflowpb.PendingActivityInfo{info, shard(t, "transform-0003", nil)})

	require.Len(t, st.Failures, 1)
	two := 2
	require.Equal(t, task.Failure{
		Class: task.Transient, Message: "connection reset by peer; try 3 at 10:00:05 UTC", Phase: task.Transform, Shard: &two, Table: "shop.orders",
	}, st.Failures[0])
	require.Equal(t, task.ShardCounts{Total: 4, Done: 1, Running: 1, Retrying: 1}, st.Shards)
	require.EqualValues(t, 1000, st.Progress.RowsDone, "what does not run does not count")
}

func TestAShardWithoutAHeartbeatIsKnownByItsActivity(t *testing.T) {
	st := transforming()
	info := shard(t, "transform-0003", nil)
	info.State = enumspb.PENDING_ACTIVITY_STATE_SCHEDULED
	addActivities(&st, []*workflowpb.PendingActivityInfo{info})

	require.Len(t, st.Running, 2, "the other one has just begun")
	require.Equal(t, 3, st.Running[1].Shard)
	require.Equal(t, "shop.lines", st.Running[1].Table)
	require.Equal(t, "a worker with a free slot", st.Running[1].WaitingFor)
}

func TestAShardThatTheWorkflowCountsAsDoneIsNotCountedTwice(t *testing.T) {
	st := transforming()
	addActivities(&st, []*workflowpb.PendingActivityInfo{shard(t, "transform-0001", &task.Heartbeat{Shard: 1, Rows: 1000})})
	require.EqualValues(t, 1000, st.Progress.RowsDone)
	require.Equal(t, []int{2, 3}, []int{st.Running[0].Shard, st.Running[1].Shard})
}

func TestWithoutTheWorkflowThePendingActivitiesTellWhatRuns(t *testing.T) {
	st := task.Status{State: task.Running, Phase: task.Transform, Source: "temporal", Progress: task.Progress{Percent: 2, ETASeconds: -1}}
	addActivities(&st, []*workflowpb.PendingActivityInfo{shard(t, "transform-0007", &task.Heartbeat{Phase: task.Transform, Table: "shop.orders", Shard: 7, Rows: 10, RowsPerSecond: 5})})
	require.Len(t, st.Running, 1)
	require.Equal(t, "shop.orders", st.Running[0].Table)
	require.Equal(t, task.Progress{RowsDone: 10, Percent: 2, RowsPerSecond: 5, ETASeconds: -1}, st.Progress, "nobody knows how many rows there are in all")
}

func TestAPhaseAtWorkIsShownAndALedgerEntryIsNot(t *testing.T) {
	st := task.Status{State: task.Running, Phase: task.Transform, Progress: task.Progress{RowsTotal: 10, ETASeconds: -1}}
	addActivities(&st, []*workflowpb.PendingActivityInfo{
		{ActivityType: &commonpb.ActivityType{Name: task.FinishTransformActivity}, State: enumspb.PENDING_ACTIVITY_STATE_STARTED, Attempt: 1},
		{ActivityType: &commonpb.ActivityType{Name: task.RecordActivity}, State: enumspb.PENDING_ACTIVITY_STATE_STARTED, Attempt: 1},
	})
	require.Len(t, st.Running, 1)
	require.Equal(t, task.Transform, st.Running[0].Phase)
	require.Zero(t, st.Running[0].Shard)
}

func TestALostWorkerIsSaidInWords(t *testing.T) {
	failure := failureOf(&failurepb.Failure{
		Message:     "activity Heartbeat timeout",
		FailureInfo: &failurepb.Failure_TimeoutFailureInfo{TimeoutFailureInfo: &failurepb.TimeoutFailureInfo{TimeoutType: enumspb.TIMEOUT_TYPE_HEARTBEAT}},
	})
	require.Equal(t, &task.Failure{Class: task.Transient, Message: "its worker was not heard of any more"}, failure)
}

func TestAWholeFailureIsReadFromTheDetails(t *testing.T) {
	five := 5
	whole := task.Failure{Class: task.Data, Message: "value too long", Phase: task.Transform, Shard: &five, Table: "shop.orders"}
	failure := failureOf(&failurepb.Failure{
		Message: "value too long",
		FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{
			Type: string(task.Data), Details: payloads(t, whole),
		}},
	})
	require.Equal(t, &whole, failure)
}

func TestTheLatestThatIsToldOfNotedChangesCounts(t *testing.T) {
	st := transforming()
	st.Changelog = task.ChangelogStatus{Pending: 9000}
	now := time.Now().UTC()
	oldest := now.Add(-90 * time.Second)
	addActivities(&st, []*workflowpb.PendingActivityInfo{
		shard(t, "transform-0003", &task.Heartbeat{Shard: 3, At: now, Changelog: &task.ChangelogStatus{Pending: 12, Oldest: &oldest}}),
		shard(t, "transform-0002", &task.Heartbeat{Shard: 2, At: now.Add(-time.Second), Changelog: &task.ChangelogStatus{Pending: 700}}),
	})
	require.EqualValues(t, 12, st.Changelog.Pending)
	require.InDelta(t, 90, st.Changelog.AgeSeconds, 5)

	st = transforming()
	st.Changelog = task.ChangelogStatus{Pending: 9000}
	addActivities(&st, []*workflowpb.PendingActivityInfo{shard(t, "transform-0003", nil)})
	require.EqualValues(t, 9000, st.Changelog.Pending, "until somebody at work tells it")
}
