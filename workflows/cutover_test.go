package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// manual is a world whose migration waits for the cut-over from 3 minutes on,
// tended every ten.
func manual(t *testing.T) *world {
	w := newWorld(t)
	w.spec.Copy.Cutover.Mode = spec.ManualCutover
	w.plan.TendEvery = 10 * time.Minute
	return w
}

func TestAManualCutoverWaitsForTheOperatorAndIsTendedMeanwhile(t *testing.T) {
	w := manual(t)
	early := w.update(time.Minute, task.CutoverUpdate)
	waiting := w.look(2 * time.Hour)
	a := w.update(2*time.Hour+time.Minute, task.CutoverUpdate, task.Request{By: "ann"})
	w.run()
	w.succeeds()
	require.Contains(t, early.refusal, "the cut-over comes after verification")
	require.Equal(t, task.Running, waiting.State)
	require.Equal(t, task.Cutover, waiting.Phase)
	require.True(t, waiting.Attention)
	require.Contains(t, waiting.WaitingFor, "godwit cutover")
	require.Equal(t, int64(42), waiting.Changelog.Pending)
	require.Contains(t, waiting.Can, verbCutover)
	require.True(t, a.accepted, a.refusal)
	require.InDelta(t, 11, w.count(task.TendActivity), 1)
	require.InDelta(t, 121, w.last(task.CutoverActivity).at.Minutes(), 1)
	require.Equal(t, []string{"cutover asked", "success"}, w.recorded())
}

func TestAnAutomaticCutoverRefusesTheUpdate(t *testing.T) {
	w := newWorld(t)
	a := w.update(time.Minute, task.CutoverUpdate)
	w.run()
	w.succeeds()
	require.Contains(t, a.refusal, "cuts over by itself")
}

func TestAPauseWhileTheCutoverIsWaitedFor(t *testing.T) {
	w := manual(t)
	w.signal(time.Hour, task.PauseSignal, nil)
	paused := w.look(2 * time.Hour)
	refused := w.update(3*time.Hour, task.CutoverUpdate)
	w.signal(4*time.Hour, task.ResumeSignal, nil)
	a := w.update(5*time.Hour, task.CutoverUpdate)
	w.run()
	w.succeeds()
	require.Equal(t, task.Paused, paused.State)
	require.False(t, paused.Attention)
	require.Contains(t, refused.refusal, "godwit resume")
	require.True(t, a.accepted, a.refusal)
	for _, c := range w.calls {
		if c.name == task.TendActivity {
			require.False(t, c.at > time.Hour && c.at < 4*time.Hour, "nothing is tended during a pause")
		}
	}
}

func TestACutoverDoesNotWaitForTheTending(t *testing.T) {
	w := manual(t)
	w.took[task.TendActivity] = time.Hour
	w.update(30*time.Minute, task.CutoverUpdate)
	w.run()
	w.succeeds()
	require.InDelta(t, 30, w.last(task.CutoverActivity).at.Minutes(), 1)
}

func TestTendingThatFailsForAWhileIsOnlyNoted(t *testing.T) {
	w := manual(t)
	w.fails(task.TendActivity, 0, 3, task.Busy)
	waiting := w.look(time.Hour)
	w.update(2*time.Hour, task.CutoverUpdate)
	w.run()
	w.succeeds()
	require.Equal(t, int64(42), waiting.Changelog.Pending)
}

func TestTendingThatCannotGoOnFailsTheMigration(t *testing.T) {
	w := manual(t)
	w.fails(task.TendActivity, 0, -1, task.Data)
	w.run()
	w.failsWith(task.Failed, task.Data)
}

func TestACancelWhileTheCutoverIsWaitedFor(t *testing.T) {
	w := manual(t)
	w.signal(time.Hour, task.CancelSignal, nil)
	w.run()
	w.endsCancelled()
}

func TestACutoverThatWasAskedForIsNotAskedForAgainAfterAPause(t *testing.T) {
	w := manual(t)
	w.took[task.CutoverActivity] = time.Minute
	w.update(time.Hour, task.CutoverUpdate)
	w.signal(time.Hour+10*time.Second, task.PauseSignal, nil)
	w.signal(2*time.Hour, task.ResumeSignal, nil)
	w.run()
	w.succeeds()
	require.Equal(t, 1, w.count(task.CutoverActivity))
}
