package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

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
	require.Eventually(t, func() bool { return count("--state", "success") == 1 }, 30*time.Second, 100*time.Millisecond)
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
	}, 30*time.Second, 100*time.Millisecond)
}
