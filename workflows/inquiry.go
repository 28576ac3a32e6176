package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

const (
	// planLimit bounds one attempt to make a plan, which looks at every table.
	planLimit = 5 * time.Minute
	// readLimit bounds one attempt to read the ledger, besides the time that
	// was asked to wait for an event.
	readLimit = 15 * time.Second
	// inquiryAttempts is how often the worker tries to find an answer before
	// whoever asked is told why not.
	inquiryAttempts = 3
)

// Inquiry asks the worker one thing that only it can know, and returns the
// answer. Somebody is waiting for it, so it does not try for long.
func Inquiry(ctx workflow.Context, in task.InquiryInput) (task.InquiryResult, error) {
	var out task.InquiryResult
	asked := 0
	for _, is := range []bool{in.Plan != nil, in.Events != nil, in.Status != nil} {
		if is {
			asked++
		}
	}
	if asked != 1 {
		return out, temporal.NewNonRetryableApplicationError("an inquiry asks for exactly one of plan, events and status", string(task.Config), nil)
	}
	var err error
	switch {
	case in.Plan != nil:
		out.Plan = &task.Plan{}
		err = ask(ctx, task.PlanActivity, planLimit, in.Plan, out.Plan)
	case in.Events != nil:
		out.Events = &task.EventsPage{}
		err = ask(ctx, task.EventsActivity, readLimit+in.Events.Wait, in.Events, out.Events)
	default:
		out.Status = &task.Status{}
		err = ask(ctx, task.LedgerStatusActivity, readLimit, in.Status, out.Status)
	}
	if err != nil {
		return task.InquiryResult{}, err
	}
	return out, nil
}

// ask runs an activity; its failure is the inquiry's own.
func ask(ctx workflow.Context, activity string, limit time.Duration, in, out any) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		Summary:             activity,
		StartToCloseTimeout: limit,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:        time.Second,
			BackoffCoefficient:     2,
			MaximumAttempts:        inquiryAttempts,
			NonRetryableErrorTypes: forShards,
		},
	})
	err := workflow.ExecuteActivity(ctx, activity, in).Get(ctx, out)
	if err == nil || temporal.IsCanceledError(err) {
		return err
	}
	failure := judge(err, "")
	if failure.Class == task.Stopping {
		failure.Class = task.Transient
	}
	return temporal.NewApplicationErrorWithOptions(failure.Message, string(failure.Class),
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{failure}})
}
