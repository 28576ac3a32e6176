package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// asServer makes the test binary be the server: so tests have a real process to kill, without linking it twice.
const asServer = "GODWIT_DEVSERVER_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// process is a server in a process of its own, on any free port.
type process struct {
	command         *exec.Cmd
	stderr          *bytes.Buffer
	address, webURL string
	conn            *grpc.ClientConn
}

func command(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asServer+"=1")
	return c
}

var readyPattern = regexp.MustCompile(`^ready: Temporal \S+ on (\S+), Web UI (http\S+|off)`)

// start returns when the server says that it is ready. It is killed at the end of the test at the latest.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{command: command(append([]string{"--port", "0"}, args...)...), stderr: &bytes.Buffer{}}
	p.command.Stderr = p.stderr
	stdout, err := p.command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.command.Start())
	t.Cleanup(func() { p.kill() })

	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(stdout).ReadString('\n')
		line <- text
	}()
	select {
	case text := <-line:
		found := readyPattern.FindStringSubmatch(text)
		require.NotNil(t, found, "first line %q, standard error %s", text, p.stderr)
		p.address, p.webURL = found[1], strings.TrimSuffix(found[2], ",")
	case <-time.After(time.Minute):
		t.Fatalf("not ready after a minute: %s", p.stderr)
	}
	p.conn, err = grpc.NewClient(p.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { p.conn.Close() })
	return p
}

// kill is kill -9. It returns when the process is gone.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}

// terminate stops the server as a user would, and returns its exit code and how long that took.
func (p *process) terminate(t *testing.T, signal syscall.Signal) (int, time.Duration) {
	t.Helper()
	begin := time.Now()
	require.NoError(t, p.command.Process.Signal(signal))
	_ = p.command.Wait()
	return p.command.ProcessState.ExitCode(), time.Since(begin)
}

// refused runs a server that must not start and returns what it says.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	output, err := command(args...).CombinedOutput()
	require.Error(t, err, "it started: %s", output)
	return string(output)
}
