package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/spec"
	"godwit/internal/task"
)

func TestAMigrationRunsItsPhasesInOrder(t *testing.T) {
	w := newWorld(t)
	middle := w.look(90 * time.Second)
	w.run()
	w.succeeds()
	require.Equal(t, []string{
		task.PreflightActivity, task.BackupActivity,
		task.PrepareTransformActivity, task.TransformShardActivity, task.FinishTransformActivity,
		task.PrepareVerifyActivity, task.VerifyShardActivity, task.FinishVerifyActivity,
		task.CutoverActivity, task.CleanupActivity,
	}, w.names())
	require.Equal(t, 8, w.count(task.TransformShardActivity))
	require.Equal(t, 4, w.most, "shards.parallel")

	require.Equal(t, task.Running, middle.State)
	require.Equal(t, task.Transform, middle.Phase)
	require.Equal(t, task.ShardCounts{Total: 8, Done: 4, Running: 4}, middle.Shards)
	require.InDelta(t, 36, middle.Progress.Percent, 0.1)
	require.InDelta(t, 4000.0/60, middle.Progress.RowsPerSecond, 0.1)
	require.Positive(t, middle.Progress.ETASeconds)
	require.Len(t, middle.Running, 4)
	require.Equal(t, "shop.orders", middle.Running[0].Table)
	require.Equal(t, []string{verbPause, verbThrottle, verbCancel, verbRollback}, middle.Can)

	require.Equal(t, 100.0, w.status.Progress.Percent)
	require.Equal(t, int64(4000), w.status.Verified.Rows)
	require.NotNil(t, w.status.EndedAt)
	require.Empty(t, w.status.Can)
	for _, step := range w.status.Steps {
		require.Equal(t, task.Success, step.State, step.Name)
		require.Equal(t, 1, step.Attempts, step.Name)
	}
	require.Equal(t, []string{"success"}, w.recorded())
}

func TestNothingIsComparedWhenTheSpecSaysSo(t *testing.T) {
	w := newWorld(t)
	w.spec.Verify.Mode = spec.NoVerify
	w.run()
	w.succeeds()
	require.NotContains(t, w.names(), task.PrepareVerifyActivity)
	require.NotContains(t, w.names(), task.FinishVerifyActivity)
	require.Contains(t, w.status.Steps[3].Detail, "verify.mode is none")
}

func TestShardsThatAreOpenedAgainAreDoneBeforeThePhaseEnds(t *testing.T) {
	w := newWorld(t)
	w.more = [][]int{{2, 5}, {5}}
	w.run()
	w.succeeds()
	require.Equal(t, 8+2+1, w.count(task.TransformShardActivity))
	require.Equal(t, 3, w.count(task.FinishTransformActivity))
}

func TestProgressDoesNotFallBackWhenAllShardsAreDone(t *testing.T) {
	w := newWorld(t)
	w.took[task.FinishTransformActivity] = time.Minute
	half, finishing := w.look(90*time.Second), w.look(150*time.Second)
	w.run()
	w.succeeds()
	require.InDelta(t, 36, half.Progress.Percent, 0.1)
	require.Equal(t, task.Transform, finishing.Phase)
	require.Equal(t, 8, finishing.Shards.Done)
	require.InDelta(t, 70, finishing.Progress.Percent, 0.1)
}

func TestAResumedMigrationComparesItsFingerprintAndDoesOnlyWhatIsMissing(t *testing.T) {
	w := newWorld(t)
	w.in.Resume = true
	for no := 1; no <= 7; no++ {
		w.done[shardID(task.Transform, no)] = true
	}
	w.run()
	w.succeeds()
	require.True(t, w.calls[0].check.Resume)
	require.Equal(t, 1, w.count(task.TransformShardActivity))
}

func TestAFailedPreflightEndsAtOnceAndUndoesNothing(t *testing.T) {
	for _, reaction := range []spec.OnFailure{spec.Hold, spec.Rollback} {
		w := newWorld(t)
		w.spec.OnFailure = reaction
		w.fails(task.PreflightActivity, 0, -1, task.Config)
		w.run()
		w.failsWith(task.Failed, task.Config)
		require.Equal(t, []string{task.PreflightActivity}, w.names())
		require.Equal(t, task.Preflight, w.status.Error.Phase)
		require.Equal(t, "config trouble", w.status.Error.Message)
		require.True(t, w.status.Attention)
		require.Equal(t, []string{verbRetry, verbRollback}, w.status.Can)
		require.Equal(t, task.Failed, w.status.Steps[0].State)
	}
}

func TestAPhaseIsTriedAgainWhileItsTroubleMayPass(t *testing.T) {
	w := newWorld(t)
	w.fails(task.BackupActivity, 0, 4, task.Transient)
	waiting := w.look(14 * time.Second)
	w.run()
	w.succeeds()
	require.Equal(t, 5, w.count(task.BackupActivity))
	require.Equal(t, task.Retrying, waiting.State)
	require.Contains(t, waiting.WaitingFor, "try 5 of 9")
	require.Contains(t, waiting.WaitingFor, "transient trouble")
	require.Contains(t, waiting.Can, verbRetry)
	require.Equal(t, []string{"retrying", "running", "success"}, w.recorded(), "the ledger is spared the short waits")
}

func TestAPhaseWhoseTroubleDoesNotPassFails(t *testing.T) {
	w := newWorld(t)
	w.fails(task.FinishTransformActivity, 0, -1, task.Busy)
	w.run()
	w.failsWith(task.Failed, task.Busy)
	require.Equal(t, 9, w.count(task.FinishTransformActivity), "attempts × (1 + rounds)")
	require.Contains(t, w.status.Error.Message, "failed 9 times: busy trouble")
	require.Equal(t, task.Transform, w.status.Error.Phase)
}

func TestATryThatWasSupersededIsNotCounted(t *testing.T) {
	w := newWorld(t)
	w.spec.Retry.Attempts = 1
	w.spec.Retry.Rounds = new(int)
	w.fails(task.CutoverActivity, 0, 20, task.Superseded)
	w.fails(task.TransformShardActivity, 3, 20, task.Superseded)
	w.run()
	w.succeeds()
	require.Equal(t, 21, w.count(task.CutoverActivity))
	require.Equal(t, 8+20, w.count(task.TransformShardActivity))
}

func TestAWorkerThatStopsIsNoFailureOfAPhase(t *testing.T) {
	w := newWorld(t)
	w.spec.Retry.Attempts = 1
	w.spec.Retry.Rounds = new(int)
	w.fails(task.FinishTransformActivity, 0, 5, task.Stopping)
	w.run()
	w.succeeds()
	require.Equal(t, 1, w.status.Steps[2].Attempts)
	require.Equal(t, []string{"success"}, w.recorded())
}

func TestAnOperatorStartsTheNextTryOfAPhase(t *testing.T) {
	w := newWorld(t)
	w.fails(task.BackupActivity, 0, 6, task.Transient) // the next try is 32 s after the sixth
	a := w.update(33*time.Second, task.RetryUpdate, task.Request{By: "ann"})
	w.run()
	w.succeeds()
	require.True(t, a.accepted, a.refusal)
	require.NoError(t, a.err)
	for _, c := range w.calls {
		if c.name == task.PrepareTransformActivity {
			require.Less(t, c.at, 35*time.Second)
		}
	}
}

func TestAMismatchFailsWithWhatWasCompared(t *testing.T) {
	w := newWorld(t)
	w.fails(task.FinishVerifyActivity, 0, -1, task.Mismatch).err = mismatch(task.VerifySummary{Mode: "checksum", Rows: 4000, Different: 2})
	w.run()
	w.failsWith(task.Failed, task.Mismatch)
	require.Equal(t, int64(2), w.status.Verified.Different)
	require.NotContains(t, w.names(), task.CutoverActivity)
}

func TestAFailureIsAnsweredByARollbackWhenTheSpecSaysSo(t *testing.T) {
	w := newWorld(t)
	w.spec.OnFailure = spec.Rollback
	w.fails(task.CutoverActivity, 0, -1, task.Data)
	w.run()
	w.failsWith(task.RolledBack, task.Undone)
	require.Equal(t, task.RollbackActivity, w.names()[len(w.names())-1])
	require.Equal(t, task.Data, w.status.Error.Class, "the cause")
	require.Contains(t, w.err.Error(), "data trouble")
	require.Empty(t, w.status.Can)
}

func TestARollbackThatFailsSaysSoAndCanBeCalledAgain(t *testing.T) {
	w := newWorld(t)
	w.spec.OnFailure = spec.Rollback
	w.fails(task.CutoverActivity, 0, -1, task.Data)
	w.fails(task.RollbackActivity, 0, -1, task.Config)
	w.run()
	w.failsWith(task.Failed, task.Config)
	require.True(t, w.status.Attention)
	require.Contains(t, w.status.Error.Message, "the rollback failed: config trouble")
	require.Contains(t, w.status.Error.Message, "godwit rollback "+w.status.ID)
	require.Equal(t, []string{verbRollback}, w.status.Can)
}

func TestARollbackIsTriedAgainWhileItsTroubleMayPass(t *testing.T) {
	w := newWorld(t)
	w.in.Rollback = true
	w.fails(task.RollbackActivity, 0, 5, task.Transient)
	waiting := w.look(20 * time.Second)
	w.run()
	w.failsWith(task.RolledBack, task.Undone)
	require.Equal(t, []string{task.RollbackActivity}, w.names(), "a run that only undoes does nothing else")
	require.Equal(t, task.Retrying, waiting.State)
	require.Equal(t, []string{verbRetry}, waiting.Can)
}

func TestALedgerThatCannotBeWrittenDoesNotKeepAMigrationFromEnding(t *testing.T) {
	w := newWorld(t)
	w.fails(task.BackupActivity, 0, -1, task.Config)
	w.fails(task.RecordActivity, 0, -1, task.Transient)
	w.run()
	require.ErrorContains(t, w.err, "config trouble")
	require.Equal(t, task.Failed, w.status.State)
	require.Empty(t, w.records)
	require.Equal(t, recordAttempts, w.count(task.RecordActivity))
}
