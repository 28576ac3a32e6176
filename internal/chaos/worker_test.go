package chaos

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/hook"
	"godwit/internal/process"
)

// worker is a godwit-worker process.
type worker struct {
	t       *testing.T
	process *process.Process
	log     *journal
}

// startWorker starts a worker that is armed with the triggers, and waits until it is ready.
func startWorker(t *testing.T, environ []string, triggers ...string) *worker {
	t.Helper()
	w := launchWorker(t, environ, triggers...)
	w.awaitLog("godwit-worker is ready")
	return w
}

// launchWorker starts a worker and waits for nothing.
func launchWorker(t *testing.T, environ []string, triggers ...string) *worker {
	t.Helper()
	w := &worker{t: t, log: &journal{}}
	cmd := exec.Command(binaries.worker)
	cmd.Env = environ
	if len(triggers) > 0 {
		cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], hook.Variable+"="+strings.Join(triggers, ";"))
	}
	cmd.Stdout, cmd.Stderr = w.log, w.log
	var err error
	w.process, err = process.Start(cmd, syscall.SIGKILL)
	require.NoError(t, err)
	t.Cleanup(func() {
		w.kill()
		if t.Failed() {
			t.Logf("the log of worker %d:\n%s", w.process.PID, w.log.tail(40))
		}
		require.NotContains(t, w.log.String(), "DATA RACE")
		require.NotContains(t, w.log.String(), "panic:")
	})
	return w
}

// kill ends it at once, as kill -9 does; also when it is frozen.
func (w *worker) kill() {
	w.t.Helper()
	require.NoError(w.t, w.process.Kill())
}

// stop asks it to end, and returns how long that took.
func (w *worker) stop() time.Duration {
	w.t.Helper()
	began := time.Now()
	require.NoError(w.t, w.process.Stop(syscall.SIGTERM, 40*time.Second))
	return time.Since(began)
}

func (w *worker) freeze() { w.signal(syscall.SIGSTOP) }
func (w *worker) thaw()   { w.signal(syscall.SIGCONT) }

func (w *worker) signal(signal syscall.Signal) {
	w.t.Helper()
	require.NoError(w.t, syscall.Kill(w.process.PID, signal))
}

// awaitFrozen waits until a trigger has frozen it.
func (w *worker) awaitFrozen() {
	w.t.Helper()
	await(w.t, 90*time.Second, "the worker to be frozen", func() bool {
		status, err := os.ReadFile(filepath.Join("/proc", pid(w.process.PID), "stat"))
		if err != nil {
			return false
		}
		_, after, _ := bytes.Cut(status, []byte(") "))
		return bytes.HasPrefix(after, []byte("T"))
	})
}

// awaitDead waits until a trigger has killed it.
func (w *worker) awaitDead() {
	w.t.Helper()
	select {
	case <-w.process.Done():
	case <-time.After(90 * time.Second):
		require.Fail(w.t, "the worker was not killed", w.log.tail(20))
	}
}

func (w *worker) awaitLog(text string) {
	w.t.Helper()
	await(w.t, time.Minute, "the worker to say "+text, func() bool { return strings.Contains(w.log.String(), text) || !w.process.Alive() })
	require.Contains(w.t, w.log.String(), text)
}

// gate is a place at which a worker is held up.
type gate struct {
	t    *testing.T
	file string
}

func newGate(t *testing.T) gate { return gate{t, filepath.Join(t.TempDir(), "held")} }

// at is the trigger that holds a worker up at a place.
func (g gate) at(place string) string { return place + ":1:hold=" + g.file }

// reached waits until the worker is held up.
func (g gate) reached() {
	g.t.Helper()
	await(g.t, 2*time.Minute, "the worker to come to the gate", func() bool { _, err := os.Stat(g.file); return err == nil })
}

func (g gate) open() {
	g.t.Helper()
	require.NoError(g.t, os.Remove(g.file))
}

// journal is what a process writes.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) tail(lines int) string {
	all := strings.Split(strings.TrimSpace(j.String()), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
