package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/spec"
	"godwit/internal/task"
)

func TestAPauseStopsTheShardsAndAResumeGoesOnFromTheLedger(t *testing.T) {
	w := newWorld(t)
	w.signal(90*time.Second, task.PauseSignal, task.Request{By: "ann", Reason: "peak hour"})
	paused := w.look(2 * time.Hour)
	w.signal(3*time.Hour, task.ResumeSignal, task.Request{By: "bob"})
	w.run()
	w.succeeds()
	require.Equal(t, task.Paused, paused.State)
	require.Equal(t, 0, paused.Shards.Running)
	require.Equal(t, 4, paused.Shards.Done)
	require.Contains(t, paused.WaitingFor, "godwit resume")
	require.Contains(t, paused.WaitingFor, "peak hour")
	require.Equal(t, []string{verbResume, verbThrottle, verbCancel, verbRollback}, paused.Can)
	require.False(t, paused.Attention, "whoever paused it knows")

	require.Equal(t, 8, w.count(task.TransformShardActivity), "no shard is done twice")
	require.Equal(t, 2, w.count(task.PreflightActivity))
	require.True(t, w.calls[len(w.calls)-1].at > 3*time.Hour)
	require.Equal(t, []string{"paused", "resumed", "success"}, w.recorded())
	require.Equal(t, task.Paused, w.records[0].State)
	require.Equal(t, "by ann (peak hour)", w.records[0].Detail)
	require.Equal(t, task.Running, w.records[1].State)
}

func TestAResumeChecksThatNothingChangedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.spec.OnFailure = spec.Rollback
	w.signal(90*time.Second, task.PauseSignal, nil)
	w.at(2*time.Minute, func() { w.fails(task.PreflightActivity, 0, -1, task.Config) })
	w.signal(3*time.Minute, task.ResumeSignal, nil)
	w.run()
	w.failsWith(task.Failed, task.Config)
	require.Equal(t, task.Preflight, w.status.Error.Phase)
	require.NotContains(t, w.names(), task.RollbackActivity, "what was done is kept")
	for _, c := range w.calls {
		if c.name == task.PreflightActivity {
			require.Equal(t, c.at >= 3*time.Minute, c.check.Resume)
		}
	}
}

func TestAPauseTakesEffectInEveryPhase(t *testing.T) {
	for _, activity := range []string{
		task.PreflightActivity, task.BackupActivity, task.PrepareTransformActivity, task.TransformShardActivity, task.FinishTransformActivity,
		task.PrepareVerifyActivity, task.VerifyShardActivity, task.FinishVerifyActivity, task.CutoverActivity,
	} {
		t.Run(activity, func(t *testing.T) {
			w := newWorld(t)
			w.took = map[string]time.Duration{activity: 4 * time.Minute}
			w.signal(2*time.Minute, task.PauseSignal, nil)
			paused := w.look(3 * time.Minute)
			w.signal(24*time.Hour, task.ResumeSignal, nil)
			w.run()
			w.succeeds()
			require.Equal(t, task.Paused, paused.State)
			require.GreaterOrEqual(t, w.status.EndedAt.Sub(*w.status.StartedAt), 24*time.Hour)
		})
	}
}

func TestAPauseBeforeTheFirstStepIsObserved(t *testing.T) {
	w := newWorld(t)
	w.signal(0, task.PauseSignal, nil)
	w.took[task.PreflightActivity] = time.Minute
	w.signal(time.Hour, task.ResumeSignal, nil)
	w.run()
	w.succeeds()
	require.Equal(t, 1, w.count(task.PreflightActivity), "it had not passed, so there is nothing to compare")
	require.False(t, w.calls[len(w.calls)-1].check.Resume)
}

func TestAPauseWorksWhileATryIsWaitedFor(t *testing.T) {
	for _, activity := range []string{task.BackupActivity, task.TransformShardActivity} {
		w := newWorld(t)
		w.took = map[string]time.Duration{}
		w.spec.Retry.Delay, w.spec.Retry.MaxDelay = duration(t, "10m"), duration(t, "10m")
		shard := 0
		if activity == task.TransformShardActivity {
			shard = 1
		}
		w.fails(activity, shard, 6, task.Transient) // 31 s of waiting, or 10 m
		w.spec.Retry.Rounds = ptr(9)
		w.signal(20*time.Second, task.PauseSignal, nil)
		paused := w.look(21 * time.Second)
		w.signal(time.Hour, task.ResumeSignal, nil)
		w.run()
		w.succeeds()
		require.Equal(t, task.Paused, paused.State)
		require.Contains(t, paused.WaitingFor, "godwit resume")
	}
}

func TestSignalsUnderstandWhateverTheyAreSent(t *testing.T) {
	for _, input := range []string{``, `null`, `""`, `"lunch"`, `42`, `[1, 2]`, `{"reason": 7}`, `{"reason": "x", "more": {}}`, `{`, "\x00\xff"} {
		w := newWorld(t)
		w.signal(90*time.Second, task.PauseSignal, rawJSON(input))
		paused := w.look(2 * time.Minute)
		w.signal(3*time.Minute, task.ResumeSignal, rawJSON(input))
		w.run()
		w.succeeds()
		require.Equal(t, task.Paused, paused.State, "%q", input)
	}
}

func TestATextIsTakenForAReason(t *testing.T) {
	w := newWorld(t)
	w.signal(90*time.Second, task.PauseSignal, "lunch")
	paused := w.look(2 * time.Minute)
	w.signal(3*time.Minute, task.ResumeSignal, nil)
	w.run()
	require.Contains(t, paused.WaitingFor, "(lunch)")
}

func TestSignalsThatMakeNoSenseAreNotedAndIgnored(t *testing.T) {
	w := newWorld(t)
	w.cut.KeepFor = 24 * time.Hour
	w.signal(30*time.Second, task.ResumeSignal, nil)
	w.signal(time.Hour, task.PauseSignal, nil)
	w.signal(2*time.Hour, task.CancelSignal, task.Request{By: "ann"})
	kept := w.look(3 * time.Hour)
	w.run()
	w.succeeds()
	require.Equal(t, task.Success, kept.State)
	require.Equal(t, []string{"resume ignored", "success", "pause ignored", "cancel ignored"}, w.recorded())
	require.Contains(t, w.records[3].Detail, "cancel was ignored by ann: the migration has been cut over; `godwit rollback")
}

func TestTheRetryQueueOutlivesAPause(t *testing.T) {
	w := newWorld(t)
	w.spec.Retry.Rounds = ptr(1)
	w.spec.Retry.Delay, w.spec.Retry.MaxDelay = duration(t, "1h"), duration(t, "1h")
	w.fails(task.TransformShardActivity, 3, -1, task.Data)
	w.signal(90*time.Second, task.PauseSignal, nil)
	paused := w.look(2 * time.Minute)
	w.signal(3*time.Minute, task.ResumeSignal, nil)
	resumed := w.look(4 * time.Minute)
	w.run()
	w.failsWith(task.Failed, task.Data)
	require.Equal(t, 1, paused.Shards.Retrying)
	require.Equal(t, task.Retrying, resumed.State)
	rounds := 0
	for _, c := range w.calls {
		if c.shard == 3 {
			rounds++
		}
	}
	require.Equal(t, 2, rounds, "the pause gives no extra rounds")
}

func TestAPauseThatIsTakenBackAtOnceLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.at(90*time.Second, func() {
		w.env.SignalWorkflow(task.PauseSignal, nil)
		w.env.SignalWorkflow(task.ResumeSignal, nil)
	})
	w.run()
	w.succeeds()
	require.Equal(t, 8, w.count(task.TransformShardActivity))
}
