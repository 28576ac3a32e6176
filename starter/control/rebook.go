package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// scheduleLimit is how long Temporal may take to do what a schedule is asked for.
const scheduleLimit = 10 * time.Second

// PauseSchedule lets a schedule start nothing more; what runs goes on.
func (d *Desk) PauseSchedule(ctx context.Context, id, reason string) (Schedule, error) {
	if _, err := d.Schedule(ctx, id); err != nil {
		return Schedule{}, err
	}
	err := d.cluster.ScheduleClient().GetHandle(ctx, id).Pause(ctx, client.SchedulePauseOptions{Note: noteOf("paused", reason)})
	if err != nil {
		return Schedule{}, d.scheduleError(ctx, id, err)
	}
	return d.awaitSchedule(ctx, id, func(s Schedule) bool { return s.Paused })
}

// ResumeSchedule lets a paused schedule go on; what would have started
// meanwhile is not made up for.
func (d *Desk) ResumeSchedule(ctx context.Context, id, reason string) (Schedule, error) {
	if _, err := d.Schedule(ctx, id); err != nil {
		return Schedule{}, err
	}
	err := d.cluster.ScheduleClient().GetHandle(ctx, id).Unpause(ctx, client.ScheduleUnpauseOptions{Note: noteOf("resumed", reason)})
	if err != nil {
		return Schedule{}, d.scheduleError(ctx, id, err)
	}
	return d.awaitSchedule(ctx, id, func(s Schedule) bool { return !s.Paused })
}

// DeleteSchedule removes a schedule; what it has started goes on.
func (d *Desk) DeleteSchedule(ctx context.Context, id string) (Schedule, error) {
	s, err := d.Schedule(ctx, id)
	if err != nil {
		return Schedule{}, err
	}
	if err := d.cluster.ScheduleClient().GetHandle(ctx, id).Delete(ctx); err != nil {
		return Schedule{}, d.scheduleError(ctx, id, err)
	}
	s.Next = []time.Time{}
	return s, nil
}

// TriggerSchedule lets a schedule start its migration now, also while it is
// paused, and waits until it has. While its last run is not over it is refused.
func (d *Desk) TriggerSchedule(ctx context.Context, id string, unattended bool) (Started, error) {
	before, err := d.Schedule(ctx, id)
	if err != nil {
		return Started{}, err
	}
	if last := before.Last; last != nil && last.Open {
		return Started{}, &OverlapError{Schedule: id, Run: *last}
	}
	if !unattended {
		if err := d.RequireWorker(ctx, before.Queue); err != nil {
			return Started{}, err
		}
	}
	err = d.cluster.ScheduleClient().GetHandle(ctx, id).Trigger(ctx, client.ScheduleTriggerOptions{Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP})
	if err != nil {
		return Started{}, d.scheduleError(ctx, id, err)
	}
	after, err := d.awaitSchedule(ctx, id, func(s Schedule) bool {
		return s.Last != nil && (before.Last == nil || s.Last.ID != before.Last.ID)
	})
	if err != nil {
		return Started{}, err
	}
	described, err := d.describe(ctx, after.Last.ID)
	if err != nil {
		return Started{}, err
	}
	run := described.WorkflowExecution
	return Started{ID: run.ID, RunID: run.RunID, URL: d.cluster.Link(run.ID, run.RunID)}, nil
}

// awaitSchedule waits until a schedule stands as somebody asked for.
func (d *Desk) awaitSchedule(ctx context.Context, id string, came func(Schedule) bool) (Schedule, error) {
	deadline := time.Now().Add(scheduleLimit)
	for {
		s, err := d.Schedule(ctx, id)
		switch {
		case err != nil:
			return s, err
		case came(s):
			return s, nil
		case time.Now().After(deadline):
			return s, fmt.Errorf("%s: asked for, and not done by Temporal within %s; `godwit schedule list` shows whether it does", id, scheduleLimit)
		}
		if err := Rest(ctx, firstInterval); err != nil {
			return s, err
		}
	}
}

func (d *Desk) scheduleError(ctx context.Context, id string, err error) error {
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return d.notBooked(ctx, id)
	}
	return d.cluster.Explain(err)
}

// notBooked names the schedules that there are, as far as they can be found out.
func (d *Desk) notBooked(ctx context.Context, id string) error {
	ids, err := d.scheduleIDs(ctx)
	if err != nil {
		return err
	}
	return &NotBookedError{ID: id, Namespace: d.cluster.Namespace, Known: ids}
}

// noteOf is why, and who.
func noteOf(verb, reason string) string {
	if reason == "" {
		return verb + " by " + Operator()
	}
	return fmt.Sprintf("%s (%s by %s)", reason, verb, Operator())
}
