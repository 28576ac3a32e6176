package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/starter/timing"
)

// Booking is a migration to be started at times to come.
type Booking struct {
	Spec   *spec.Spec
	ID     string // of the schedule
	Timing timing.Timing
	// CatchUp is how late a start may be that was missed while Temporal was away.
	CatchUp time.Duration
	// KeepGoing goes on after a run that failed, instead of pausing.
	KeepGoing bool
	// Unattended makes it although no worker listens.
	Unattended bool
}

// bookingMemo is the key of what a schedule says of itself.
const bookingMemo = "godwit"

// booked is what a schedule says of itself: Temporal keeps a cron expression
// only as the calendars that it means.
type booked struct {
	Timing timing.Timing `json:"timing"`
	Name   string        `json:"name"`
	Kind   task.Kind     `json:"kind"`
	Target string        `json:"target"`
	By     string        `json:"by"`
}

// timeSuffix is what Temporal appends to a schedule's id to make that of a run.
const timeSuffix = "-2006-01-02T15:04:05Z"

// Book makes a schedule. Its runs are started as Start would. An id that is
// taken is a *BookedError; without a worker it is a *NoWorkerError.
func (d *Desk) Book(ctx context.Context, b Booking) (Schedule, error) {
	if err := CheckScheduleID(b.ID); err != nil {
		return Schedule{}, err
	}
	if !b.Unattended {
		if err := d.RequireWorker(ctx, d.queue); err != nil {
			return Schedule{}, err
		}
	}
	options, err := d.scheduleOptions(b)
	if err != nil {
		return Schedule{}, err
	}
	_, err = d.cluster.ScheduleClient().Create(ctx, options)
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return Schedule{}, &BookedError{ID: b.ID}
	}
	if err != nil {
		return Schedule{}, d.notSetUp(err)
	}
	return d.Schedule(ctx, b.ID)
}

// CheckScheduleID reports why an id cannot be that of a schedule: the ids of
// its runs begin with it.
func CheckScheduleID(id string) error {
	if err := task.CheckID(id); err != nil {
		return fmt.Errorf("the id of a schedule is part of the ids of its runs: %w", err)
	}
	if most := task.MaxIDLength - len(timeSuffix); len(id) > most {
		return fmt.Errorf("the id of a schedule has at most %d characters, since those of its runs have its time as well; this one has %d", most, len(id))
	}
	return nil
}

func (d *Desk) scheduleOptions(b Booking) (client.ScheduleOptions, error) {
	begins, err := beginningOf(b.Spec)
	if err != nil {
		return client.ScheduleOptions{}, err
	}
	if err := checkStepIDs(b.Spec, b.ID+timeSuffix); err != nil {
		return client.ScheduleOptions{}, err
	}
	run := begins.options(b.ID, d.queue, fmt.Sprintf("started by the schedule %s, made by %s", b.ID, Operator()))
	options := client.ScheduleOptions{
		ID:             b.ID,
		Spec:           scheduleSpec(b.Timing),
		Overlap:        enumspb.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow:  b.CatchUp,
		PauseOnFailure: !b.KeepGoing,
		Memo: map[string]any{bookingMemo: booked{
			Timing: b.Timing, Name: b.Spec.Name, Kind: b.Spec.Kind, Target: begins.target, By: Operator(),
		}},
		Action: &client.ScheduleWorkflowAction{
			ID: run.ID, TaskQueue: run.TaskQueue, Workflow: begins.workflow, Args: []any{begins.input},
			StaticSummary: run.StaticSummary, StaticDetails: run.StaticDetails, Memo: run.Memo,
			TypedSearchAttributes: run.TypedSearchAttributes, Priority: run.Priority,
		},
	}
	if b.Timing.At != nil {
		options.RemainingActions = 1
	}
	return options, nil
}

// scheduleSpec is a timing as Temporal has it.
func scheduleSpec(t timing.Timing) client.ScheduleSpec {
	if t.At == nil {
		return client.ScheduleSpec{CronExpressions: []string{t.Cron}, TimeZoneName: t.Timezone}
	}
	// In UTC, where every time comes once.
	at := t.At.UTC()
	only := func(n int) []client.ScheduleRange { return []client.ScheduleRange{{Start: n}} }
	return client.ScheduleSpec{Calendars: []client.ScheduleCalendarSpec{{
		Year: only(at.Year()), Month: only(int(at.Month())), DayOfMonth: only(at.Day()),
		Hour: only(at.Hour()), Minute: only(at.Minute()), Second: only(at.Second()),
	}}}
}
