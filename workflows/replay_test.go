package workflows

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"
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
			replayer := worker.NewWorkflowReplayer()
			Register(replayer)
			require.NoError(t, replayer.ReplayWorkflowHistoryFromJSONFile(quiet{}, file))
		})
	}
}
