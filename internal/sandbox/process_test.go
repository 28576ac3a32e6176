package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
)

// With starterVariable set, this test program is the one that starts a server and is then killed.
const starterVariable = "GODWIT_TEST_STARTER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(starterVariable); kind != "" {
		startAndWait(sandbox.Kind(kind))
	}
	os.Exit(m.Run())
}

func startAndWait(kind sandbox.Kind) {
	s, err := sandbox.Start(context.Background(), kind, sandbox.Options{})
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString(s.Dir + "\n" + s.Addr() + "\n")
	select {}
}

func TestAServerDiesWithItsKilledStarterAndTheNextStartSweeps(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, kind sandbox.Kind) {
		starter := exec.Command(os.Args[0])
		starter.Env = append(os.Environ(), starterVariable+"="+string(kind))
		starter.Stderr = os.Stderr
		output, err := starter.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, starter.Start())
		lines := bufio.NewScanner(output)
		require.True(t, lines.Scan())
		dir := lines.Text()
		processes := mentioning(t, dir)
		require.NotEmpty(t, processes)
		segments := sharedMemoryOf(t, processes)
		alone := sandboxtest.Start(t, sandbox.MariaDB, sandbox.Options{})
		require.DirExists(t, dir, "of a living starter, after another server has swept")

		require.NoError(t, starter.Process.Kill())
		require.Error(t, starter.Wait())
		if runtime.GOOS == "linux" {
			require.Eventually(t, func() bool { return len(mentioning(t, dir)) == 0 }, 30*time.Second, 10*time.Millisecond, "a process lives on")
		}
		require.DirExists(t, dir)
		sandboxtest.Start(t, sandbox.MariaDB, sandbox.Options{})
		require.NoDirExists(t, dir)
		require.Empty(t, mentioning(t, dir))
		require.DirExists(t, alone.Dir)
		require.Empty(t, existing(t, segments), "shared memory")
	})
}

func showsItsPasswordInNoArguments(t *testing.T, s *sandbox.Server) {
	sleep := []string{"--execute=SELECT sleep(20)", "shop"}
	busy := "SELECT count(*) FROM information_schema.processlist WHERE info = 'SELECT sleep(20)'"
	if s.Kind == sandbox.Postgres {
		sleep = []string{"--command=SELECT pg_sleep(20)", "shop"}
		busy = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(20)'"
	}
	client := s.Client(sleep...)
	require.NoError(t, client.Start())
	defer func() {
		require.NoError(t, client.Process.Kill())
		require.Error(t, client.Wait())
	}()
	require.Eventually(t, func() bool { return read(t, s, "shop", busy) == "1" }, 30*time.Second, 50*time.Millisecond)
	require.Contains(t, commandLine(client.Process.Pid), "sleep(20)")
	require.Empty(t, mentioning(t, s.Password()))
}

func commandLine(pid int) string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return "" // it has ended
	}
	return string(bytes.ReplaceAll(text, []byte{0}, []byte(" ")))
}

// processIDs are those of all processes, zombies left out.
func processIDs(t *testing.T) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	var pids []int
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil || strings.HasPrefix(string(text[bytes.LastIndexByte(text, ')')+1:]), " Z") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	return pids
}

// mentioning are the processes with the text in their command line or that work below the folder of this name.
func mentioning(t *testing.T, text string) []int {
	t.Helper()
	return slices.DeleteFunc(processIDs(t), func(pid int) bool {
		folder, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
		return !strings.Contains(commandLine(pid), text) && !strings.HasPrefix(folder, text)
	})
}

// processesOf are all of a server, its children included.
func processesOf(t *testing.T, s *sandbox.Server) []int {
	t.Helper()
	found := mentioning(t, s.Dir)
	if s.Kind == sandbox.Postgres {
		require.Greater(t, len(found), 3, "a postmaster and its children")
	}
	return found
}

func running(t *testing.T, pids []int) []int {
	t.Helper()
	now := processIDs(t)
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return !slices.Contains(now, pid) })
}

// sharedMemoryOf lists the segments of both kinds that the processes use and that can outlive them.
func sharedMemoryOf(t *testing.T, pids []int) []string {
	t.Helper()
	var segments []string
	for _, pid := range pids {
		maps, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "maps"))
		if err != nil {
			continue // a short-lived worker, which has ended
		}
		for line := range strings.Lines(string(maps)) {
			fields := strings.Fields(line)
			switch name := fields[len(fields)-1]; {
			case strings.HasPrefix(name, "/dev/shm/"):
				segments = append(segments, name)
			case strings.Contains(line, "/SYSV"):
				segments = append(segments, "sysv "+fields[4]) // its id stands where a file has its inode
			}
		}
	}
	slices.Sort(segments)
	return slices.Compact(segments)
}

func existing(t *testing.T, segments []string) []string {
	t.Helper()
	text, err := os.ReadFile("/proc/sysvipc/shm")
	require.NoError(t, err)
	ids := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		ids["sysv "+strings.Fields(line)[1]] = true
	}
	return slices.DeleteFunc(slices.Clone(segments), func(segment string) bool {
		_, err := os.Stat(segment)
		return err != nil && !ids[segment]
	})
}
