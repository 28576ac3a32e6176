package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"godwit/internal/task"
)

// Ask puts an inquiry to a worker and waits for the answer, as long as the
// limit says. An interrupted inquiry is cancelled.
func (d *Desk) Ask(ctx context.Context, queue string, in task.InquiryInput, limit time.Duration) (task.InquiryResult, error) {
	var result task.InquiryResult
	if err := d.RequireWorker(ctx, queue); err != nil {
		return result, err
	}
	run, err := d.cluster.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       "inquiry-" + uuid.NewString(),
		TaskQueue:                queue,
		WorkflowExecutionTimeout: limit,
		StaticSummary:            inquirySummary(in),
	}, task.InquiryWorkflow, in)
	if err != nil {
		return result, d.cluster.Explain(err)
	}
	watched, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go d.watchInquiry(watched, stop, run, queue)
	err = run.Get(watched, &result)
	if err == nil {
		return result, answers(result, in)
	}
	if watched.Err() != nil {
		d.abandon(run)
		return result, context.Cause(watched)
	}
	if explained := d.cluster.Explain(err); explained != err {
		return result, explained
	}
	return result, errors.New(failureMessage(err))
}

// answers reports an answer to another question: the worker is of a version
// that does not know this one.
func answers(result task.InquiryResult, in task.InquiryInput) error {
	if in.Plan != nil && result.Plan == nil || in.Events != nil && result.Events == nil || in.Status != nil && result.Status == nil {
		return errors.New("the worker does not know this question; start a godwit-worker of the same version as this godwit")
	}
	return nil
}

// watchInquiry gives an inquiry up when no worker has taken it and none is left.
func (d *Desk) watchInquiry(ctx context.Context, stop context.CancelCauseFunc, run client.WorkflowRun, queue string) {
	const untouched = 2 // events of a workflow that no worker has looked at
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Second):
		}
		described, err := d.cluster.DescribeWorkflow(ctx, run.GetID(), run.GetRunID())
		if err != nil || described.HistoryLength > untouched {
			continue
		}
		if err := d.RequireWorker(ctx, queue); err != nil {
			stop(err)
			return
		}
	}
}

func (d *Desk) abandon(run client.WorkflowRun) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_ = d.cluster.CancelWorkflow(ctx, run.GetID(), run.GetRunID()) // it ends by its own limit otherwise
}

func inquirySummary(in task.InquiryInput) string {
	switch {
	case in.Plan != nil:
		return "plan a migration"
	case in.Events != nil:
		return fmt.Sprintf("events of %s", in.Events.ID)
	case in.Status != nil:
		return fmt.Sprintf("status of %s from the ledger", in.Status.ID)
	}
	return ""
}
