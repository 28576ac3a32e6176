package process_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/process"
)

// With starterVariable set, this test program is one that starts another and waits for its own end.
const starterVariable = "GODWIT_TEST_STARTER"

func TestMain(m *testing.M) {
	if os.Getenv(starterVariable) != "" {
		p, err := process.Start(exec.Command("sleep", "600"), syscall.SIGKILL)
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString(strconv.Itoa(p.PID) + "\n")
		select {}
	}
	os.Exit(m.Run())
}

func TestAProgramEndsWithItsKilledStarter(t *testing.T) {
	starter := exec.Command(os.Args[0])
	starter.Env = append(os.Environ(), starterVariable+"=yes")
	output, err := starter.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, starter.Start())
	lines := bufio.NewScanner(output)
	require.True(t, lines.Scan())
	pid, err := strconv.Atoi(lines.Text())
	require.NoError(t, err)
	require.True(t, runs(t, pid))

	require.NoError(t, starter.Process.Kill())
	require.Error(t, starter.Wait())
	require.Eventually(t, func() bool { return !runs(t, pid) }, 30*time.Second, 10*time.Millisecond)
}

func TestAProgramThatIgnoresTheRequestIsKilledWithItsChildren(t *testing.T) {
	output, err := os.CreateTemp(t.TempDir(), "output")
	require.NoError(t, err)
	cmd := exec.Command("sh", "-c", `trap "" TERM; sleep 600 & echo $!; while :; do wait; done`)
	cmd.Stdout = output
	p, err := process.Start(cmd, syscall.SIGKILL)
	require.NoError(t, err)
	var child int
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(output.Name())
		require.NoError(t, err)
		line, _, whole := strings.Cut(string(text), "\n")
		if whole {
			child, err = strconv.Atoi(line)
			require.NoError(t, err)
		}
		return whole
	}, 30*time.Second, 10*time.Millisecond)
	require.True(t, runs(t, child))
	require.Nil(t, p.State())

	require.ErrorContains(t, p.Stop(syscall.SIGTERM, 100*time.Millisecond), "killed, because")
	require.False(t, p.Alive())
	require.Equal(t, "signal: killed", p.State().String())
	require.False(t, runs(t, child))
	require.NoError(t, p.Stop(syscall.SIGTERM, time.Second), "it has ended")
}

// What an ending script starts last outlives its parent, but not the end of the whole.
func TestWhatAnEndingScriptStillStartsEndsWithIt(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		end    func(int) error
	}{
		"asked":  {`trap 'sleep 0.5 & exit' TERM; while :; do sleep 0.01; done`, process.End},
		"killed": {`while :; do sleep 5 & sleep 0.001; done`, process.Kill},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for range 10 {
				cmd := exec.Command("sh", "-c", test.script)
				cmd.Dir = folder
				p, err := process.Start(cmd, syscall.SIGKILL)
				require.NoError(t, err)
				time.Sleep(50 * time.Millisecond)
				require.NoError(t, test.end(p.PID))
				require.Empty(t, workingIn(t, folder))
			}
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, process.Run(ctx, exec.Command("sleep", "600")), context.DeadlineExceeded)
	require.ErrorContains(t, process.Run(t.Context(), exec.Command("false")), "exit status 1")
	require.NoError(t, process.Run(t.Context(), exec.Command("true")))
}

func TestAProgramRunGentlyCleansUpAfterItselfAndItsChildren(t *testing.T) {
	left := filepath.Join(t.TempDir(), "left")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	script := `touch "$0"; trap 'ended=yes' TERM; sleep 0.5; rm "$0"; test -z "$ended" || exit 3`
	require.ErrorIs(t, process.RunGently(ctx, exec.Command("sh", "-c", script, left)), context.DeadlineExceeded)
	require.NoFileExists(t, left)
}

func TestAProgramRunGentlyIsKilledWhenItGoesOn(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := process.RunGently(ctx, exec.Command("sh", "-c", `trap "" TERM; sleep 600`))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), time.Minute)
}

// workingIn are the processes that work in a folder.
func workingIn(t *testing.T, folder string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	require.NoError(t, err)
	var found []string
	for _, link := range links {
		if place, err := os.Readlink(link); err == nil && place == folder {
			found = append(found, link)
		}
	}
	return found
}

func runs(t *testing.T, pid int) bool {
	t.Helper()
	table, err := process.List()
	require.NoError(t, err)
	entry, there := table[pid]
	return there && !entry.Ended
}
