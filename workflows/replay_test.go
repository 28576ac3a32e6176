package workflows

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// histories are of runs on a real server, also of earlier versions: migrations that are
// under way when a worker is replaced must go on with the new one.
const histories = "../testdata/histories"

func TestEveryRecordedHistoryCanBeReplayed(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(histories, "*.json"))
	require.NoError(t, err)
	if _, err := os.Stat(histories); err == nil {
		require.NotEmpty(t, files, "the folder is there and has no history")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.Open(file)
			require.NoError(t, err)
			defer text.Close()
			history, err := client.HistoryFromJSON(text, client.HistoryJSONOptions{})
			require.NoError(t, err)
			replayed(t, history)
		})
	}
}

// replayed fails the test when a history cannot be replayed. The ids of a pipeline's
// steps begin with its own.
func replayed(t *testing.T, history *historypb.History) {
	t.Helper()
	replayer := worker.NewWorkflowReplayer()
	Register(replayer)
	began := history.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	require.NoError(t, replayer.ReplayWorkflowHistoryWithOptions(quiet{}, history, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: began.GetWorkflowId(), RunID: began.GetOriginalExecutionRunId()},
	}))
}
