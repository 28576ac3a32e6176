package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// keeping is a world whose migration is kept for a day and tended every minute.
func keeping(t *testing.T) *world {
	w := newWorld(t)
	w.cut = task.CutoverResult{KeepFor: 3 * time.Hour, TendEvery: time.Minute, Kept: []task.BackupItem{{What: "table public.orders"}}}
	return w
}

func TestWhatIsKeptIsTendedUntilItIsRemoved(t *testing.T) {
	w := keeping(t)
	kept := w.look(time.Hour)
	w.run()
	w.succeeds()
	require.InDelta(t, 179, w.count(task.TendActivity), 2)
	require.Equal(t, int64(42), kept.Changelog.Pending)
	require.Zero(t, w.status.Changelog.Pending, "when nothing is kept any more, nothing is pending")
	require.InDelta(t, 3*60+3, w.last(task.CleanupActivity).at.Minutes(), 2)
	require.Equal(t, task.Success, w.last(task.TendActivity).phase.State)
}

func TestARollbackDoesNotWaitForTheTendingOfWhatIsKept(t *testing.T) {
	w := keeping(t)
	w.took[task.TendActivity] = time.Hour
	w.update(30*time.Minute, task.RollbackUpdate)
	w.run()
	w.failsWith(task.RolledBack, task.Undone)
	require.InDelta(t, 30, w.last(task.RollbackActivity).at.Minutes(), 1)
}

func TestACleanupDoesNotWaitForTheTendingOfWhatIsKept(t *testing.T) {
	w := keeping(t)
	w.took[task.TendActivity] = time.Hour
	w.update(30*time.Minute, task.CleanupUpdate)
	w.run()
	w.succeeds()
	require.InDelta(t, 30, w.last(task.CleanupActivity).at.Minutes(), 1)
}

func TestWhatIsKeptAndCannotBeTendedIsShownAndTriedAgain(t *testing.T) {
	w := keeping(t)
	w.fails(task.TendActivity, 0, 30, task.Data)
	untended, tended := w.look(20*time.Minute), w.look(time.Hour)
	w.run()
	w.succeeds()
	require.Equal(t, task.Success, untended.State)
	require.True(t, untended.Attention)
	require.Equal(t, "data trouble", untended.Error.Message)
	require.Contains(t, untended.Can, verbRollback)
	require.False(t, tended.Attention)
	require.Nil(t, tended.Error)
	require.Equal(t, []string{"success", "what is kept cannot be tended", "what is kept is tended again"}, w.recorded())
}

func TestTendingOfWhatIsKeptThatFailsForAWhileIsOnlyNoted(t *testing.T) {
	w := keeping(t)
	w.fails(task.TendActivity, 0, 3, task.Busy)
	kept := w.look(time.Hour)
	w.run()
	w.succeeds()
	require.False(t, kept.Attention)
	require.Equal(t, []string{"success"}, w.recorded())
}
