package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// twoSteps is the file of a pipeline.
func twoSteps(t *testing.T) string {
	const part = "sql: {database: warehouse, statement: SELECT 1, undo: SELECT 2, retry: {rounds: 0, attempts: 1}}"
	file := filepath.Join(t.TempDir(), "two.yaml")
	require.NoError(t, os.WriteFile(file, []byte("kind: pipeline\nname: two\nsteps:\n  - {name: one, "+part+"}\n  - {name: two, "+part+"}\n"), 0o600))
	return file
}

func TestARetryOfAStepWaitsUntilThePipelineHasEndedOrWaitsForSomebodyAgain(t *testing.T) {
	for _, flag := range []string{"--wait", "--watch"} {
		t.Run(flag, func(t *testing.T) {
			r := newRig(t)
			id := "retry-" + flag[2:]
			r.breakShard(2, "broken")
			require.Equal(t, exitFailed, r.call("run", twoSteps(t), "--id", id, "--wait").code)

			again := r.call("retry", id, "one", flag)
			require.Equal(t, exitFailed, again.code, again.notes)
			require.Equal(t, 2, r.status(id).Steps[0].Attempts, "it has been tried before the command came back")

			r.breakShard(2, "")
			release := r.block()
			ended := make(chan answer, 1)
			go func() { ended <- r.call("retry", id, "one", flag) }()
			r.until(id, func(st task.Status) bool { return st.Steps[0].State == task.Running })
			require.Empty(t, ended, "it has not ended")
			release()
			done := <-ended
			require.Equal(t, exitSuccess, done.code, done.out+done.notes)
			require.Equal(t, task.Success, r.status(id).State)
		})
	}
}

func TestARetryOfAStepThatIsNotWaitedForReturnsAtOnce(t *testing.T) {
	r := newRig(t)
	r.breakShard(2, "broken")
	require.Equal(t, exitFailed, r.call("run", twoSteps(t), "--id", t.Name(), "--wait").code)
	r.breakShard(2, "")
	release := r.block()
	require.Contains(t, r.must("retry", t.Name(), "one").out, "is tried again")
	release()
	require.Equal(t, exitSuccess, r.call("wait", t.Name()).code)
}
