package control

import (
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"godwit/internal/task"
)

func TestAStateIsWhatTheMigrationSaidUnlessItWasEndedFromOutside(t *testing.T) {
	for _, test := range []struct {
		status enumspb.WorkflowExecutionStatus
		said   task.State
		want   task.State
	}{
		{enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, "", task.Pending},
		{enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, task.Paused, task.Paused},
		{enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, task.Success, task.Success},
		{enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, task.Success, task.Success},
		{enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, task.TimedOut, task.TimedOut},
		{enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, task.RolledBack, task.RolledBack},
		{enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, task.Running, task.Failed},
		{enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, task.Running, task.Failed},
		{enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, task.Success, task.Success},
		{enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, task.Running, task.Cancelled},
		{enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT, task.Running, task.TimedOut},
	} {
		require.Equal(t, test.want, stateOf(test.status, test.said), "%s %s", test.status, test.said)
	}
}

func TestFiltersAreQuoted(t *testing.T) {
	f := Filter{Kind: task.Copy, Target: `it's \ here`}
	require.Equal(t, `WorkflowType IN ('Migration', 'Pipeline') AND GodwitKind = 'copy' AND GodwitTarget = 'it\'s \\ here'`, f.query())
}
