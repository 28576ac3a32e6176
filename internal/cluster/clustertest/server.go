// Package clustertest starts throw-away Temporal servers for tests: the real
// one, as a process of its own, that a test can also stop and start again.
//
// It promises that every server has its own port and state, and is gone when
// its test ends. A missing binary fails the test: nothing is skipped.
package clustertest

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/cluster"
)

// PathVariable names the server's binary, for those who have another one.
const PathVariable = "TEMPORAL_CLI_PATH"

// Server is a Temporal server of one test.
type Server struct {
	Address string
	t       testing.TB
	port    int
	file    string
	// settings of the server's own, as key=json.
	settings []string
	command  *exec.Cmd
}

// Start starts a server with its state in a file of its own, and waits until
// it answers. It is stopped when the test ends. Settings are of its dynamic
// configuration, as key=json.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	require.NoError(t, listener.Close())
	s := &Server{
		Address: "127.0.0.1:" + strconv.Itoa(port),
		t:       t,
		port:    port,
		file:    filepath.Join(t.TempDir(), "temporal.db"),

		settings: settings,
	}
	t.Cleanup(s.Stop)
	s.Start()
	return s
}

// Start starts a stopped server again, on the same port with the same state.
func (s *Server) Start() {
	s.t.Helper()
	arguments := []string{"server", "start-dev", "--ip", "127.0.0.1", "--port", strconv.Itoa(s.port),
		"--headless", "--db-filename", s.file, "--log-level", "never"}
	for _, setting := range s.settings {
		arguments = append(arguments, "--dynamic-config-value", setting)
	}
	s.command = exec.Command(binary(s.t), arguments...)
	s.command.Stderr = os.Stderr
	s.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(s.t, s.command.Start())
	s.Dial().Close()
}

// Stop ends the server as an operator would. It may be called twice.
func (s *Server) Stop() {
	if s.command == nil || s.command.ProcessState != nil {
		return
	}
	_ = s.command.Process.Signal(syscall.SIGTERM)
	_ = s.command.Wait()
}

// Dial connects to the server; the test closes the connection.
func (s *Server) Dial() *cluster.Client {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := cluster.Dial(ctx, cluster.Options{Address: s.Address, Namespace: "default", Patience: 30 * time.Second})
	require.NoError(s.t, err)
	return c
}

// binary finds the server: where the environment says, or where `make build`
// puts it.
func binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(PathVariable); path != "" {
		return path
	}
	folder, err := os.Getwd()
	require.NoError(t, err)
	for ; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		path := filepath.Join(folder, "bin", "godwit-devserver")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Fatalf("there is no bin/godwit-devserver: run `make build` first, or name a Temporal server with %s", PathVariable)
	return ""
}
