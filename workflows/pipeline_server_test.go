package workflows

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

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
	{"steps side by side are done, and one that fails takes both back", pipelineBeside, "pipeline-group"},
	{"a step whose gate fails is tried again and approved", pipelineGate, "pipeline-gate"},
	{"a query is waited for and an address is called", pipelineCalls, "pipeline-calls"},
	{"an undoing that fails is tried again by hand", pipelineBotched, "pipeline-botched"},
	{"what undoes a step is kept until the pipeline is done", pipelineKept, "pipeline-kept"},
	{"a skipped step that is continued by its own id is undone with the others", pipelineByHand, "pipeline-by-hand"},
	{"a skipped step that is at work by its own id is undone in its turn", pipelineSkippedAtWork, "pipeline-skipped-at-work"},
	{"steps of a pipeline that was terminated keep nothing for ever", pipelineTerminated, ""},
}

// longScenarios are those of pipelines with histories that have become long.
var longScenarios = []serverScenario{
	{"a pipeline continues as new while its steps are open", pipelineContinued, "pipeline-continued"},
	{"a step that was terminated after the pipeline has continued as new hangs nothing", pipelineStepLost, "pipeline-step-lost"},
}

// part is a step that is a migration.
const part = `sql: {database: warehouse, statement: SELECT 1, undo: SELECT 2, retry: {rounds: 0, attempts: 1}}`

// startPipeline starts a pipeline of two steps, with fields for the second one.
func (r *rig) startPipeline(fields string) {
	r.t.Helper()
	r.startSteps("{name: one, "+part+"}", "{name: two, "+part+fields+"}")
}

// startSteps starts a pipeline.
func (r *rig) startSteps(steps ...string) {
	r.t.Helper()
	s, err := spec.Parse("p.yaml", []byte("kind: pipeline\nname: two\nledger: warehouse\nretry: {delay: 1s}\nsteps:\n  - "+strings.Join(steps, "\n  - ")+"\n"))
	require.NoError(r.t, err)
	run, err := r.c.ExecuteWorkflow(r.t.Context(), client.StartWorkflowOptions{ID: r.id, TaskQueue: r.queue}, task.PipelineWorkflow,
		PipelineInput{Spec: flat(r.t, s), Ledger: "warehouse", Target: "warehouse"})
	require.NoError(r.t, err)
	r.runs = append(r.runs, run.GetRunID())
}

func (r *rig) stand(want ...task.State) {
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
	r.stand(task.RolledBack, task.RolledBack)
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
	r.reaches(func(s task.Status) bool {
		if s.State == task.TimedOut { // again, where the machine is slow
			_, err := r.update(task.RetryUpdate, task.StepRequest{Step: "two"})
			require.NoError(t, err)
		}
		return s.State == task.Success
	})
	_, err := r.update(task.CleanupUpdate, task.StepRequest{})
	require.NoError(t, err)
	how, err := r.ends()
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, how)
	r.stand(task.Success, task.Success)
}

func pipelineSkipped(t *testing.T, r *rig) {
	r.secondHangs(", approve: true, timeout: 2s, on_timeout: skip")
	r.reaches(func(s task.Status) bool { return s.State == task.Success })
	r.stand(task.Success, task.Skipped)
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
	r.stand(task.RolledBack, task.RolledBack)
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
	r.stand(task.RolledBack, task.RolledBack)
}

// set changes what activities do from now on.
func (r *rig) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// does has an update accepted.
func (r *rig) does(verb, step string) {
	r.t.Helper()
	_, err := r.update(verb, task.StepRequest{Step: step})
	require.NoError(r.t, err)
}

func (r *rig) stepID(name string) string { return task.StepID(r.id, name) }

// stepStatus is how a step's migration stands.
func (r *rig) stepStatus(name string) (status task.Status) {
	r.t.Helper()
	value, err := r.c.QueryWorkflow(r.t.Context(), r.stepID(name), "", task.StatusQuery)
	require.NoError(r.t, err)
	require.NoError(r.t, value.Get(&status))
	return status
}

// stepReaches waits until a step's migration is as wanted.
func (r *rig) stepReaches(name string, want func(task.Status) bool) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return want(r.stepStatus(name)) }, time.Minute, 50*time.Millisecond)
}

func pipelineBeside(t *testing.T, r *rig) {
	r.keepFor = keptOnAServer
	r.startSteps("name: both\n    group:\n      - {name: left, "+part+"}\n      - {name: right, "+part+"}", "{name: last, "+part+", approve: true, on_failure: rollback}")
	r.reaches(func(s task.Status) bool { return s.Attention })
	r.stand(task.Success, task.Success, task.Success, task.Pending)
	r.set(func() { r.done, r.broken[1] = map[string]int{}, task.Data })
	r.does(task.ApproveUpdate, "last")
	_, err := r.ends()
	require.ErrorContains(t, err, "rolled back")
	r.stand(task.RolledBack, task.RolledBack, task.RolledBack, task.RolledBack)
}

func pipelineGate(t *testing.T, r *rig) {
	r.startSteps("{name: one, "+part+"}", "{name: two, "+part+", needs: nightly, approve: true, when: {database: warehouse, query: SELECT 1}}",
		"{name: three, "+part+", when: {database: warehouse, query: SELECT 1}}")
	r.reaches(func(s task.Status) bool { return s.State == task.Failed })
	r.set(func() { r.truth = true })
	r.does(task.RetryUpdate, "two")
	r.reaches(func(s task.Status) bool { return s.State == task.Running && s.Attention })
	r.set(func() { r.truth = false })
	r.does(task.ApproveUpdate, "two")
	r.reaches(func(s task.Status) bool { return s.State == task.Failed }) // what it needs is looked at again
	r.set(func() { r.truth = true })
	open := r.block(task.PreflightActivity)
	r.does(task.RetryUpdate, "")
	r.running(task.PreflightActivity, 2)
	r.set(func() { r.truth = false })
	open()
	_, err := r.ends()
	require.NoError(t, err)
	r.stand(task.Success, task.Success, task.Skipped)
}

func pipelineCalls(t *testing.T, r *rig) {
	r.called = []error{refusedWith(task.Mismatch, "was answered 503"), refusedWith(task.Human, "may have arrived")}
	r.startSteps("{name: night, wait: {database: warehouse, query: SELECT 1, every: 1s}}", `{name: tell, http: {url: "https://example.test/", method: POST}, retries: 1}`, "{name: last, "+part+"}")
	r.running(task.ConditionActivity, 3)
	r.signal(task.PauseSignal, nil)
	r.reaches(func(s task.Status) bool { return s.State == task.Paused })
	r.signal(task.ResumeSignal, nil)
	r.set(func() { r.truth = true })
	r.reaches(func(s task.Status) bool { return s.State == task.Failed })
	r.does(task.RetryUpdate, "tell")
	_, err := r.ends()
	require.NoError(t, err)
	require.Equal(t, 3, r.timesBegun(task.CallActivity))
	r.stand(task.Success, task.Success, task.Success)
}

func pipelineBotched(t *testing.T, r *rig) {
	r.keepFor, r.botch = keptOnAServer, 1
	r.startPipeline("")
	r.reaches(func(s task.Status) bool { return s.State == task.Success })
	r.does(task.RollbackUpdate, "")
	r.reaches(func(s task.Status) bool { return s.State == task.Failed })
	require.Nil(t, r.stepStatus("one").KeptUntil, "its time stands still again")
	r.does(task.RetryUpdate, "two")
	_, err := r.ends()
	require.ErrorContains(t, err, "rolled back")
	r.stand(task.RolledBack, task.RolledBack)
	r.steps = []string{r.stepID("one")}
}

func pipelineKept(t *testing.T, r *rig) {
	r.keepFor = 5 * time.Second
	r.startPipeline(", approve: true")
	r.reaches(func(s task.Status) bool { return s.Attention })
	time.Sleep(2 * r.keepFor) // an operator takes that long
	one := r.stepStatus("one")
	require.Equal(t, task.Success, one.State)
	require.Nil(t, one.KeptUntil)
	require.Contains(t, one.WaitingFor, "pipeline "+r.id+" to be over")
	require.Zero(t, r.timesBegun(task.CleanupActivity))
	r.does(task.ApproveUpdate, "two")
	r.stepReaches("one", func(s task.Status) bool { return s.KeptUntil != nil })
	_, err := r.ends()
	require.NoError(t, err)
	require.Equal(t, 2, r.timesBegun(task.CleanupActivity))
	r.steps = []string{r.stepID("one")}
}

func pipelineByHand(t *testing.T, r *rig) {
	r.keepFor = keptOnAServer
	r.broken[2] = task.Data
	r.startSteps("{name: one, "+part+", on_failure: skip}", "{name: two, "+part+"}")
	r.reaches(func(s task.Status) bool { return s.Steps[0].State == task.Skipped })
	r.set(func() { r.broken = map[int]task.Class{} })
	r.reaches(func(s task.Status) bool { return s.State == task.Success || s.State == task.Failed })
	if r.status().State == task.Failed { // it has met the broken shard, too
		r.does(task.RetryUpdate, "two")
		r.reaches(func(s task.Status) bool { return s.State == task.Success })
	}
	r.continues("one")
	r.reaches(func(s task.Status) bool { return s.Steps[0].State == task.Success })
	r.stepReaches("one", func(s task.Status) bool { return s.KeptUntil != nil })
	r.does(task.RollbackUpdate, "")
	_, err := r.ends()
	require.ErrorContains(t, err, "rolled back")
	r.stand(task.RolledBack, task.RolledBack)
	r.steps = []string{r.stepID("one")}
}

// continues begins a run of a step's migration as an operator does, by its own id.
func (r *rig) continues(step string) {
	r.t.Helper()
	var in MigrationInput
	events := r.history(r.stepID(step), "").GetEvents()
	require.NoError(r.t, converter.GetDefaultDataConverter().FromPayloads(events[0].GetWorkflowExecutionStartedEventAttributes().GetInput(), &in))
	_, err := r.c.ExecuteWorkflow(r.t.Context(), client.StartWorkflowOptions{ID: r.stepID(step), TaskQueue: r.queue}, task.MigrationWorkflow,
		MigrationInput{Spec: in.Spec, Ledger: in.Ledger, Target: in.Target, Pipeline: in.Pipeline, PipelineChain: in.PipelineChain, ByHand: true})
	require.NoError(r.t, err)
}

func pipelineSkippedAtWork(t *testing.T, r *rig) {
	r.keepFor = keptOnAServer
	r.startPipeline(", approve: true, on_failure: skip")
	r.reaches(func(s task.Status) bool { return s.Attention })
	r.set(func() { r.done, r.broken[2] = map[string]int{}, task.Data })
	r.does(task.ApproveUpdate, "two")
	r.reaches(func(s task.Status) bool { return s.State == task.Success })
	r.stand(task.Success, task.Skipped)
	r.set(func() { r.done, r.broken = map[string]int{}, map[int]task.Class{} })
	undone := r.timesBegun(task.RollbackActivity)
	r.block(task.TransformShardActivity)
	undo := r.block(task.RollbackActivity)
	r.continues("two")
	r.stepReaches("two", func(s task.Status) bool { return s.Phase == task.Transform && s.Shards.Running > 0 })
	r.does(task.RollbackUpdate, "")
	r.running(task.RollbackActivity, undone+1)
	waiting := r.reaches(func(s task.Status) bool { return strings.Contains(s.WaitingFor, "its undoing") })
	require.Equal(t, task.Success, waiting.Steps[0].State, "what is before it waits for it")
	undo()
	_, err := r.ends()
	require.ErrorContains(t, err, "rolled back")
	r.stand(task.RolledBack, task.RolledBack)
}

func pipelineTerminated(t *testing.T, r *rig) {
	open := r.secondHangs(", approve: true")
	require.NoError(t, r.c.TerminateWorkflow(t.Context(), r.id, "", "a test"))
	open()
	r.stepReaches("two", func(s task.Status) bool { return s.State == task.Success && s.KeptUntil != nil })
	require.Nil(t, r.stepStatus("one").KeptUntil, "it looks again in an hour")
	for _, name := range []string{"two", "one"} {
		handle, err := r.c.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{WorkflowID: r.stepID(name), UpdateName: task.RollbackUpdate, WaitForStage: client.WorkflowUpdateStageCompleted})
		require.NoError(t, err)
		require.NoError(t, handle.Get(t.Context(), nil))
		require.ErrorContains(t, r.c.GetWorkflow(t.Context(), r.stepID(name), "").Get(t.Context(), nil), "rolled back")
	}
	r.runs = nil // it has no end of its own
}

// continued starts a pipeline that has continued as new by the time that its last step
// waits for approval, and waits for that.
func (r *rig) continued() {
	r.t.Helper()
	r.keepFor = keptOnAServer
	r.startSteps("{name: one, "+part+"}", "{name: two, "+part+"}", "{name: three, "+part+"}", "{name: last, "+part+", approve: true}")
	r.reaches(func(s task.Status) bool { return s.Attention })
	run := r.status().RunID
	require.NotEqual(r.t, r.runs[0], run)
	r.runs = append(r.runs, run)
}

func pipelineContinued(t *testing.T, r *rig) {
	r.continued()
	r.does(task.ApproveUpdate, "last")
	r.reaches(func(s task.Status) bool { return s.State == task.Success })
	for _, name := range []string{"one", "last"} {
		r.stepReaches(name, func(s task.Status) bool { return s.KeptUntil != nil })
	}
	r.does(task.RollbackUpdate, "")
	_, err := r.ends()
	require.ErrorContains(t, err, "rolled back")
	r.stand(task.RolledBack, task.RolledBack, task.RolledBack, task.RolledBack)
	r.steps = []string{r.stepID("one")}
}

func pipelineStepLost(t *testing.T, r *rig) {
	r.continued()
	require.NoError(t, r.c.TerminateWorkflow(t.Context(), r.stepID("one"), "", "a test"))
	r.does(task.ApproveUpdate, "last")
	r.reaches(func(s task.Status) bool { return s.State == task.Success && s.Steps[0].Undo == "" })
	require.Contains(t, r.status().Steps[1].Undo, "can be undone until")
	r.does(task.RollbackUpdate, "") // of the lost one by a run that does nothing else
	_, err := r.ends()
	require.ErrorContains(t, err, "rolled back")
	r.stand(task.RolledBack, task.RolledBack, task.RolledBack, task.RolledBack)
}
