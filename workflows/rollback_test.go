package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestAnOperatorRollsBackInAnyPhase(t *testing.T) {
	for _, activity := range everyActivityBeforeTheCutover {
		t.Run(activity, func(t *testing.T) {
			w := newWorld(t)
			w.took = map[string]time.Duration{activity: 4 * time.Minute}
			a := w.update(2*time.Minute, task.RollbackUpdate, task.Request{By: "ann"})
			w.run()
			require.True(t, a.accepted, a.refusal)
			require.NoError(t, a.err)
			w.failsWith(task.RolledBack, task.Undone)
			require.Equal(t, 1, w.count(task.RollbackActivity))
			require.Equal(t, "rollback by ann", w.last(task.RollbackActivity).phase.Reason)
			require.Nil(t, w.status.Error)
		})
	}
}

func TestAnOperatorRollsBackAfterTheCutoverWhileSomethingIsKept(t *testing.T) {
	w := newWorld(t)
	w.cut = task.CutoverResult{KeepFor: 24 * time.Hour, Kept: []task.BackupItem{{What: "table public.orders"}}}
	kept := w.look(time.Hour)
	a := w.update(2*time.Hour, task.RollbackUpdate)
	w.run()
	w.failsWith(task.RolledBack, task.Undone)
	require.True(t, a.accepted, a.refusal)
	require.Equal(t, task.Success, kept.State)
	require.Equal(t, task.Cleanup, kept.Phase)
	require.Equal(t, 100.0, kept.Progress.Percent)
	require.Equal(t, []string{verbRollback, verbCleanup}, kept.Can)
	require.Len(t, kept.Kept, 1)
	require.Contains(t, kept.WaitingFor, "godwit cleanup")
	require.NotContains(t, w.names(), task.CleanupActivity)
	require.Empty(t, w.status.Kept)
	require.Equal(t, []string{"success", "rollback begins", "rolled back"}, w.recorded())
}

func TestARollbackIsRefusedWhenNothingIsKeptForIt(t *testing.T) {
	w := newWorld(t)
	w.took[task.CleanupActivity] = time.Hour
	a := w.update(10*time.Minute, task.RollbackUpdate)
	w.run()
	w.succeeds()
	require.False(t, a.accepted)
	require.Contains(t, a.refusal, "being removed or gone")
}

func TestWhatIsKeptIsRemovedWhenItsTimeHasPassed(t *testing.T) {
	w := newWorld(t)
	w.cut.KeepFor = 24 * time.Hour
	w.run()
	w.succeeds()
	require.InDelta(t, (24 * time.Hour).Seconds(), w.last(task.CleanupActivity).at.Seconds(), 600)
	require.Equal(t, task.Success, w.last(task.CleanupActivity).phase.State)
	require.Nil(t, w.status.KeptUntil)
}

func TestAnOperatorEndsTheKeepingEarly(t *testing.T) {
	w := newWorld(t)
	w.cut.KeepFor = 24 * time.Hour
	early := w.update(time.Minute, task.CleanupUpdate)
	a := w.update(time.Hour, task.CleanupUpdate, task.Request{Reason: "all is well"})
	w.run()
	w.succeeds()
	require.Contains(t, early.refusal, "has not been cut over")
	require.True(t, a.accepted, a.refusal)
	require.Equal(t, time.Hour, w.last(task.CleanupActivity).at.Round(time.Minute))
	require.Equal(t, "all is well", w.last(task.CleanupActivity).phase.Reason)
}

func TestACleanupThatFailsLeavesTheSuccessAndWaitsForAnOperator(t *testing.T) {
	w := newWorld(t)
	w.fails(task.CleanupActivity, 0, 1, task.Config)
	held := w.look(time.Hour)
	a := w.update(2*time.Hour, task.RetryUpdate)
	w.run()
	w.succeeds()
	require.Equal(t, task.Success, held.State)
	require.True(t, held.Attention)
	require.Equal(t, "config trouble", held.Error.Message)
	require.Contains(t, held.WaitingFor, "godwit retry")
	require.Equal(t, []string{verbRetry, verbCleanup}, held.Can)
	require.True(t, a.accepted, a.refusal)
	require.Nil(t, w.status.Error)
	require.Contains(t, w.recorded(), "cleanup failed")
}

func TestACleanupIsTriedForAsLongAsItsTroubleMayPass(t *testing.T) {
	w := newWorld(t)
	w.fails(task.CleanupActivity, 0, 30, task.Transient)
	w.run()
	w.succeeds()
	require.Equal(t, 31, w.count(task.CleanupActivity))
}

func TestSkippingIsForPipelines(t *testing.T) {
	w := newWorld(t)
	a := w.update(time.Second, task.SkipUpdate)
	w.run()
	w.succeeds()
	require.Contains(t, a.refusal, "only a pipeline has steps")
}
