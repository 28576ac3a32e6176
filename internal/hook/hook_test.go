package hook

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// childVariable makes the test binary a process that comes to a place three times.
const childVariable = "GODWIT_HOOK_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	if err := Arm(os.Getenv(Variable)); err != nil {
		panic(err)
	}
	for range 3 {
		At("elsewhere")
		At("here")
		if _, err := os.Stdout.WriteString("passed\n"); err != nil {
			panic(err)
		}
	}
}

func child(t *testing.T, triggers string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=1", Variable+"="+triggers)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestAPlaceWithoutATriggerDoesNothing(t *testing.T) {
	out, err := child(t, "").Output()
	require.NoError(t, err)
	require.Equal(t, "passed\npassed\npassed\n", string(out))
}

func TestAProcessIsKilledAtItsPlace(t *testing.T) {
	cmd := child(t, "nowhere:1:kill; here:2:kill")
	out, err := cmd.Output()
	require.Error(t, err)
	require.Equal(t, syscall.SIGKILL, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	require.Equal(t, "passed\n", string(out), "it had come to the place once before")
}

func TestAFrozenProcessGoesOnWhenItIsToldTo(t *testing.T) {
	cmd := child(t, "here:1:stop")
	require.NoError(t, cmd.Start())
	var status syscall.WaitStatus
	_, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	require.NoError(t, err)
	require.True(t, status.Stopped())
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	require.NoError(t, cmd.Wait())
}

func TestAHeldProcessGoesOnWhenTheFileIsGone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "held")
	cmd := child(t, "here:3:hold="+file)
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { _, err := os.Stat(file); return err == nil }, 30*time.Second, time.Millisecond)
	require.NoError(t, os.Remove(file))
	require.NoError(t, cmd.Wait())
}

func TestAHeldGoroutineDoesNotKeepOthersFromTheirTriggers(t *testing.T) {
	defer func() { armed = nil }()
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	require.NoError(t, Arm("here:1:hold="+first+";here:2:hold="+second))
	for _, file := range []string{first, second} {
		go At("here")
		require.Eventually(t, func() bool { _, err := os.Stat(file); return err == nil }, 30*time.Second, time.Millisecond)
	}
	require.NoError(t, os.Remove(first))
	require.NoError(t, os.Remove(second))
}

func TestATriggerThatCannotBeUnderstoodIsRefused(t *testing.T) {
	for _, text := range []string{"here", "here:kill", ":1:kill", "here:0:kill", "here:x:kill", "here:1:explode", "here:1:hold", "here:1:hold=relative", "here:1:kill;"} {
		require.Error(t, Arm(text), text)
	}
	require.Nil(t, armed)
}
