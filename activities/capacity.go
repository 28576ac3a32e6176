package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"godwit/internal/task"
)

// atOnce is how many workflows a survey looks at in parallel.
const atOnce = 8

// ClaimPlace sees to it that the Capacity workflow of a task queue has a
// migration's claim, and starts that workflow when it is not there.
func (a *Activities) ClaimPlace(ctx context.Context, in task.ClaimInput) (task.Claimed, error) {
	c, id := activity.GetClient(ctx), task.CapacityID(in.Queue)
	if in.Known != "" {
		if chain, open, err := chainOf(ctx, c, id); err == nil && open && chain == in.Known {
			return task.Claimed{Chain: chain}, nil
		}
	}
	in.Claim.Limits = a.limits(in.Claim.Connections)
	_, err := c.SignalWithStartWorkflow(ctx, id, task.ClaimSignal, in.Claim, client.StartWorkflowOptions{
		ID: id, TaskQueue: in.Queue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary: "who may run, within the limits of the connections",
		Priority:      temporal.Priority{PriorityKey: 1},
	}, task.CapacityWorkflow, struct{}{})
	if err != nil {
		return task.Claimed{}, unasked(err)
	}
	chain, _, err := chainOf(ctx, c, id)
	if err != nil {
		return task.Claimed{}, unasked(err)
	}
	return task.Claimed{Chain: chain}, nil
}

// limits are those of the connections that this worker knows.
func (a *Activities) limits(connections []string) map[string]task.Limits {
	limits := map[string]task.Limits{}
	for _, name := range connections {
		if c, err := a.connections.Get(name); err == nil {
			limits[name] = c.Limits
		}
	}
	return limits
}

// unasked is the error of a question to Temporal, which is asked again.
func unasked(err error) error {
	return temporal.NewApplicationErrorWithCause("Temporal could not be asked: "+err.Error(), string(task.Transient), err)
}

// chainOf is the first run of the workflow that has an id now, and whether it
// is open. No workflow is an error.
func chainOf(ctx context.Context, c client.Client, id string) (chain string, open bool, err error) {
	d, err := c.DescribeWorkflow(ctx, id, "")
	if err != nil {
		return "", false, err
	}
	return d.RawResponse.GetWorkflowExecutionInfo().GetFirstRunId(), d.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// SurveyPlaces tells which of the migrations that Capacity knows have ended,
// and what the limits of their connections are. For a census it also asks
// those that work and are not known to announce themselves.
func (a *Activities) SurveyPlaces(ctx context.Context, in task.SurveyInput) (task.Survey, error) {
	c := activity.GetClient(ctx)
	out := task.Survey{Limits: a.limits(in.Connections)}
	var mu sync.Mutex
	g, looking := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, known := range in.Known {
		g.Go(func() error {
			chain, open, err := chainOf(looking, c, known.ID)
			var missing *serviceerror.NotFound
			switch {
			case err != nil && !errors.As(err, &missing):
				return unasked(err)
			case err == nil && open && chain == known.Chain:
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			out.Gone = append(out.Gone, known.ID)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return task.Survey{}, err
	}
	if !in.Census {
		return out, nil
	}
	working, err := atWork(ctx, c, in.Queue)
	if err != nil {
		return task.Survey{}, unasked(err)
	}
	for _, id := range working {
		known := func(k task.Claim) bool { return k.ID == id }
		if !slices.ContainsFunc(in.Known, known) && c.SignalWorkflow(ctx, id, "", task.AnnounceSignal, nil) == nil {
			out.Asked = append(out.Asked, id)
		}
	}
	return out, nil
}

// atWork are the migrations of a task queue that may hold a place. Those that
// wait for one ask again by themselves.
func atWork(ctx context.Context, c client.Client, queue string) ([]string, error) {
	quoted := "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(queue) + "'"
	request := &workflowservice.ListWorkflowExecutionsRequest{PageSize: 500, Query: fmt.Sprintf(
		"WorkflowType = '%s' AND ExecutionStatus = 'Running' AND TaskQueue = %s AND %s IN ('%s', '%s')",
		task.MigrationWorkflow, quoted, task.StateAttribute, task.Running, task.Retrying)}
	var ids []string
	for {
		page, err := c.ListWorkflow(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, info := range page.GetExecutions() {
			ids = append(ids, info.GetExecution().GetWorkflowId())
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return ids, nil
		}
	}
}
