package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// night is a world that begins at midnight, whose cut-over may be from two to
// four o'clock; without it, it would be after 3 minutes.
func night(t *testing.T) *world {
	w := newWorld(t)
	s, err := spec.New(task.DDL)
	require.NoError(t, err)
	s.DDL.Database, s.DDL.Table, s.DDL.Alter, s.Name = "shop", "orders", "DROP COLUMN old", "shop: orders"
	s.DDL.Cutover.Between = "02:00-04:00"
	w.spec = s
	w.env.SetStartTime(time.Date(2026, 5, 7, 0, 0, 0, 0, time.UTC))
	return w
}

func TestACutoverWaitsForItsWindowAndTheWaitCountsAgainstNoLimit(t *testing.T) {
	w := night(t)
	w.spec.Timeouts.Cutover = spec.Duration(time.Minute)
	waiting := w.look(time.Hour)
	w.run()
	w.succeeds()
	require.Equal(t, "the window of the cut-over (02:00-04:00 UTC), at 2026-05-07 02:00:00 UTC", waiting.WaitingFor)
	require.Equal(t, task.Cutover, waiting.Phase)
	require.InDelta(t, 120, w.last(task.CutoverActivity).at.Minutes(), 0.1)
}

func TestACutoverWhoseWindowEndsIsTriedInTheNextOne(t *testing.T) {
	w := night(t)
	w.shut = 1
	w.took[task.CutoverActivity] = 2 * time.Hour
	w.spec.Timeouts.Cutover = spec.Duration(5 * time.Hour)
	w.run()
	w.succeeds()
	require.Equal(t, 2, w.count(task.CutoverActivity))
	require.InDelta(t, 28, w.last(task.CutoverActivity).at.Hours(), 0.1)
}

func TestAWorkerWhoseClockIsLateIsNotAskedAllTheTime(t *testing.T) {
	w := night(t)
	w.shut = 3
	w.run()
	w.succeeds()
	require.Equal(t, 4, w.count(task.CutoverActivity))
	require.InDelta(t, 121.5, w.last(task.CutoverActivity).at.Minutes(), 0.2)
}

func TestAPauseAndACancelEndTheWaitForTheWindow(t *testing.T) {
	w := night(t)
	w.signal(30*time.Minute, task.PauseSignal, nil)
	paused := w.look(40 * time.Minute)
	w.signal(50*time.Minute, task.ResumeSignal, nil)
	again := w.look(55 * time.Minute)
	w.signal(time.Hour, task.CancelSignal, nil)
	w.run()
	w.endsCancelled()
	require.Equal(t, task.Paused, paused.State)
	require.Contains(t, again.WaitingFor, "the window of the cut-over")
	require.Zero(t, w.count(task.CutoverActivity))
}
