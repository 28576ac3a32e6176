package demo_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// limit is how long one demo may take here, with a lot of time to spare.
const limit = 3 * time.Minute

func TestADemoCopiesTheShopAndLeavesNothingBehind(t *testing.T) {
	for source, flags := range map[string][]string{"MariaDB": nil, "MySQL": {"--mysql"}} {
		t.Run(source, func(t *testing.T) {
			d := start(t, folder(t), append(flags, "--once", "--rows", "20000", "-o", "json")...)
			require.Equal(t, 0, d.wait(), d.errors)

			var report struct {
				State     task.State
				ID, URL   string
				Rows      int64
				Source    string
				Seconds   struct{ Seed, Copy, Total float64 }
				Migration task.Status
			}
			require.NoError(t, json.Unmarshal(d.output.bytes(), &report), "one document and nothing else")
			require.Equal(t, task.Success, report.State)
			require.Contains(t, report.Source, source+" ")
			require.Contains(t, report.URL, report.ID)
			require.EqualValues(t, 20_000, report.Migration.Verified.Rows)
			require.EqualValues(t, 10, report.Migration.Verified.Tables)
			require.Zero(t, report.Migration.Verified.Different)
			require.Positive(t, report.Seconds.Seed)
			require.Positive(t, report.Seconds.Copy)
			require.Greater(t, report.Seconds.Total, report.Seconds.Copy)
			require.NotContains(t, d.errors.String(), "\x1b", "no terminal is there")
			require.Contains(t, d.errors.String(), "20,000 rows in 10 tables")
			d.leavesNothing()
		})
	}
}

func TestCtrlCAtAnyMomentLeavesNothingBehind(t *testing.T) {
	for moment, line := range map[string]string{
		"while servers start": "starting Temporal", "while the shop is made": "at 127.0.0.1:", "while it is copied": "in transform",
	} {
		t.Run(moment, func(t *testing.T) {
			d := start(t, folder(t), "--rows", "200000", "--rows-per-second", "10000")
			d.awaitOutput(line)
			require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
			require.Equal(t, 1, d.wait(), d.errors)
			require.Contains(t, d.errors.String(), "interrupted")
			d.leavesNothing()
		})
	}
}

func TestADemoWhoseReaderOrTerminalGoesAwayLeavesNothingBehind(t *testing.T) {
	parent := folder(t)
	read, write, err := os.Pipe()
	require.NoError(t, err)
	piped := exec.Command(binary(t), "demo", "--rows", "1000")
	piped.Env, piped.Stdout, piped.Stderr = append(os.Environ(), "TMPDIR="+parent), write, write
	require.NoError(t, errors.Join(piped.Start(), write.Close(), read.Close()))
	_ = piped.Wait() // with or without an error: there was nobody to tell how it went
	(&running{t: t, folder: parent}).leavesNothing()

	d := start(t, parent, "--rows", "1000")
	d.awaitOutput("Everything stays up until you press Ctrl-C")
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
	require.Equal(t, 0, d.wait(), d.errors)
	d.leavesNothing()
}

func TestADemoStaysUpUntilCtrlC(t *testing.T) {
	d := start(t, folder(t), "--rows", "1000")
	d.awaitOutput("Everything stays up until you press Ctrl-C")
	id := regexp.MustCompile(`ID=(copy-[0-9a-f-]+)`).FindStringSubmatch(d.output.String())
	address := regexp.MustCompile(`Temporal \S+ +at (localhost:\d+)`).FindStringSubmatch(d.output.String())
	require.Len(t, id, 2)
	require.Len(t, address, 2)
	status, err := exec.Command(binary(t), "status", id[1], "--address", address[1]).CombinedOutput()
	require.NoError(t, err, string(status))
	require.Contains(t, string(status), "SUCCESS")
	require.Contains(t, d.output.String(), "psql service=warehouse")

	require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 0, d.wait(), d.errors)
	d.leavesNothing()
}

func TestAKilledWorkerIsStartedAgainAndTheCopyGoesOn(t *testing.T) {
	d := start(t, folder(t), "--once", "--rows", "40000", "--rows-per-second", "10000")
	d.awaitOutput("in transform")
	worker := regexp.MustCompile(`a worker +pid (\d+)`).FindStringSubmatch(d.output.String())
	require.Len(t, worker, 2)
	pid, err := strconv.Atoi(worker[1])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.Equal(t, 0, d.wait(), d.errors)
	require.Contains(t, d.output.String(), "the worker (pid "+worker[1]+") is gone: started it again, pid ")
	require.Contains(t, d.output.String(), "no difference: 40,000 rows of 10 tables")
	d.leavesNothing()
}

func TestAKilledDemoLeavesNoProcessAndItsFilesToTheNextOne(t *testing.T) {
	parent := folder(t)
	d := start(t, parent, "--rows", "200000", "--rows-per-second", "10000")
	d.awaitOutput("in transform")
	require.NotEmpty(t, workingIn(t, parent))
	require.NoError(t, d.cmd.Process.Kill())
	require.Equal(t, -1, d.wait())
	require.Eventually(t, func() bool { return len(workingIn(t, parent)) == 0 }, 20*time.Second, 50*time.Millisecond)
	left, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.NotEmpty(t, left)

	next := start(t, parent, "--once", "--rows", "1000")
	require.Equal(t, 0, next.wait(), next.errors)
	next.leavesNothing()
}

func TestWhatADemoCannotDoIsAUsageError(t *testing.T) {
	for flags, message := range map[string]string{
		"--rows 10":                "a shop has 1000 at the least",
		"--address localhost:7233": "the demo has a Temporal of its own",
		"--rows-per-second -1":     "cannot be negative",
		"--once shop":              "takes no argument",
	} {
		d := start(t, folder(t), strings.Fields(flags)...)
		require.Equal(t, 2, d.wait(), flags)
		require.Contains(t, d.errors.String(), message)
		d.leavesNothing()
	}
}

func TestADemoWithoutItsOtherProgramsSaysHowToGetThem(t *testing.T) {
	alone := filepath.Join(folder(t), "godwit")
	text, err := os.ReadFile(binary(t))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(alone, text, 0o700))
	cmd := exec.Command(alone, "demo")
	cmd.Dir, cmd.Env = filepath.Dir(alone), []string{"PATH=/usr/bin:/bin"}
	output, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(output), "godwit-devserver is not in "+filepath.Dir(alone)+", ./bin or PATH: run `make build`")
}

// running is a demo whose temporary files are all in one folder.
type running struct {
	t              *testing.T
	cmd            *exec.Cmd
	folder         string
	output, errors *text
	ended          chan struct{}
}

func start(t *testing.T, folder string, flags ...string) *running {
	t.Helper()
	d := &running{t: t, folder: folder, output: &text{}, errors: &text{}, ended: make(chan struct{})}
	d.cmd = exec.Command(binary(t), append([]string{"demo"}, flags...)...)
	// A Temporal that the environment names is none of the demo's business.
	d.cmd.Env = append(os.Environ(), "TMPDIR="+folder, "TEMPORAL_ADDRESS=no.such.host:1", "TEMPORAL_NAMESPACE=elsewhere")
	d.cmd.Stdout, d.cmd.Stderr = d.output, d.errors
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, d.cmd.Start())
	go func() {
		_ = d.cmd.Wait() // how it ended is in ProcessState
		close(d.ended)
	}()
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill()
		<-d.ended
	})
	return d
}

// wait waits for the end and returns the exit code, -1 after a kill.
func (d *running) wait() int {
	d.t.Helper()
	select {
	case <-d.ended:
	case <-time.After(limit):
		d.t.Fatalf("the demo has not ended after %s:\n%s\n%s", limit, d.output, d.errors)
	}
	return d.cmd.ProcessState.ExitCode()
}

func (d *running) awaitOutput(line string) {
	d.t.Helper()
	for deadline := time.Now().Add(limit); !strings.Contains(d.output.String(), line); time.Sleep(20 * time.Millisecond) {
		select {
		case <-d.ended:
			d.t.Fatalf("the demo has ended:\n%s\n%s", d.output, d.errors)
		default:
		}
		require.True(d.t, time.Now().Before(deadline), "%q has not come:\n%s\n%s", line, d.output, d.errors)
	}
}

func (d *running) leavesNothing() {
	d.t.Helper()
	require.Empty(d.t, workingIn(d.t, d.folder), "processes")
	left, err := os.ReadDir(d.folder)
	require.NoError(d.t, err)
	require.Empty(d.t, left, "files")
}

// workingIn are the processes that work in a folder: all that a demo starts do.
func workingIn(t *testing.T, folder string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	require.NoError(t, err)
	var found []string
	for _, link := range links {
		if place, err := os.Readlink(link); err == nil && strings.HasPrefix(place, folder) {
			found = append(found, filepath.Dir(link))
		}
	}
	return found
}

// folder is one that servers which run as another user may enter.
func folder(t *testing.T) string {
	t.Helper()
	path, err := os.MkdirTemp("", "godwit-demo-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(path)) })
	return path
}

// binary finds godwit where `make build` puts it.
func binary(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/godwit")
	require.NoError(t, err)
	require.FileExists(t, path, "run `make build` first")
	return path
}

// text is written by one goroutine and read by others.
type text struct {
	lock   sync.Mutex
	buffer bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.buffer.Write(p)
}

func (t *text) bytes() []byte { return []byte(t.String()) }

func (t *text) String() string {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.buffer.String()
}
