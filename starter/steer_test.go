package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestRollbackWorksAfterAFailureAndAfterTheCutover(t *testing.T) {
	r := newRig(t)
	r.breakShard(2, "broken")
	require.Equal(t, exitFailed, r.call("run", specFile(t), "--id", t.Name(), "--wait").code)
	undone := r.call("rollback", t.Name(), "--wait")
	require.Equal(t, exitSuccess, undone.code, undone.out+undone.notes)
	require.Equal(t, exitRolledBack, r.call("wait", t.Name()).code)

	r.breakShard(2, "")
	r.keepFor = time.Hour
	kept := t.Name() + "-kept"
	done := r.must("run", specFile(t), "--id", kept, "--wait")
	require.Contains(t, done.out, "kept for a rollback until")
	require.Equal(t, exitSuccess, r.call("rollback", kept, "--wait").code)
	require.Equal(t, task.RolledBack, r.status(kept).State)
}

func TestPauseTakesEffectAndASecondOneIsRefused(t *testing.T) {
	r := newRig(t)
	release := r.block()
	id := strings.TrimSpace(r.must("run", specFile(t)).out)
	r.until(id, func(st task.Status) bool { return st.Phase == task.Transform })

	paused := r.must("pause", id, "--reason", "month-end")
	require.Contains(t, paused.out, id+": paused in transform; go on: godwit resume "+id)
	require.Contains(t, r.must("status", id).out, "(month-end)")

	again := r.call("pause", id)
	require.Equal(t, exitOther, again.code)
	require.Contains(t, again.notes, "cannot pause: it is PAUSED in transform; you can resume")

	release()
	require.Contains(t, r.must("resume", id).out, "goes on in ")
	r.must("wait", id)
	over := r.call("pause", id)
	require.Equal(t, exitOther, over.code)
	require.Contains(t, over.notes, "cannot pause: it has ended (SUCCESS)")
}

func TestOneThatIsOverButForItsLastStepsRefusesAsOneThatHasEnded(t *testing.T) {
	r := newRig(t)
	r.lastWord = time.Second
	for _, verb := range []string{"pause", "resume", "cutover", "cleanup", "retry"} {
		id := strings.TrimSpace(r.must("run", specFile(t)).out)
		r.must("wait", id)
		late := r.call(verb, id)
		require.Equal(t, exitOther, late.code)
		require.Contains(t, late.notes, "cannot "+verb+": it has ended (SUCCESS)")
	}
}

func TestAManualCutoverWaitsForItsVerb(t *testing.T) {
	r := newRig(t)
	id := strings.TrimSpace(r.must("copy", "--source", "legacy", "--target", "warehouse", "--cutover", "manual").out)
	st := r.until(id, func(st task.Status) bool { return st.Attention })
	require.Contains(t, st.WaitingFor, "godwit cutover "+id)
	require.Contains(t, r.must("list", "--target", "warehouse").out, id)

	r.must("cutover", id, "--reason", "approved")
	r.must("wait", id)
	late := r.call("cutover", id)
	require.Equal(t, exitOther, late.code)
	require.Contains(t, late.notes, "cannot cutover: it has ended (SUCCESS)")
}

func TestThrottleChangesARunningMigration(t *testing.T) {
	r := newRig(t)
	r.block()
	id := strings.TrimSpace(r.must("run", specFile(t)).out)
	r.until(id, func(st task.Status) bool { return st.Phase == task.Transform })

	r.must("throttle", id, "--rows-per-second", "500", "--parallel", "2")
	st := r.status(id)
	require.EqualValues(t, 500, st.Throttle.RowsPerSecond)
	require.Equal(t, 2, st.Throttle.Parallel)
	require.Contains(t, r.must("status", id).out, "at most 500 rows/s, 2 shards at once")

	require.Equal(t, id+": from now on one shard at once\n", r.must("throttle", id, "--parallel", "1").out)
	require.Equal(t, id+": from now on held: until the sale is over and max_lag 5s\n", r.must("throttle", id, "--max-lag", "5s", "--hold", "until the sale is over").out)
	require.Equal(t, "hold: until the sale is over", r.status(id).Throttle.Reason)
	require.Contains(t, r.must("status", id).out, "holds: hold: until the sale is over")
	require.Equal(t, id+": from now on not held any more\n", r.must("throttle", id, "--release").out)
	require.False(t, r.status(id).Throttle.Holding)
	require.EqualValues(t, 500, r.status(id).Throttle.RowsPerSecond, "what is not named stays as it is")
	refused := r.call("throttle", id, "--max-log-growth", "much")
	require.Equal(t, exitOther, refused.code)
	require.Contains(t, refused.notes, `"much" is not a size`)
	require.Equal(t, exitUsage, r.call("throttle", id, "--hold", " ").code)
	require.Equal(t, exitUsage, r.call("throttle", id, "--hold", "x", "--release").code)
	require.Equal(t, exitUsage, r.call("throttle", id).code)
	require.Equal(t, exitUsage, r.call("throttle", id, "--parallel", "0").code)
}
