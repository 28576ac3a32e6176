package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"godwit/internal/cluster"
	"godwit/internal/task"
)

// queryLimit is how long to wait for a worker to tell a migration's status.
const queryLimit = 5 * time.Second

// Answer is what could be found out about a migration.
type Answer struct {
	Status task.Status
	// Open says that the workflow runs: also after SUCCESS, while something
	// is kept for a rollback.
	Open bool
	// Queue is the task queue that the migration runs on.
	Queue string
	// Remark says why the status is less than the whole truth, and what would
	// help; empty when all is well.
	Remark string
}

// Status finds out all that can be known of a migration: from its workflow,
// which a worker has to answer for, and from Temporal, which knows what the
// running activities said last.
func (d *Desk) Status(ctx context.Context, id string) (Answer, error) {
	described, err := d.describe(ctx, id)
	if err != nil {
		return Answer{}, err
	}
	answer := d.answerOf(described)
	said, remark, err := d.query(ctx, described)
	if err != nil {
		return Answer{}, err
	}
	answer.Remark = remark
	if remark == "" {
		outline := answer.Status
		answer.Status = said
		answer.Status.ID, answer.Status.RunID, answer.Status.URL = outline.ID, outline.RunID, outline.URL
		answer.Status.Source = "workflow"
		answer.Status.State = stateOf(described.Status, said.State)
		if !answer.Open && !said.State.Final() {
			cutShort(&answer.Status)
		}
	}
	if !answer.Open {
		d.closed(ctx, described, &answer.Status)
	}
	if answer.Open && answer.Status.State == task.Pending && remark == "" {
		placed(&answer.Status, d.places(ctx, answer.Queue))
	}
	addActivities(&answer.Status, described.RawResponse.GetPendingActivities())
	return answer, nil
}

// answerOf is what Temporal alone knows.
func (d *Desk) answerOf(described *client.WorkflowExecutionDescription) Answer {
	return Answer{
		Status: d.outline(described.RawResponse.GetWorkflowExecutionInfo()),
		Open:   described.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
		Queue:  described.TaskQueueName,
	}
}

// query asks the workflow itself. A remark instead of an error says why there
// is no answer.
func (d *Desk) query(ctx context.Context, described *client.WorkflowExecutionDescription) (st task.Status, remark string, err error) {
	workers, err := d.Workers(ctx, described.TaskQueueName)
	if err != nil {
		return st, "", err
	}
	if len(workers) == 0 {
		return st, d.withoutWorker(described.TaskQueueName), nil
	}
	limited, cancel := context.WithTimeout(ctx, queryLimit)
	defer cancel()
	value, err := d.cluster.QueryWorkflow(limited, described.WorkflowExecution.ID, described.WorkflowExecution.RunID, task.StatusQuery)
	if err == nil {
		err = value.Get(&st)
	}
	if err == nil {
		return st, "", nil
	}
	if ctx.Err() != nil {
		return st, "", ctx.Err()
	}
	remark = d.silence(described, err)
	if remark == "" {
		return st, "", d.cluster.Explain(err)
	}
	return st, remark, nil
}

func (d *Desk) withoutWorker(queue string) string {
	return (&NoWorkerError{Queue: queue}).Error() + "; until then this is what Temporal remembers"
}

// silence says why a workflow does not answer a query; empty when the error
// is of another kind.
func (d *Desk) silence(described *client.WorkflowExecutionDescription, err error) string {
	var (
		precondition *serviceerror.FailedPrecondition
		notReady     *serviceerror.WorkflowNotReady
		failed       *serviceerror.QueryFailed
	)
	attempt := described.RawResponse.GetPendingWorkflowTask().GetAttempt()
	switch {
	case attempt > 1:
		return fmt.Sprintf("the workers on task queue %q cannot go on with it (try %d of one step); look at their logs and at the Web UI", described.TaskQueueName, attempt)
	case errors.As(err, &notReady):
		return "no worker has begun it yet; this is what Temporal knows"
	case errors.As(err, &failed):
		return fmt.Sprintf("the worker cannot tell its status (%s); this is what Temporal remembers", failed.Error())
	case errors.As(err, &precondition):
		return d.withoutWorker(described.TaskQueueName)
	case cluster.Unavailable(err):
		return fmt.Sprintf("no worker on task queue %q answered within %s: look whether godwit-worker runs; until then this is what Temporal remembers", described.TaskQueueName, queryLimit)
	}
	return ""
}
