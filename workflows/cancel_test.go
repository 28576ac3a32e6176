package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

var everyActivityBeforeTheCutover = []string{
	task.PreflightActivity, task.BackupActivity, task.PrepareTransformActivity, task.TransformShardActivity, task.FinishTransformActivity,
	task.PrepareVerifyActivity, task.VerifyShardActivity, task.FinishVerifyActivity, task.CutoverActivity,
}

func TestACancelInAnyPhaseUndoesWhatWasDone(t *testing.T) {
	for _, activity := range everyActivityBeforeTheCutover {
		t.Run(activity, func(t *testing.T) {
			w := newWorld(t)
			w.took = map[string]time.Duration{activity: 4 * time.Minute}
			w.signal(2*time.Minute, task.CancelSignal, task.Request{By: "ann", Reason: "wrong source"})
			w.run()
			w.endsCancelled()
			require.Equal(t, "cancel by ann (wrong source)", w.last(task.RollbackActivity).phase.Reason)
			require.Equal(t, []string{"rollback begins", "cancelled"}, w.recorded())
			require.Empty(t, w.status.Can)
			require.Nil(t, w.status.Error)
		})
	}
}

func TestTemporalsOwnCancelMeansTheSame(t *testing.T) {
	for _, activity := range everyActivityBeforeTheCutover {
		t.Run(activity, func(t *testing.T) {
			w := newWorld(t)
			w.took = map[string]time.Duration{activity: 4 * time.Minute}
			w.at(2*time.Minute, w.env.CancelWorkflow)
			w.run()
			w.endsCancelled()
			require.Equal(t, 1, w.count(task.RollbackActivity))
		})
	}
}

func TestTemporalsOwnCancelAfterTheCutoverIsIgnored(t *testing.T) {
	w := newWorld(t)
	w.cut.KeepFor = 24 * time.Hour
	w.at(time.Hour, w.env.CancelWorkflow)
	w.run()
	w.succeeds()
	require.Equal(t, 24*time.Hour, w.calls[len(w.calls)-1].at.Round(time.Hour), "what is kept is kept for its time")
	require.Contains(t, w.recorded(), "cancel ignored")
	require.NotContains(t, w.names(), task.RollbackActivity)
}

func TestACancelWhilePausedDoesNotWaitForTheResume(t *testing.T) {
	w := newWorld(t)
	w.signal(90*time.Second, task.PauseSignal, nil)
	w.signal(2*time.Minute, task.CancelSignal, nil)
	w.run()
	w.endsCancelled()
	require.Less(t, w.calls[len(w.calls)-1].at, 3*time.Minute)
}

func TestACancelWhileATryIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.spec.Retry.Delay, w.spec.Retry.MaxDelay = duration(t, "1h"), duration(t, "1h")
	w.fails(task.TransformShardActivity, 3, -1, task.Data)
	w.signal(10*time.Minute, task.CancelSignal, nil)
	w.run()
	w.endsCancelled()
}

func TestAnOperatorsWishesDuringARollbackAreIgnored(t *testing.T) {
	w := newWorld(t)
	w.took[task.RollbackActivity] = time.Hour
	w.signal(30*time.Second, task.CancelSignal, nil)
	w.signal(10*time.Minute, task.CancelSignal, nil)
	w.signal(11*time.Minute, task.PauseSignal, nil)
	w.at(12*time.Minute, w.env.CancelWorkflow)
	undoing := w.look(13 * time.Minute)
	a := w.update(14*time.Minute, task.RollbackUpdate)
	w.run()
	w.endsCancelled()
	require.Equal(t, 1, w.count(task.RollbackActivity))
	require.Equal(t, task.Running, undoing.State)
	require.Empty(t, undoing.Can)
	require.Contains(t, a.refusal, "is being undone (cancel) already")
}

func TestACancelBeforeThePreflightPassedEndsAlsoWhenNothingCanBeReached(t *testing.T) {
	w := newWorld(t)
	w.fails(task.PreflightActivity, 0, -1, task.Transient)
	w.fails(task.RollbackActivity, 0, -1, task.Transient)
	w.signal(10*time.Second, task.CancelSignal, nil)
	w.run()
	w.endsCancelled()
	require.Equal(t, triesWithoutTrace, w.count(task.RollbackActivity))
}

func TestACancelOfAMigrationThatCannotBeUndoneFails(t *testing.T) {
	w := newWorld(t)
	w.fails(task.RollbackActivity, 0, -1, task.Human)
	w.signal(90*time.Second, task.CancelSignal, nil)
	w.run()
	w.failsWith(task.Failed, task.Human)
	require.Equal(t, []string{verbRollback}, w.status.Can)
}
