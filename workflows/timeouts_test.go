package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/spec"
	"godwit/internal/task"
)

func TestAPhaseThatTakesTooLongFailsWithEverythingKept(t *testing.T) {
	w := newWorld(t)
	w.spec.Timeouts.Transform = duration(t, "90s")
	w.run()
	w.failsWith(task.TimedOut, task.Timeout)
	require.Equal(t, "phase transform did not end within 1m30s (timeouts.transform)", w.status.Error.Message)
	require.NotContains(t, w.names(), task.RollbackActivity)
	require.Equal(t, []string{verbRetry, verbRollback}, w.status.Can)
	require.InDelta(t, 90, w.status.EndedAt.Sub(*w.status.StartedAt).Seconds(), 1)
}

func TestAPhaseThatTakesTooLongIsRolledBackWhenTheSpecSaysSo(t *testing.T) {
	w := newWorld(t)
	w.spec.Timeouts.Transform, w.spec.OnTimeout = duration(t, "90s"), spec.TimeoutRollback
	w.run()
	w.failsWith(task.RolledBack, task.Undone)
	require.Equal(t, task.Timeout, w.status.Error.Class, "the cause")
	require.Equal(t, 1, w.count(task.RollbackActivity))
}

func TestAPhaseThatTakesTooLongIsStartedAgainWhenTheSpecSaysSo(t *testing.T) {
	w := newWorld(t)
	w.spec.Timeouts.Transform, w.spec.OnTimeout = duration(t, "90s"), spec.TimeoutRetry
	waiting := w.look(92 * time.Second)
	w.run()
	w.succeeds()
	require.Equal(t, task.Retrying, waiting.State)
	require.Contains(t, waiting.WaitingFor, "restart 1 of 3")
	require.Equal(t, 2, w.count(task.PrepareTransformActivity))
	require.Equal(t, 8, w.count(task.TransformShardActivity), "what was done stays done")
	require.Equal(t, 2, w.status.Steps[2].Attempts)
}

func TestTheRestartsOfAPhaseAreLimited(t *testing.T) {
	w := newWorld(t)
	w.spec.Timeouts.Backup, w.spec.OnTimeout = duration(t, "1m"), spec.TimeoutRetry
	w.spec.Retry.Attempts = 2
	w.took[task.BackupActivity] = 61 * time.Second
	w.run()
	w.failsWith(task.TimedOut, task.Timeout)
	require.Contains(t, w.status.Error.Message, "and not after 2 restarts either")
	require.InDelta(t, 3*60+5+10, w.status.EndedAt.Sub(*w.status.StartedAt).Seconds(), 1)
}

func TestTheWholeMigrationIsLimitedAndNotStartedAgain(t *testing.T) {
	w := newWorld(t)
	w.spec.Timeouts.Total, w.spec.OnTimeout = duration(t, "2m10s"), spec.TimeoutRetry
	w.run()
	w.failsWith(task.TimedOut, task.Timeout)
	require.Equal(t, "the migration did not end within 2m10s (timeouts.total)", w.status.Error.Message)
	require.Equal(t, task.Verify, w.status.Error.Phase)
}

func TestTimeThatIsPausedDoesNotCount(t *testing.T) {
	w := newWorld(t)
	w.spec.Timeouts.Transform, w.spec.Timeouts.Total = duration(t, "3m"), duration(t, "5m")
	w.signal(90*time.Second, task.PauseSignal, nil)
	w.signal(5*time.Hour, task.ResumeSignal, nil)
	w.run()
	w.succeeds()
}

func TestTimeBeforeAPauseCounts(t *testing.T) {
	w := newWorld(t)
	w.spec.Timeouts.Transform = duration(t, "110s")
	w.signal(90*time.Second, task.PauseSignal, nil)
	w.signal(5*time.Hour, task.ResumeSignal, nil)
	w.run()
	w.failsWith(task.TimedOut, task.Timeout)
	require.InDelta(t, (5*time.Hour + 20*time.Second).Seconds(), w.status.EndedAt.Sub(*w.status.StartedAt).Seconds(), 1)
}

func TestTimeThatAnOperatorTakesDoesNotCount(t *testing.T) {
	w := manual(t)
	w.spec.Timeouts.Total = duration(t, "10m")
	w.update(10*time.Hour, task.CutoverUpdate)
	w.run()
	w.succeeds()
}

func TestTimeThatIsWaitedForARetryCounts(t *testing.T) {
	w := newWorld(t)
	w.spec.Timeouts.Backup = duration(t, "10s")
	w.fails(task.BackupActivity, 0, -1, task.Busy)
	w.run()
	w.failsWith(task.TimedOut, task.Timeout)
}

func TestTheTimeOfKeepingDoesNotCount(t *testing.T) {
	w := newWorld(t)
	w.spec.Timeouts.Total, w.spec.Timeouts.Cleanup = duration(t, "1h"), duration(t, "1m")
	w.cut.KeepFor = 24 * time.Hour
	w.run()
	w.succeeds()
}

func TestACleanupThatTakesTooLongWaitsForAnOperator(t *testing.T) {
	w := newWorld(t)
	w.spec.Timeouts.Cleanup, w.spec.OnTimeout = duration(t, "1m"), spec.TimeoutRollback
	w.took[task.CleanupActivity] = 2 * time.Minute
	held := w.look(time.Hour)
	w.at(time.Hour, func() { w.took[task.CleanupActivity] = 0 })
	w.update(time.Hour+time.Second, task.CleanupUpdate)
	w.run()
	w.succeeds()
	require.True(t, held.Attention)
	require.Contains(t, held.Error.Message, "phase cleanup did not end within 1m")
	require.NotContains(t, w.names(), task.RollbackActivity)
}

func TestAPreflightThatTakesTooLongUndoesNothing(t *testing.T) {
	w := newWorld(t)
	w.in.Resume, w.spec.OnTimeout = true, spec.TimeoutRollback
	w.took[task.PreflightActivity] = time.Hour
	w.run()
	w.failsWith(task.TimedOut, task.Timeout)
	require.NotContains(t, w.names(), task.RollbackActivity)
}

func TestAPauseDuringARestartIsObserved(t *testing.T) {
	w := newWorld(t)
	w.spec.Timeouts.Transform, w.spec.OnTimeout = duration(t, "90s"), spec.TimeoutRetry
	w.spec.Retry.Delay, w.spec.Retry.MaxDelay = duration(t, "10m"), duration(t, "10m")
	w.signal(3*time.Minute, task.PauseSignal, nil)
	paused := w.look(4 * time.Minute)
	w.signal(time.Hour, task.ResumeSignal, nil)
	w.run()
	w.succeeds()
	require.Equal(t, task.Paused, paused.State)
}
