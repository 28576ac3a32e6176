package control

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"godwit/internal/task"
)

// addActivities adds to a status what the workflow does not see: what the
// running activities say of themselves, and those that wait for another try.
// Which shards run is the workflow's to tell, where it was asked: what is
// pending was looked up at another moment.
func addActivities(st *task.Status, pending []*workflowpb.PendingActivityInfo) {
	said, asked := st.Running, st.Source == "workflow"
	st.Running = []task.Heartbeat{}
	for _, activity := range pending {
		if activity.GetActivityType().GetName() == task.RecordActivity {
			continue
		}
		beat := beatOf(activity)
		at := slices.IndexFunc(said, func(known task.Heartbeat) bool { return beat.Shard > 0 && known.Shard == beat.Shard })
		switch {
		case at >= 0:
			beat.Phase, beat.Table = said[at].Phase, cmp.Or(beat.Table, said[at].Table)
			said = slices.Delete(slices.Clone(said), at, at+1)
		case asked && beat.Shard > 0:
			continue
		}
		addActivity(st, activity, beat)
	}
	st.Running = append(st.Running, said...)
	slices.SortFunc(st.Running, func(a, b task.Heartbeat) int { return cmp.Compare(a.Shard, b.Shard) })
	addProgress(st)
	if oldest := st.Changelog.Oldest; oldest != nil {
		st.Changelog.AgeSeconds = max(0, math.Round(10*time.Since(*oldest).Seconds())/10)
	}
}

func addActivity(st *task.Status, activity *workflowpb.PendingActivityInfo, beat task.Heartbeat) {
	waits := activity.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED
	if waits && activity.GetAttempt() > 1 {
		st.Failures = append(st.Failures, waitingTry(activity, beat))
		if beat.Shard > 0 && st.Shards.Running > 0 {
			st.Shards.Running--
			st.Shards.Retrying++
		}
		return
	}
	if waits {
		beat.WaitingFor = "a worker with a free slot"
	}
	addThrottle(&st.Throttle, &beat)
	addChangelog(st, &beat)
	st.Running = append(st.Running, beat)
}

// addThrottle takes over what a heartbeat says of the throttle: the longest
// hold, and of guards and of time held the latest. What is said once for all is
// not repeated with every shard.
func addThrottle(t *task.ThrottleStatus, beat *task.Heartbeat) {
	since := beat.HoldingSince
	switch {
	case beat.Holding == "":
	case !t.Holding || t.Since == nil && since != nil || since != nil && since.Before(*t.Since):
		t.Holding, t.Reason, t.Since = true, beat.Holding, since
	}
	for _, guard := range beat.Guards {
		at := slices.IndexFunc(t.Guards, func(known task.GuardStatus) bool { return known.Guard == guard.Guard })
		switch {
		case at < 0:
			t.Guards = append(t.Guards, guard)
		case guard.Holding:
			t.Guards[at] = guard
		}
	}
	for _, h := range beat.Held {
		at := slices.IndexFunc(t.Held, func(known task.HeldTime) bool { return known.Guard == h.Guard })
		switch {
		case at < 0:
			t.Held = append(t.Held, h)
		case h.Seconds > t.Held[at].Seconds:
			t.Held[at] = h
		}
	}
	beat.Guards, beat.Held = nil, nil
}

// addChangelog takes over what a heartbeat says of noted changes, which it has
// measured itself: those at work at the same time tell the latest that one of
// them has found out.
func addChangelog(st *task.Status, beat *task.Heartbeat) {
	if beat.Changelog == nil {
		return
	}
	for _, other := range st.Running {
		if other.Changelog != nil && other.At.After(beat.At) {
			return
		}
	}
	st.Changelog = *beat.Changelog
}

// beatOf is what an activity said last, completed by what Temporal knows of it.
func beatOf(activity *workflowpb.PendingActivityInfo) task.Heartbeat {
	var beat task.Heartbeat
	if details := activity.GetHeartbeatDetails().GetPayloads(); len(details) > 0 {
		decode(details[0], &beat)
	}
	beat.Attempt = int(activity.GetAttempt())
	if beat.At.IsZero() {
		beat.At = activity.GetLastStartedTime().AsTime()
	}
	if beat.Shard == 0 {
		beat.Shard = shardOf(activity)
	}
	if beat.Phase == "" {
		beat.Phase = phaseOf(activity.GetActivityType().GetName())
	}
	carryForward(&beat, time.Since(beat.At))
	return beat
}

// shardOf reads the number of a shard from the id that its activity has for
// people, like transform-0003; 0 for an activity that is no shard's.
func shardOf(activity *workflowpb.PendingActivityInfo) int {
	switch activity.GetActivityType().GetName() {
	case task.TransformShardActivity, task.VerifyShardActivity:
		id := activity.GetActivityId()
		number, err := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:])
		if err == nil {
			return number
		}
	}
	return 0
}

// phaseOf is the phase that an activity belongs to by its name:
// FinishTransform to transform.
func phaseOf(activity string) task.Phase {
	for _, phase := range task.Phases {
		if strings.Contains(strings.ToLower(activity), string(phase)) {
			return phase
		}
	}
	return task.Phase(strings.ToLower(activity))
}

// waitingTry is an activity that failed and is tried again by Temporal.
func waitingTry(activity *workflowpb.PendingActivityInfo, beat task.Heartbeat) task.Failure {
	failure := task.Failure{Class: task.Transient, Message: "stopped"}
	if last := failureOf(activity.GetLastFailure()); last != nil {
		failure = *last
	}
	failure.Phase = cmp.Or(failure.Phase, beat.Phase)
	failure.Table = cmp.Or(failure.Table, beat.Table)
	if failure.Shard == nil && beat.Shard > 0 {
		failure.Shard = &beat.Shard
	}
	failure.Message += fmt.Sprintf("; try %d", activity.GetAttempt())
	if next := activity.GetNextAttemptScheduleTime(); next != nil {
		failure.Message += " at " + next.AsTime().Format("15:04:05 UTC")
	}
	return failure
}
