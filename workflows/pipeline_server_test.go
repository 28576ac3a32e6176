package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// keptOnAServer is how long what undoes a step is kept.
const keptOnAServer = time.Hour

// pipelineScenarios are those of pipelines on a real server.
var pipelineScenarios = []serverScenario{
	{"a pipeline is done and undone", pipelineUndone, "pipeline-undone"},
	{"a step that takes too long is held and goes on by hand", pipelineHeld, "pipeline-held"},
	{"a step that takes too long is skipped", pipelineSkipped, "pipeline-skipped"},
	{"a step that fails takes all before it back", pipelineFailed, "pipeline-failed"},
	{"a pipeline is paused and goes on", pipelinePaused, "pipeline-paused"},
	{"a pipeline is cancelled through Temporal", pipelineCancelled, "pipeline-canceled"},
}

// startPipeline starts a pipeline of two steps, with fields for the second one.
func (r *rig) startPipeline(fields string) {
	r.t.Helper()
	const part = `sql: {database: warehouse, statement: SELECT 1, undo: SELECT 2, retry: {rounds: 0, attempts: 1}}`
	s, err := spec.Parse("p.yaml", []byte("kind: pipeline\nname: two\nretry: {delay: 1s}\nsteps:\n  - {name: one, "+part+"}\n  - {name: two, "+part+fields+"}\n"))
	require.NoError(r.t, err)
	run, err := r.c.ExecuteWorkflow(r.t.Context(), client.StartWorkflowOptions{ID: r.id, TaskQueue: r.queue}, task.PipelineWorkflow,
		PipelineInput{Spec: flat(r.t, s), Ledger: "warehouse", Target: "warehouse"})
	require.NoError(r.t, err)
	r.runs = append(r.runs, run.GetRunID())
}

func (r *rig) steps(want ...task.State) {
	r.t.Helper()
	require.Equal(r.t, want, states(r.status()))
}

func pipelineUndone(t *testing.T, r *rig) {
	r.keepFor = keptOnAServer
	r.startPipeline("")
	r.reaches(func(s task.Status) bool { return s.State == task.Success })
	_, err := r.update(task.RollbackUpdate, task.Request{By: "ann"})
	require.NoError(t, err)
	how, err := r.ends()
	require.ErrorContains(t, err, "rolled back: rollback by ann")
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, how)
	r.steps(task.RolledBack, task.RolledBack)
	require.Equal(t, 2, r.timesBegun(task.RollbackActivity))
}

// secondHangs lets the first step through and the second one wait at its shards. The
// rig's shards are done once, so those of the second step are new ones.
func (r *rig) secondHangs(fields string) (open func()) {
	r.t.Helper()
	r.keepFor = keptOnAServer
	r.startPipeline(fields)
	r.reaches(func(s task.Status) bool { return s.Steps[0].State == task.Success })
	open = r.block(task.TransformShardActivity)
	r.mu.Lock()
	r.done = map[string]int{}
	r.mu.Unlock()
	_, err := r.update(task.ApproveUpdate, task.StepRequest{Step: "two"})
	require.NoError(r.t, err)
	r.running(task.TransformShardActivity, 2*r.shards)
	return open
}

func pipelineHeld(t *testing.T, r *rig) {
	open := r.secondHangs(", approve: true, timeout: 2s")
	r.reaches(func(s task.Status) bool { return s.State == task.TimedOut && s.Attention })
	open()
	_, err := r.update(task.RetryUpdate, task.StepRequest{Step: "two"})
	require.NoError(t, err)
	r.reaches(func(s task.Status) bool { return s.State == task.Success })
	_, err = r.update(task.CleanupUpdate, task.StepRequest{})
	require.NoError(t, err)
	how, err := r.ends()
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, how)
	r.steps(task.Success, task.Success)
}

func pipelineSkipped(t *testing.T, r *rig) {
	r.secondHangs(", approve: true, timeout: 2s, on_timeout: skip")
	r.reaches(func(s task.Status) bool { return s.State == task.Success })
	r.steps(task.Success, task.Skipped)
	_, err := r.update(task.CleanupUpdate, task.StepRequest{})
	require.NoError(t, err)
	_, err = r.ends()
	require.NoError(t, err)
}

func pipelineFailed(t *testing.T, r *rig) {
	open := r.secondHangs(", approve: true, on_failure: rollback, retries: 1")
	r.mu.Lock()
	r.broken[2] = task.Data
	r.mu.Unlock()
	open()
	_, err := r.ends()
	require.ErrorContains(t, err, "rolled back: after a failure")
	r.steps(task.RolledBack, task.RolledBack)
}

func pipelinePaused(t *testing.T, r *rig) {
	open := r.secondHangs(", approve: true")
	r.signal(task.PauseSignal, nil)
	r.reaches(func(s task.Status) bool { return s.State == task.Paused })
	open()
	r.signal(task.ResumeSignal, nil)
	r.reaches(func(s task.Status) bool { return s.State == task.Success })
	_, err := r.update(task.CleanupUpdate, task.StepRequest{})
	require.NoError(t, err)
	_, err = r.ends()
	require.NoError(t, err)
}

func pipelineCancelled(t *testing.T, r *rig) {
	r.secondHangs(", approve: true")
	require.NoError(t, r.c.CancelWorkflow(t.Context(), r.id, ""))
	how, err := r.ends()
	require.Error(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, how)
	r.steps(task.RolledBack, task.RolledBack)
}
