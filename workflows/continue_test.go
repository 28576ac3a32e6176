package workflows

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// longAfter makes the history as long as calls for another run.
func (w *world) longAfter(after time.Duration) {
	w.at(after, func() { w.env.SetContinueAsNewSuggested(true) })
}

// next is the world of the run that takes over, with the same ledger.
func (w *world) next() *world {
	w.t.Helper()
	var handover *workflow.ContinueAsNewError
	require.ErrorAs(w.t, w.err, &handover)
	require.Equal(w.t, task.MigrationWorkflow, handover.WorkflowType.Name)
	n := newWorld(w.t)
	require.NoError(w.t, converter.GetDefaultDataConverter().FromPayloads(handover.Input, &n.in))
	n.done, n.plan, n.cut, n.troubles, n.transform, n.verify = w.done, w.plan, w.cut, w.troubles, w.transform, w.verify
	n.doorman = w.doorman
	n.env.SetStartTime(w.env.Now())
	n.spec = w.spec
	return n
}

func TestARunWithALongHistoryHandsOverAndNothingIsDoneTwice(t *testing.T) {
	w := newWorld(t)
	w.longAfter(30 * time.Second)
	w.run()
	require.Equal(t, 4, w.count(task.TransformShardActivity), "what runs is waited for, nothing new begins")
	n := w.next()
	first := n.look(time.Second)
	n.run()
	n.succeeds()
	require.Equal(t, 4, n.count(task.TransformShardActivity))
	require.Equal(t, 0, n.count(task.PreflightActivity)+n.count(task.BackupActivity))
	require.Equal(t, *w.status.StartedAt, *n.status.StartedAt)
	require.Equal(t, task.Transform, first.Phase)
	require.InDelta(t, 36, first.Progress.Percent, 1)
	require.Equal(t, 1, n.in.Carried.Runs)
}

func TestAHandoverWhilePausedStaysPaused(t *testing.T) {
	w := newWorld(t)
	w.signal(90*time.Second, task.PauseSignal, task.Request{By: "ann"})
	w.longAfter(2 * time.Hour)
	w.run()
	n := w.next()
	paused := n.look(time.Hour)
	n.signal(2*time.Hour, task.ResumeSignal, nil)
	n.run()
	n.succeeds()
	require.Equal(t, task.Paused, paused.State)
	require.Contains(t, paused.WaitingFor, "by ann")
	require.Equal(t, []string{"resumed", "success"}, n.recorded())
}

func TestAHandoverKeepsTheRetryQueue(t *testing.T) {
	w := newWorld(t)
	w.spec.Retry.Delay, w.spec.Retry.MaxDelay = duration(t, "1h"), duration(t, "1h")
	w.fails(task.TransformShardActivity, 3, -1, task.Data)
	w.longAfter(90 * time.Second)
	w.run()
	n := w.next()
	waiting := n.look(time.Minute)
	n.run()
	n.failsWith(task.Failed, task.Data)
	require.Equal(t, task.Retrying, waiting.State)
	require.Equal(t, 1, waiting.Shards.Retrying)
	rounds := 0
	for _, c := range append(w.calls, n.calls...) {
		if c.shard == 3 {
			rounds++
		}
	}
	require.Equal(t, 3, rounds)
}

func TestAHandoverWhileTheCutoverIsWaitedFor(t *testing.T) {
	w := manual(t)
	w.longAfter(time.Hour)
	w.run()
	n := w.next()
	a := n.update(time.Hour, task.CutoverUpdate)
	n.run()
	n.succeeds()
	require.True(t, a.accepted, a.refusal)
	require.Equal(t, []string{task.TendActivity, task.CutoverActivity, task.CleanupActivity}, n.names())
}

func TestAHandoverWhileSomethingIsKept(t *testing.T) {
	w := newWorld(t)
	w.cut.KeepFor = 24 * time.Hour
	w.longAfter(time.Hour)
	w.run()
	n := w.next()
	n.run()
	n.succeeds()
	require.InDelta(t, 23, n.last(task.CleanupActivity).at.Hours(), 0.1)
}

func TestAHandoverTakesTheCountOfTriesAlong(t *testing.T) {
	w := newWorld(t)
	w.fails(task.BackupActivity, 0, -1, task.Transient)
	w.longAfter(20 * time.Second)
	w.run()
	n := w.next()
	n.run()
	n.failsWith(task.Failed, task.Transient)
	require.Equal(t, 9, w.count(task.BackupActivity)+n.count(task.BackupActivity))
}

func TestALimitCountsTheTimeOfEarlierRuns(t *testing.T) {
	w := newWorld(t)
	w.spec.Timeouts.Transform = duration(t, "110s")
	w.longAfter(30 * time.Second)
	w.run()
	n := w.next()
	n.run()
	n.failsWith(task.TimedOut, task.Timeout)
	require.InDelta(t, 110, n.status.EndedAt.Sub(*n.status.StartedAt).Seconds(), 1)
}

func TestASignalThatArrivesWithTheHandoverIsNotLost(t *testing.T) {
	for name, wish := range map[string]func(*world){
		"while shards run": func(*world) {},
		"while paused":     func(w *world) { w.signal(time.Minute+time.Second, task.PauseSignal, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			wish(w)
			// It is there, unread, when the workflow is told that its history is long.
			w.at(89*time.Second, func() { w.env.SignalWorkflowSkippingWorkflowTask(task.CancelSignal, task.Request{By: "ann"}) })
			w.longAfter(90 * time.Second)
			w.run()
			var handover *workflow.ContinueAsNewError
			if errors.As(w.err, &handover) {
				w = w.next()
				w.run()
			}
			w.endsCancelled()
			require.Equal(t, "cancel by ann", w.last(task.RollbackActivity).phase.Reason)
		})
	}
}

func TestAnUpdateIsAnsweredBeforeTheHandover(t *testing.T) {
	w := newWorld(t)
	two := 2
	w.took[task.RecordActivity] = time.Hour
	a := w.update(30*time.Second, task.ThrottleUpdate, task.ThrottleSettings{Parallel: &two})
	w.longAfter(40 * time.Second)
	w.run()
	require.NoError(t, a.err)
	require.Equal(t, 2, a.status.Throttle.Parallel)
	n := w.next()
	n.run()
	n.succeeds()
	require.Equal(t, 2, n.most, "the limits are handed over")
}
