package workflows

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"godwit/internal/cluster"
	"godwit/internal/cluster/clustertest"
	"godwit/internal/task"
)

// recordTo is where the histories of these tests are written, for the replay
// test: go test ./workflows -run TestOnAServer -record ../testdata/histories
var recordTo = flag.String("record", "", "folder to write the histories of TestOnAServer to")

// serverScenario is one migration, or pipeline, on a real server.
type serverScenario struct {
	name string
	run  func(*testing.T, *rig)
	file string // that its histories are kept in; empty for none
}

// scenarios are what a real server shows and the test environment does not: cancelled
// activities that are waited for, how workflows close, and events.
var scenarios = []serverScenario{
	{"a migration runs to its end", runsToItsEnd, "complete"},
	{"a signal from the web UI pauses it", pausedFromTheWebUI, "paused"},
	{"a pause that is taken back at once", pausedAndResumedAtOnce, "paused-briefly"},
	{"a cancel request closes it as canceled", cancelledThroughTemporal, "canceled"},
	{"a failed shard is retried in rounds and then fails it", failsWithAShard, "failed-shard"},
	{"an id can be used again after a rollback and not after a success", rolledBackAndStartedAgain, "rolled-back"},
	{"a manual cut-over waits for its update", cutOverByHand, "manual-cutover"},
	{"a cancel that comes too late leaves the cut-over alone", cancelledTooLate, "late-cancel"},
	{"a limit restarts the phase", restartedByALimit, "restarted"},
	{"what is kept is rolled back", rolledBackAfterTheCutover, "kept"},
	{"a migration waits for a place", waitsForAPlace, "waited"},
	{"a terminated capacity comes back with those who wait", capacityTerminated, ""},
	{"a terminated capacity comes back with those who run", capacityTerminatedUnderHolders, ""},
	{"a holder that was terminated stops nobody for long", holderTerminated, ""},
	{"sixty-four shards make a short history", makesAShortHistory, ""},
}

// TestOnAServer runs migrations on a real Temporal server. The worker keeps no
// workflow in memory, so that every step replays the whole history.
func TestOnAServer(t *testing.T) { onAServer(t, slices.Concat(scenarios, pipelineScenarios)) }

// TestOnAServerWithShortHistories does that on one that wants another run soon: what
// otherwise comes after weeks comes after a step or two.
func TestOnAServerWithShortHistories(t *testing.T) {
	onAServer(t, longScenarios, "limit.historyCount.suggestContinueAsNew=40")
}

func onAServer(t *testing.T, scenarios []serverScenario, settings ...string) {
	worker.SetStickyWorkflowCacheSize(0)
	server := clustertest.Start(t, settings...)
	ctx := t.Context()
	c := server.Dial()
	t.Cleanup(c.Close)
	_, err := cluster.Setup(ctx, c.Client, "default", cluster.DefaultRetention)
	require.NoError(t, err)
	quietly, err := client.Dial(client.Options{HostPort: server.Address, Logger: quiet{}, Identity: "godwit-worker"})
	require.NoError(t, err)
	t.Cleanup(quietly.Close)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, quietly, "copy-"+strings.ReplaceAll(s.name, " ", "-"))
			s.run(t, r)
			r.replays(*recordTo, s.file)
		})
	}
}

func runsToItsEnd(t *testing.T, r *rig) {
	require.NoError(t, r.start())
	how, err := r.ends()
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, how)
	require.Equal(t, task.Success, r.status().State)
	description, err := r.c.DescribeWorkflow(t.Context(), r.id, "")
	require.NoError(t, err)
	attributes := description.TypedSearchAttributes
	state, _ := attributes.GetKeyword(stateKey)
	phase, _ := attributes.GetKeyword(phaseKey)
	percent, _ := attributes.GetFloat64(percentKey)
	require.Equal(t, []any{"SUCCESS", "cleanup", 100.0}, []any{state, phase, percent})
}

func pausedFromTheWebUI(t *testing.T, r *rig) {
	open := r.block(task.TransformShardActivity)
	require.NoError(t, r.start())
	r.running(task.TransformShardActivity, 3)
	// Nothing at all in the dialog's input field.
	_, err := r.c.WorkflowService().SignalWorkflowExecution(t.Context(), &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: r.id}, SignalName: task.PauseSignal,
	})
	require.NoError(t, err)
	began := time.Now()
	r.reaches(func(s task.Status) bool { return s.State == task.Paused })
	require.Less(t, time.Since(began), 5*time.Second)
	open()
	r.signal(task.ResumeSignal, []int{1, 2})
	how, err := r.ends()
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, how)
}

func pausedAndResumedAtOnce(t *testing.T, r *rig) {
	open := r.block(task.TransformShardActivity)
	require.NoError(t, r.start())
	r.running(task.TransformShardActivity, 3)
	r.signal(task.PauseSignal, nil)
	r.signal(task.ResumeSignal, nil)
	r.running(task.TransformShardActivity, 6)
	open()
	_, err := r.ends()
	require.NoError(t, err)
	require.Equal(t, task.Success, r.status().State)
}

func cancelledThroughTemporal(t *testing.T, r *rig) {
	r.block(task.TransformShardActivity)
	require.NoError(t, r.start())
	r.running(task.TransformShardActivity, 3)
	require.NoError(t, r.c.CancelWorkflow(t.Context(), r.id, ""))
	how, err := r.ends()
	require.True(t, temporal.IsCanceledError(err))
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, how)
	require.Equal(t, task.Cancelled, r.status().State)
	require.Equal(t, 1, r.timesBegun(task.RollbackActivity))
}

func failsWithAShard(t *testing.T, r *rig) {
	r.spec.Retry.Delay = duration(t, "1s")
	r.spec.Retry.Rounds = ptr(1)
	r.broken[2] = task.Data
	require.NoError(t, r.start())
	how, err := r.ends()
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, how)
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, string(task.Data), application.Type())
	require.Contains(t, application.Message(), "shop.orders 2/3 failed also in 1 round")
	var failure task.Failure
	require.NoError(t, application.Details(&failure))
	require.Equal(t, 2, *failure.Shard)

	r.broken = map[int]task.Class{}
	r.in.Resume = true
	require.NoError(t, r.start())
	_, err = r.ends()
	require.NoError(t, err)
	require.Equal(t, map[string]int{
		"transform-0001": 1, "transform-0002": 1, "transform-0003": 1, "verify-0001": 1, "verify-0002": 1, "verify-0003": 1,
	}, r.done)
}

func rolledBackAndStartedAgain(t *testing.T, r *rig) {
	open := r.block(task.TransformShardActivity)
	require.NoError(t, r.start())
	r.running(task.TransformShardActivity, 1)
	_, err := r.update(task.CutoverUpdate)
	require.ErrorContains(t, err, "cuts over by itself")
	_, err = r.update(task.RollbackUpdate, task.Request{By: "ann"})
	require.NoError(t, err)
	how, err := r.ends()
	require.ErrorContains(t, err, "rolled back: rollback by ann")
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, how)
	require.Equal(t, task.RolledBack, r.status().State)

	open()
	require.NoError(t, r.start())
	_, err = r.ends()
	require.NoError(t, err)
	require.True(t, temporal.IsWorkflowExecutionAlreadyStartedError(r.start()))
}

func cutOverByHand(t *testing.T, r *rig) {
	r.spec.Copy.Cutover.Mode, r.tend = "manual", time.Second
	require.NoError(t, r.start())
	r.running(task.TendActivity, 2)
	require.True(t, r.reaches(func(s task.Status) bool { return s.WaitingFor != "" }).Attention)
	status, err := r.update(task.CutoverUpdate)
	require.NoError(t, err)
	require.Equal(t, task.Cutover, status.Phase)
	_, err = r.ends()
	require.NoError(t, err)
}

func cancelledTooLate(t *testing.T, r *rig) {
	r.stubborn = true
	r.block(task.CutoverActivity)
	require.NoError(t, r.start())
	r.running(task.CutoverActivity, 1)
	r.signal(task.CancelSignal, "stop!")
	how, err := r.ends()
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, how)
	require.Zero(t, r.timesBegun(task.RollbackActivity))
}

func restartedByALimit(t *testing.T, r *rig) {
	r.spec.Timeouts.Transform, r.spec.OnTimeout = duration(t, "1s"), "retry"
	r.spec.Retry.Delay = duration(t, "1s")
	open := r.block(task.TransformShardActivity)
	require.NoError(t, r.start())
	r.reaches(func(s task.Status) bool { return s.State == task.Retrying })
	open()
	_, err := r.ends()
	require.NoError(t, err)
	require.Equal(t, 2, r.status().Steps[2].Attempts)
}

func rolledBackAfterTheCutover(t *testing.T, r *rig) {
	r.keepFor = time.Hour
	require.NoError(t, r.start())
	r.reaches(func(s task.Status) bool { return s.State == task.Success })
	r.signal(task.PauseSignal, nil)
	_, err := r.update(task.RollbackUpdate)
	require.NoError(t, err)
	how, err := r.ends()
	require.Error(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, how)
	require.Equal(t, task.RolledBack, r.status().State)
}

func makesAShortHistory(t *testing.T, r *rig) {
	r.shards = 32
	require.NoError(t, r.start())
	_, err := r.ends()
	require.NoError(t, err)
	events := len(r.history(r.id, r.runs[0]).GetEvents())
	t.Logf("%d events", events)
	require.Less(t, events, 500)
}
