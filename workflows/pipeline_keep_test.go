package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// The steps of these pipelines keep what undoes them for an hour (newStreet).

func TestNoWayBackRunsOutWhileThePipelineWaits(t *testing.T) {
	s := classic(t, map[string]string{"note": "approve: true, on_failure: rollback"})
	s.houses["note"].fails = -1
	waiting := s.look(30 * 24 * time.Hour)
	s.update(31*24*time.Hour, task.ApproveUpdate, "note")
	s.run()
	require.Equal(t, "can be undone until the pipeline is over, and for 1h after that", waiting.Steps[0].Undo)
	require.Nil(t, waiting.KeptUntil)
	s.ends(task.RolledBack, all(task.RolledBack, 4)...)
	require.Equal(t, []string{"undo note", "undo fill", "undo add"}, s.order[4:])
}

func TestTheTimeOfWhatIsKeptBeginsWhenThePipelineIsDone(t *testing.T) {
	s := classic(t, map[string]string{"note": "approve: true"})
	s.update(100*time.Hour, task.ApproveUpdate, "note")
	kept := s.look(100*time.Hour + 30*time.Minute)
	s.run()
	s.ends(task.Success, all(task.Success, 4)...)
	done := s.status.Steps[3].EndedAt
	for _, name := range []string{"add", "fill", "note"} {
		require.WithinDuration(t, done.Add(time.Hour), s.houses[name].cleaned, 3*time.Minute, name)
	}
	require.WithinDuration(t, done.Add(time.Hour), *kept.KeptUntil, 3*time.Minute)
	require.Contains(t, kept.Steps[0].Undo, "can be undone until 20")
	require.WithinDuration(t, done.Add(time.Hour), *s.status.EndedAt, 3*time.Minute)
}

func TestAHeldStepKeepsThoseBeforeItFromLosingTheirWayBack(t *testing.T) {
	s := classic(t, nil)
	s.houses["note"].fails = -1
	s.update(100*time.Hour, task.RollbackUpdate, "")
	s.run()
	s.ends(task.RolledBack, all(task.RolledBack, 4)...)
}

// A pipeline that is done and rolled back may wait for an operator in the middle of that.
func TestNoWayBackRunsOutWhileAnUndoingWaitsForSomebody(t *testing.T) {
	s := classic(t, nil)
	s.houses["fill"].undoing = 1
	s.update(30*time.Minute, task.RollbackUpdate, "")
	failed := s.look(90 * time.Hour)
	s.update(100*time.Hour, task.RetryUpdate, "fill")
	s.run()
	require.Equal(t, task.Failed, failed.State)
	require.Equal(t, "can be undone until the pipeline is over, and for 1h after that", failed.Steps[0].Undo)
	s.ends(task.RolledBack, all(task.RolledBack, 4)...)
	require.Contains(t, s.order, "undo add")
}

func TestAStepWhosePipelineIsGoneKeepsItsWayBackForItsTimeAndNoLonger(t *testing.T) {
	w := keeping(t)
	w.in.Pipeline = "p"
	waiting := w.look(50 * time.Hour)
	w.at(100*time.Hour, func() { w.gone = true })
	counts := w.look(102 * time.Hour)
	w.run()
	w.succeeds()
	require.Nil(t, waiting.KeptUntil)
	require.Equal(t, task.Success, waiting.State)
	require.Equal(t, "pipeline p to be over: what a rollback needs is kept until its pipeline is over, and for 3h after that; `godwit cleanup "+w.status.ID+"` removes it now", waiting.WaitingFor)
	require.Contains(t, waiting.Can, verbRollback)
	require.Contains(t, waiting.Can, verbCleanup)
	require.NotNil(t, counts.KeptUntil)
	require.InDelta(t, 103.5, w.last(task.CleanupActivity).at.Hours(), 0.6, "it looks every hour")
	require.InDelta(t, 103.5*60, w.count(task.TendActivity), 60, "what is kept is tended all the time")
	require.Equal(t, []string{"success", "pipeline over"}, w.recorded())
	last := w.reports[len(w.reports)-1]
	require.True(t, last.Closed)
}

func TestAStepThatEndsAfterItsPipelineCountsItsTimeAtOnce(t *testing.T) {
	w := keeping(t)
	w.in.Pipeline = "p"
	w.signal(time.Minute, task.KeepSignal, task.KeepRequest{Over: true})
	w.run()
	w.succeeds()
	require.InDelta(t, 3*60+3, w.last(task.CleanupActivity).at.Minutes(), 2)
}

func TestAStepsTimeStandsStillAgainWhileItsPipelineIsUndone(t *testing.T) {
	w := keeping(t)
	w.in.Pipeline = "p"
	w.signal(time.Hour, task.KeepSignal, task.KeepRequest{Over: true})
	w.signal(2*time.Hour, task.KeepSignal, task.KeepRequest{})
	w.signal(2*time.Hour, task.KeepSignal, "nothing that can be understood")
	still := w.look(20 * time.Hour)
	w.signal(50*time.Hour, task.KeepSignal, task.KeepRequest{Over: true})
	w.signal(51*time.Hour, task.KeepSignal, task.KeepRequest{Over: true})
	w.run()
	w.succeeds()
	require.Nil(t, still.KeptUntil)
	require.InDelta(t, 53, w.last(task.CleanupActivity).at.Hours(), 0.1)
	require.Equal(t, []string{"success", "pipeline over", "kept for the pipeline", "pipeline over"}, w.recorded())
}

func TestAStepIsUndoneOrCleanedUpWhileItIsKeptForItsPipeline(t *testing.T) {
	for verb, activity := range map[string]string{task.RollbackUpdate: task.RollbackActivity, task.CleanupUpdate: task.CleanupActivity} {
		w := keeping(t)
		w.in.Pipeline = "p"
		w.took[task.TendActivity] = time.Hour
		w.update(10*time.Hour, verb)
		w.run()
		require.InDelta(t, 10, w.last(activity).at.Hours(), 0.1, verb)
		if verb == task.CleanupUpdate { // also before it is through, or fails
			told := w.reports[len(w.reports)-2]
			require.Equal(t, task.Success, told.State)
			require.False(t, told.Closed)
			require.Zero(t, told.KeepFor, "there is no way back from here")
		}
	}
}

// What is no step of a pipeline is not told anything by one.
func TestAMigrationOfItsOwnIsKeptAsItSaysWhateverIsSentToIt(t *testing.T) {
	w := keeping(t)
	w.signal(time.Hour, task.KeepSignal, task.KeepRequest{})
	w.run()
	w.succeeds()
	require.InDelta(t, 3*60+3, w.last(task.CleanupActivity).at.Minutes(), 2)
}

func TestAStepThatIsKeptForLongContinuesAsNewAndIsKept(t *testing.T) {
	w := keeping(t)
	w.in.Pipeline = "p"
	w.longAfter(10 * time.Hour)
	w.run()
	n := w.next()
	require.Equal(t, 3*time.Hour, n.in.Carried.KeepFor)
	require.Nil(t, n.in.Carried.KeptUntil)
	n.signal(20*time.Hour, task.KeepSignal, task.KeepRequest{Over: true})
	n.run()
	n.succeeds()
	require.InDelta(t, 23, n.last(task.CleanupActivity).at.Hours(), 0.1)
}
