package control

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"godwit/internal/task"
)

// closed completes the status of a run that has ended with how it ended.
func (d *Desk) closed(ctx context.Context, described *client.WorkflowExecutionDescription, st *task.Status) {
	if st.EndedAt == nil {
		st.EndedAt = described.WorkflowCloseTime
	}
	if st.Error != nil || st.State == task.Success {
		return
	}
	events := d.cluster.GetWorkflowHistory(ctx, st.ID, st.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return
		}
		st.Error = ending(event)
	}
}

// cutShort corrects what a workflow said of itself before Temporal ended it
// from outside: nothing is at work any more, and only a new run goes on.
func cutShort(st *task.Status) {
	st.Attention, st.Can, st.Running = true, []string{task.RetryUpdate, task.RollbackUpdate}, nil
	st.Shards.Running, st.Throttle.Holding = 0, false
	st.WaitingFor = fmt.Sprintf("an operator: `godwit retry %s` or `godwit rollback %s`", st.ID, st.ID)
	for i := range st.Steps {
		if step := &st.Steps[i]; step.State == task.Running {
			step.State = st.State
		}
	}
}

// ending is the failure that a closing event tells of; nil when it is none.
func ending(event *historypb.HistoryEvent) *task.Failure {
	if failed := event.GetWorkflowExecutionFailedEventAttributes(); failed != nil {
		return failureOf(failed.GetFailure())
	}
	if ended := event.GetWorkflowExecutionTerminatedEventAttributes(); ended != nil {
		return &task.Failure{Class: task.Human, Message: terminated(ended)}
	}
	if event.GetWorkflowExecutionTimedOutEventAttributes() != nil {
		return &task.Failure{Class: task.Timeout, Message: "Temporal's own time limit for the workflow has passed"}
	}
	return nil
}

func terminated(ended *historypb.WorkflowExecutionTerminatedEventAttributes) string {
	message := "the workflow was terminated in Temporal"
	if who := ended.GetIdentity(); who != "" {
		message += " by " + who
	}
	if why := ended.GetReason(); why != "" {
		message += fmt.Sprintf(" (%s)", why)
	}
	return message + ", so nothing was cleaned up"
}

// failureOf is a failure as the workflow or an activity put it: its details
// hold it whole, its type is the class.
func failureOf(f *failurepb.Failure) *task.Failure {
	if f == nil {
		return nil
	}
	for f.GetCause() != nil && f.GetApplicationFailureInfo() == nil {
		f = f.GetCause()
	}
	said := task.Failure{Class: task.Class(f.GetApplicationFailureInfo().GetType()), Message: f.GetMessage()}
	if details := f.GetApplicationFailureInfo().GetDetails().GetPayloads(); len(details) > 0 {
		var whole task.Failure
		if err := converter.GetDefaultDataConverter().FromPayload(details[0], &whole); err == nil && whole.Message != "" {
			return &whole
		}
	}
	if timeout := f.GetTimeoutFailureInfo(); timeout != nil {
		return &task.Failure{Class: task.Transient, Message: lost(timeout.GetTimeoutType())}
	}
	if said.Class == "" {
		said.Class = task.Internal
	}
	return &said
}

func lost(kind enumspb.TimeoutType) string {
	switch kind {
	case enumspb.TIMEOUT_TYPE_HEARTBEAT:
		return "its worker was not heard of any more"
	case enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START:
		return "no worker took it in time"
	}
	return "one try took too long"
}
