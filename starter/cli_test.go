package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// answer is what one call of the command left.
type answer struct {
	code       int
	out, notes string
}

// call runs one command line against the rig's server and task queue.
func (r *rig) call(args ...string) answer {
	r.t.Helper()
	return r.callWithin(context.Background(), args...)
}

func (r *rig) callWithin(ctx context.Context, args ...string) answer {
	var out, notes bytes.Buffer
	args = append(args, "--address", r.server.Address, "--namespace", "default", "--task-queue", r.queue)
	code := execute(ctx, args, strings.NewReader(""), &out, &notes)
	return answer{code: code, out: out.String(), notes: notes.String()}
}

// must runs a command line that has to succeed.
func (r *rig) must(args ...string) answer {
	r.t.Helper()
	a := r.call(args...)
	require.Equal(r.t, exitSuccess, a.code, "%v\n%s%s", args, a.out, a.notes)
	return a
}

// status reads a migration's status as a program would.
func (r *rig) status(id string) task.Status {
	r.t.Helper()
	var st task.Status
	require.NoError(r.t, json.Unmarshal([]byte(r.must("status", id, "-o", "json").out), &st))
	return st
}

// until waits for a migration to stand as wanted.
func (r *rig) until(id string, wanted func(task.Status) bool) task.Status {
	r.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		st := r.status(id)
		if wanted(st) {
			return st
		}
		require.True(r.t, time.Now().Before(deadline), "it does not come about: %+v", st)
		time.Sleep(50 * time.Millisecond)
	}
}

// specFile writes a spec that gives up quickly, with further lines.
func specFile(t *testing.T, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "copy.yaml")
	spec := append([]string{"kind: copy", "source: legacy", "target: warehouse", "tables: [shop.orders]", "retry: {rounds: 0, delay: 1s}"}, lines...)
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(spec, "\n")+"\n"), 0o600))
	return file
}

func TestRunPrintsTheBareIDAndReturnsAtOnce(t *testing.T) {
	r := newRig(t)
	release := r.block()

	started := r.must("run", specFile(t))
	id := strings.TrimSpace(started.out)
	require.Regexp(t, `^copy-[0-9a-f-]{36}$`, id)
	require.Contains(t, started.notes, "/namespaces/default/workflows/"+id)
	require.Contains(t, started.notes, "godwit watch "+id)

	st := r.until(id, func(st task.Status) bool { return len(st.Running) == 3 && st.Running[0].Rows > 0 })
	require.Equal(t, task.Running, st.State)
	require.Equal(t, task.Transform, st.Phase)
	require.EqualValues(t, 1500, st.Progress.RowsDone, "the rows of the shards at work count")
	require.InDelta(t, 2+34, st.Progress.Percent, 1, "and move the whole")
	require.EqualValues(t, 750, st.Progress.RowsPerSecond)
	require.Equal(t, "workflow", st.Source)
	require.Contains(t, st.Can, "pause")

	release()
	waited := r.must("wait", id)
	require.Contains(t, waited.out, "SUCCESS")
	require.Contains(t, waited.out, "no difference: 3,000 rows of 1 table compared by checksum")
}

func TestWaitingTellsByItsExitCodeHowItEnded(t *testing.T) {
	r := newRig(t)
	require.Equal(t, exitSuccess, r.call("run", specFile(t), "--wait").code)

	r.breakShard(2, `column total of row 7: "abc" is not a number`)
	failed := r.call("run", specFile(t), "--id", t.Name(), "--wait")
	require.Equal(t, exitFailed, failed.code)
	require.Contains(t, failed.out, `column total of row 7: "abc" is not a number`)
	require.Contains(t, failed.out, "godwit retry    "+t.Name())
	require.NotContains(t, failed.out, "failed tries", "the error says it already")
	require.Equal(t, exitFailed, r.call("wait", t.Name()).code)

	rolledBack := r.call("run", specFile(t, "on_failure: rollback"), "--wait")
	require.Equal(t, exitRolledBack, rolledBack.code)

	r.block()
	timeout := r.call("run", specFile(t, "timeouts: {transform: 1s}"), "--wait")
	require.Equal(t, exitTimeout, timeout.code, timeout.out+timeout.notes)

	id := strings.TrimSpace(r.must("run", specFile(t)).out)
	r.must("cancel", id)
	require.Equal(t, exitCancelled, r.call("wait", id).code)
}

func TestWaitGivesUpAfterItsTimeoutAndSaysThatItGoesOn(t *testing.T) {
	r := newRig(t)
	r.block()
	id := strings.TrimSpace(r.must("run", specFile(t)).out)
	waited := r.call("wait", id, "--timeout", "1s")
	require.Equal(t, exitOther, waited.code)
	require.Contains(t, waited.notes, id+" is not done after 1s and goes on")
	require.False(t, r.status(id).State.Final())
}

func TestInterruptingNeverTouchesTheMigration(t *testing.T) {
	for _, verb := range []string{"wait", "watch"} {
		t.Run(verb, func(t *testing.T) {
			r := newRig(t)
			release := r.block()
			id := strings.TrimSpace(r.must("run", specFile(t)).out)
			ctx, interrupt := context.WithTimeout(context.Background(), time.Second)
			defer interrupt()

			left := r.callWithin(ctx, verb, id)
			require.Equal(t, exitOther, left.code)
			require.Contains(t, left.notes, "stopped looking; "+id+" goes on by itself")
			release()
			require.Equal(t, exitSuccess, r.call("wait", id).code)
		})
	}
}

func TestTheSameIDNeverRunsTwice(t *testing.T) {
	r := newRig(t)
	release := r.block()
	file, id := specFile(t), t.Name()
	r.must("run", file, "--id", id)

	running := r.call("run", file, "--id", id)
	require.Equal(t, exitOther, running.code)
	require.Contains(t, running.notes, id+" exists already and is ")
	require.Contains(t, running.notes, "use `godwit status "+id+"`")

	release()
	r.must("wait", id)
	done := r.call("run", file, "--id", id)
	require.Equal(t, exitOther, done.code)
	require.Contains(t, done.notes, id+" is done already (SUCCESS)")

	r.breakShard(1, "broken")
	failed := id + "-failed"
	require.Equal(t, exitFailed, r.call("run", file, "--id", failed, "--wait").code)
	again := r.call("run", file, "--id", failed)
	require.Equal(t, exitOther, again.code)
	require.Contains(t, again.notes, failed+" exists already and is FAILED; `godwit retry "+failed+"` continues it")
}

func TestRetryDoesOnlyWhatIsMissing(t *testing.T) {
	r := newRig(t)
	r.breakShard(2, "a value that nobody mends")
	require.Equal(t, exitFailed, r.call("run", specFile(t), "--id", t.Name(), "--wait").code)
	first := r.status(t.Name())

	r.breakShard(2, "")
	retried := r.call("retry", t.Name(), "--reason", "mended", "--wait")
	require.Equal(t, exitSuccess, retried.code, retried.out+retried.notes)
	require.Equal(t, []int{1, 1, 1}, []int{r.timesDone(t.Name(), 1), r.timesDone(t.Name(), 2), r.timesDone(t.Name(), 3)})
	require.NotEqual(t, first.RunID, r.status(t.Name()).RunID)

	nothing := r.call("retry", t.Name())
	require.Equal(t, exitOther, nothing.code)
	require.Contains(t, nothing.notes, "cannot retry: it has ended (SUCCESS)")
}

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

func TestAManualCutoverWaitsForItsVerb(t *testing.T) {
	r := newRig(t)
	id := strings.TrimSpace(r.must("copy", "--source", "legacy", "--target", "warehouse", "--cutover", "manual").out)
	st := r.until(id, func(st task.Status) bool { return st.Attention })
	require.Contains(t, st.WaitingFor, "godwit cutover "+id)
	require.Contains(t, r.must("list", "--target", "warehouse").out, id)

	r.must("cutover", id)
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

	require.Equal(t, exitUsage, r.call("throttle", id).code)
	require.Equal(t, exitUsage, r.call("throttle", id, "--parallel", "0").code)
}

func TestListShowsTheLatestRunOfEachAndFilters(t *testing.T) {
	r := newRig(t)
	r.breakShard(1, "broken")
	file, id := specFile(t), t.Name()
	require.Equal(t, exitFailed, r.call("run", file, "--id", id, "--wait").code)
	r.breakShard(1, "")
	r.must("retry", id, "--wait")

	count := func(args ...string) int {
		var listed []task.Status
		require.NoError(t, json.Unmarshal([]byte(r.must(append([]string{"list", "--all", "-o", "json"}, args...)...).out), &listed))
		found := 0
		for _, st := range listed {
			if st.ID == id {
				found++
			}
		}
		return found
	}
	require.Eventually(t, func() bool { return count("--state", "success") == 1 }, 5*time.Second, 100*time.Millisecond)
	require.Equal(t, 1, count("--kind", "copy"))
	require.Equal(t, 0, count("--state", "failed"), "an earlier run of the id does not count")
	require.Equal(t, 0, count("--target", "elsewhere"))
}

func TestEventsAreReadFromTheLedgerAndFollowed(t *testing.T) {
	r := newRig(t)
	r.breakShard(2, "broken")
	require.Equal(t, exitFailed, r.call("run", specFile(t), "--id", t.Name(), "--wait").code)

	shown := r.must("events", t.Name())
	require.Contains(t, shown.out, "data: ")
	require.NotContains(t, shown.out, "where it happened")
	require.Contains(t, r.must("events", t.Name(), "--stack").out, "where it happened")

	followed := r.must("events", t.Name(), "--follow", "-o", "json")
	for line := range strings.Lines(followed.out) {
		var event task.Event
		require.NoError(t, json.Unmarshal([]byte(line), &event), line)
	}
}

func TestPlanAsksTheWorker(t *testing.T) {
	r := newRig(t)
	planned := r.must("plan", specFile(t))
	require.Contains(t, planned.out, "CREATE TABLE public.orders (id bigint);")
	require.Contains(t, planned.notes, "nothing has been changed")
}

func TestWithoutAWorkerNothingIsStartedButEverythingIsSaid(t *testing.T) {
	r := newRig(t)
	release := r.block()
	id := strings.TrimSpace(r.must("run", specFile(t)).out)
	r.until(id, func(st task.Status) bool { return len(st.Running) == 3 })
	release()
	r.stop()

	for _, verb := range []string{"plan", "run"} {
		refused := r.call(verb, specFile(t))
		require.Equal(t, exitOther, refused.code)
		require.Contains(t, refused.notes, `no worker is listening on task queue "`+r.queue+`"; start one: godwit-worker --connections FILE`)
	}
	unattended := r.must("run", specFile(t), "--no-worker-check")
	require.Contains(t, r.must("status", strings.TrimSpace(unattended.out)).out, "PENDING")

	remembered := r.must("status", id)
	require.Contains(t, remembered.notes, "no worker is listening on task queue")
	require.Contains(t, remembered.out, "warehouse")
}

func TestWaitingOutlastsARestartOfTemporal(t *testing.T) {
	r := newRigOn(t, ownServer(t))
	release := r.block()
	id := strings.TrimSpace(r.must("run", specFile(t)).out)
	r.until(id, func(st task.Status) bool { return len(st.Running) == 3 })

	answers := make(chan answer)
	for _, verb := range []string{"wait", "watch"} {
		go func() { answers <- r.callWithin(context.Background(), verb, id) }()
	}
	time.Sleep(500 * time.Millisecond)
	r.server.Stop()
	time.Sleep(time.Second)
	r.server.Start()
	release()
	for range 2 {
		select {
		case a := <-answers:
			require.Equal(t, exitSuccess, a.code, a.out+a.notes)
			require.Contains(t, a.out, "SUCCESS")
		case <-time.After(90 * time.Second):
			t.Fatal("it still waits")
		}
	}
}

func TestWhatTemporalHasForgottenIsAskedFromTheLedger(t *testing.T) {
	r := newRig(t)
	forgotten := r.call("status", "long-ago")
	require.Equal(t, exitOther, forgotten.code)
	require.Contains(t, forgotten.notes, "Temporal knows no migration long-ago")

	require.Contains(t, r.must("status", "long-ago", "--ledger", "warehouse").out, "SUCCESS")
	wrong := r.call("status", "long-ago", "--ledger", "nowhere")
	require.Equal(t, exitOther, wrong.code)
	require.Equal(t, "godwit: there is no connection nowhere\n", wrong.notes)
}

func TestATerminatedMigrationIsShownAsFailedAndCanBeRetried(t *testing.T) {
	r := newRig(t)
	release := r.block()
	id := strings.TrimSpace(r.must("run", specFile(t)).out)
	r.until(id, func(st task.Status) bool { return len(st.Running) == 3 })
	c := r.server.Dial()
	defer c.Close()
	require.NoError(t, c.TerminateWorkflow(context.Background(), id, "", "by mistake"))

	st := r.status(id)
	require.Equal(t, task.Failed, st.State)
	require.Contains(t, st.Error.Message, "terminated in Temporal")
	require.Contains(t, st.Error.Message, "by mistake")
	release()
	require.Equal(t, exitSuccess, r.call("retry", id, "--wait").code)
}

func TestEveryAnswerIsOneJSONDocument(t *testing.T) {
	r := newRig(t)
	release := r.block()
	file := specFile(t)
	id := t.Name()
	for _, args := range [][]string{
		{"run", file, "--id", id}, {"status", id}, {"list"}, {"plan", file}, {"throttle", id, "--parallel", "2"}, {"pause", id}, {"resume", id},
		{"setup"}, {"schema"}, {"version"}, {"copy", "--source", "legacy", "--target", "warehouse", "--print-spec"},
	} {
		answer := r.must(append(args, "-o", "json")...)
		var document any
		require.NoError(t, json.Unmarshal([]byte(answer.out), &document), "%v: %s", args, answer.out)
	}
	release()
	for _, args := range [][]string{{"wait", id}, {"events", id}, {"run", file, "--wait"}} {
		answer := r.must(append(args, "-o", "json")...)
		var document any
		require.NoError(t, json.Unmarshal([]byte(answer.out), &document), "%v: %s", args, answer.out)
	}
	watched := r.must("watch", id, "-o", "json")
	for line := range strings.Lines(watched.out) {
		var st task.Status
		require.NoError(t, json.Unmarshal([]byte(line), &st))
	}
}

func TestIDsAreCompletedWithTheirStates(t *testing.T) {
	r := newRig(t)
	r.must("run", specFile(t), "--id", t.Name(), "--wait")
	require.Eventually(t, func() bool {
		var out bytes.Buffer
		args := []string{"__complete", "--address", r.server.Address, "--namespace", "default", "status", ""}
		code := execute(context.Background(), args, strings.NewReader(""), &out, &bytes.Buffer{})
		return code == exitSuccess && strings.Contains(out.String(), t.Name()+"\tSUCCESS legacy → warehouse")
	}, 5*time.Second, 100*time.Millisecond)
}
