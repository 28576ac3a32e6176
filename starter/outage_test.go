package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

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

	paused := r.must("pause", id)
	require.Contains(t, paused.out, "pause has been asked for and takes effect when a worker goes on with it")
	updated := r.call("throttle", id, "--parallel", "2")
	require.Equal(t, exitOther, updated.code)
	require.Contains(t, updated.notes, "no worker is listening")

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
