package chaos

import (
	"context"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"godwit/internal/task"
)

// followedPriority reads in Capacity's own history who asked when and who was let
// in when: nobody while somebody waited whose turn was before.
func (b *burst) followedPriority() {
	b.t.Helper()
	waiting, came, inside := map[string]task.Claim{}, []task.Claim{}, map[string]bool{}
	for _, event := range b.capacityHistory() {
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
			var claim task.Claim
			unpack(b, event.GetWorkflowExecutionSignaledEventAttributes().GetInput(), &claim)
			came = append(came, claim)
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED: // what has come by now is known
			for _, claim := range came {
				if claim.Held == 0 && !claim.Released && !inside[claim.ID] {
					waiting[claim.ID] = claim
				}
			}
			came = nil
		case enumspb.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
			id := event.GetSignalExternalWorkflowExecutionInitiatedEventAttributes().GetWorkflowExecution().GetWorkflowId()
			mine, waits := waiting[id]
			if !waits {
				continue // it is told another number of shards
			}
			delete(waiting, id)
			inside[id] = true
			for _, other := range waiting {
				require.False(b.t, other.Priority < mine.Priority || other.Priority == mine.Priority && other.Since.Before(mine.Since),
					"%s (priority %d) was let in although %s (priority %d) waited", id, mine.Priority, other.ID, other.Priority)
			}
		}
	}
	require.Len(b.t, inside, len(b.orders))
}

// capacityHistory is the events of all runs of the stage's Capacity workflow.
func (b *burst) capacityHistory() (all []*historypb.HistoryEvent) {
	b.t.Helper()
	id := task.CapacityID(b.name)
	listed, err := b.temporal.client.ListWorkflow(context.Background(), &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowId = '%s'", id)})
	require.NoError(b.t, err)
	runs := listed.GetExecutions()
	slices.SortFunc(runs, func(x, y *workflowpb.WorkflowExecutionInfo) int {
		return x.GetStartTime().AsTime().Compare(y.GetStartTime().AsTime())
	})
	for _, run := range runs {
		events := b.temporal.client.GetWorkflowHistory(context.Background(), id, run.GetExecution().GetRunId(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			require.NoError(b.t, err)
			all = append(all, event)
		}
	}
	b.t.Logf("%d events of Capacity in %d runs", len(all), len(runs))
	return all
}

func unpack(b *burst, payloads *commonpb.Payloads, into any) {
	b.t.Helper()
	require.NoError(b.t, converter.GetDefaultDataConverter().FromPayloads(payloads, into))
}
