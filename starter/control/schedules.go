package control

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"godwit/internal/task"
	"godwit/starter/timing"
)

// Schedule is how a schedule stands.
type Schedule struct {
	ID     string    `json:"id"`
	Name   string    `json:"name"` // of the migrations that it starts
	Kind   task.Kind `json:"kind"`
	Target string    `json:"target"`
	timing.Timing
	CatchUp   float64 `json:"catch_up_seconds"`
	KeepGoing bool    `json:"keep_going"`
	Queue     string  `json:"task_queue"`
	By        string  `json:"by"` // who made it

	Paused bool   `json:"paused"`
	Note   string `json:"note,omitempty"` // why it is paused, or was last
	// Next are the times to come; there are none while it is paused, and when
	// it is over.
	Next []time.Time `json:"next"`
	Last *LastRun    `json:"last,omitempty"`

	Runs    int `json:"runs"`    // started, also by trigger
	Skipped int `json:"skipped"` // since the run before was not over
	Missed  int `json:"missed"`  // since Temporal was away for longer than the catch-up
}

// LastRun is the migration that a schedule has started last.
type LastRun struct {
	ID        string     `json:"id"`
	At        time.Time  `json:"at"`              // when it was started
	State     task.State `json:"state,omitempty"` // empty when Temporal has forgotten it
	Attention bool       `json:"attention"`
	// Open says that it counts as running: also after SUCCESS, while
	// something is kept for a rollback.
	Open bool   `json:"open"`
	URL  string `json:"url,omitempty"`
}

// Over says that it starts nothing any more by itself.
func (s Schedule) Over() bool { return !s.Paused && len(s.Next) == 0 }

// Schedules lists the schedules of migrations by their ids.
func (d *Desk) Schedules(ctx context.Context) ([]Schedule, error) {
	ids, err := d.scheduleIDs(ctx)
	if err != nil {
		return nil, err
	}
	schedules := []Schedule{}
	for _, id := range ids {
		s, err := d.Schedule(ctx, id)
		var missing *NotBookedError
		if errors.As(err, &missing) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		schedules = append(schedules, s)
	}
	return schedules, nil
}

// scheduleIDs are the ids of those schedules that start migrations.
func (d *Desk) scheduleIDs(ctx context.Context) ([]string, error) {
	entries, err := d.cluster.ScheduleClient().List(ctx, client.ScheduleListOptions{PageSize: 200})
	if err != nil {
		return nil, d.cluster.Explain(err)
	}
	var ids []string
	for entries.HasNext() {
		entry, err := entries.Next()
		if err != nil {
			return nil, d.cluster.Explain(err)
		}
		if entry.Memo.GetFields()[bookingMemo] != nil {
			ids = append(ids, entry.ID)
		}
	}
	slices.SortFunc(ids, strings.Compare)
	return ids, nil
}

// Schedule finds out how one schedule stands. One that is not there, or that
// starts something else than migrations, is a *NotBookedError.
func (d *Desk) Schedule(ctx context.Context, id string) (Schedule, error) {
	described, err := d.cluster.ScheduleClient().GetHandle(ctx, id).Describe(ctx)
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return Schedule{}, d.notBooked(ctx, id)
	}
	if err != nil {
		return Schedule{}, d.cluster.Explain(err)
	}
	if described.Memo.GetFields()[bookingMemo] == nil {
		return Schedule{}, d.notBooked(ctx, id)
	}
	s := scheduleOf(id, described)
	if s.Last != nil {
		if err := d.addOutcome(ctx, s.Last); err != nil {
			return Schedule{}, err
		}
	}
	return s, nil
}

func scheduleOf(id string, described *client.ScheduleDescription) Schedule {
	var says booked
	decode(described.Memo.GetFields()[bookingMemo], &says)
	state, info := described.Schedule.State, described.Info
	s := Schedule{
		ID: id, Name: says.Name, Kind: says.Kind, Target: says.Target, Timing: says.Timing, By: says.By,
		CatchUp: described.Schedule.Policy.CatchupWindow.Seconds(), KeepGoing: !described.Schedule.Policy.PauseOnFailure,
		Paused: state.Paused, Note: state.Note, Next: []time.Time{},
		Runs: info.NumActions, Skipped: info.NumActionsSkippedOverlap, Missed: info.NumActionsMissedCatchupWindow,
	}
	if action, ok := described.Schedule.Action.(*client.ScheduleWorkflowAction); ok {
		s.Queue = action.TaskQueue
	}
	if !state.Paused && (!state.LimitedActions || state.RemainingActions > 0) {
		s.Next = append(s.Next, slices.DeleteFunc(info.NextActionTimes, s.missed)...)
	}
	if n := len(info.RecentActions); n > 0 && info.RecentActions[n-1].StartWorkflowResult != nil {
		last := info.RecentActions[n-1]
		s.Last = &LastRun{ID: last.StartWorkflowResult.WorkflowID, At: last.ActualTime}
	}
	return s
}

// missed says that a time has passed for too long to be made up for: Temporal
// goes on showing the last one of a schedule that has no other.
func (s Schedule) missed(at time.Time) bool { return time.Since(at).Seconds() > s.CatchUp }

// addOutcome says how a run stands: the latest one under its id, which may be
// an operator's retry.
func (d *Desk) addOutcome(ctx context.Context, last *LastRun) error {
	answer, err := d.glance(ctx, last.ID)
	var missing *NotFoundError
	if errors.As(err, &missing) {
		return nil
	}
	if err != nil {
		return err
	}
	last.State, last.Attention, last.URL, last.Open = answer.Status.State, answer.Status.Attention, answer.Status.URL, answer.Open
	return nil
}
