package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"godwit/internal/task"
	"godwit/workflows"
)

// Retry lets a migration go on that waits or has failed: one that runs is
// asked to try again now, one that has ended in FAILED or TIMEOUT gets its
// next run under the same id, which does only what is missing.
func (d *Desk) Retry(ctx context.Context, id string, request task.Request) (Started, error) {
	return d.again(ctx, id, task.RetryUpdate, request, func(in *workflows.MigrationInput) { in.Resume = true })
}

// Rollback undoes a migration, whether it runs or has ended in FAILED or TIMEOUT.
func (d *Desk) Rollback(ctx context.Context, id string, request task.Request) (Started, error) {
	if err := d.inOrder(ctx, id); err != nil {
		return Started{}, err
	}
	return d.again(ctx, id, task.RollbackUpdate, request, func(in *workflows.MigrationInput) { in.Rollback = true })
}

func (d *Desk) again(ctx context.Context, id, verb string, request task.Request, set func(*workflows.MigrationInput)) (Started, error) {
	described, err := d.describe(ctx, id)
	if err != nil {
		return Started{}, err
	}
	answer := d.answerOf(described)
	if answer.Open {
		err := d.Update(ctx, id, verb, request)
		var refused *RefusedError
		if !errors.As(err, &refused) || !refused.ended {
			return Started{ID: id, RunID: answer.Status.RunID, URL: answer.Status.URL}, err
		}
		if described, err = d.closing(ctx, id, refused); err != nil {
			return Started{}, err
		}
		answer = d.answerOf(described)
	}
	if !answer.Status.State.Resumable() {
		return Started{}, &RefusedError{ID: id, Verb: verb, Reason: fmt.Sprintf("it has ended (%s), and only what is FAILED or TIMEOUT can go on", answer.Status.State)}
	}
	if described.WorkflowType.Name == task.PipelineWorkflow {
		return Started{}, &RefusedError{ID: id, Verb: verb, Reason: "it was ended in Temporal from outside, and a pipeline that was cannot be continued by this version yet; " +
			"its steps' migrations are there: `godwit list` shows them, and each can be steered by its own id"}
	}
	if err := d.RequireWorker(ctx, answer.Queue); err != nil {
		return Started{}, err
	}
	var in workflows.MigrationInput
	if err := d.input(ctx, described, &in); err != nil {
		return Started{}, err
	}
	next := workflows.MigrationInput{Spec: in.Spec, Ledger: in.Ledger, Target: in.Target, Pipeline: in.Pipeline, PipelineChain: in.PipelineChain, ByHand: in.Pipeline != ""}
	set(&next)
	return d.migrate(ctx, id, answer.Queue, next, fmt.Sprintf("%s, asked for by %s. %s", verb, request.By, request.Reason))
}

// closing describes a run that has ended while it was asked: Temporal may take a
// moment until it shows it. One that goes on all the same leaves it at the refusal.
func (d *Desk) closing(ctx context.Context, id string, refusal error) (*client.WorkflowExecutionDescription, error) {
	for range 20 {
		described, err := d.describe(ctx, id)
		if err != nil {
			return nil, err
		}
		if !d.answerOf(described).Open {
			return described, nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, refusal
}

// input is what a run was started with.
func (d *Desk) input(ctx context.Context, described *client.WorkflowExecutionDescription, target any) error {
	run := described.WorkflowExecution
	events := d.cluster.GetWorkflowHistory(ctx, run.ID, run.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	first, err := events.Next()
	if err != nil {
		return d.cluster.Explain(err)
	}
	payloads := first.GetWorkflowExecutionStartedEventAttributes().GetInput()
	if err := converter.GetDefaultDataConverter().FromPayloads(payloads, target); err != nil {
		return fmt.Errorf("%s was started with something that this version cannot read; use the `godwit` that started it", run.ID)
	}
	return nil
}

// Ref finds out where a migration's ledger is, and which task queue its
// workers listen to.
func (d *Desk) Ref(ctx context.Context, id string) (ref task.Ref, queue string, err error) {
	described, err := d.describe(ctx, id)
	if err != nil {
		return ref, "", err
	}
	// Not the whole input: a spec of another version is none of our business here.
	var in struct {
		Spec struct {
			Kind task.Kind `json:"kind"`
		} `json:"spec"`
		Ledger string `json:"ledger"`
	}
	if err := d.input(ctx, described, &in); err != nil {
		return ref, "", err
	}
	return task.Ref{ID: id, Kind: in.Spec.Kind, Ledger: in.Ledger}, described.TaskQueueName, nil
}
