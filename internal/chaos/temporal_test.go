package chaos

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"godwit/internal/cluster"
	"godwit/internal/process"
)

// temporalServer is a Temporal server that keeps its state in a file, so that it can
// be killed.
type temporalServer struct {
	port    int
	folder  string
	process *process.Process
	client  *cluster.Client
}

// startAttempts is how often another port is tried: one that was free can be
// taken before the server has it.
const startAttempts = 3

func startTemporal(ctx context.Context) (*temporalServer, error) {
	folder, err := os.MkdirTemp(shelf, "temporal-")
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		s := &temporalServer{folder: folder, port: listener.Addr().(*net.TCPAddr).Port}
		if err := listener.Close(); err != nil {
			return nil, err
		}
		if err = s.start(ctx); err == nil || s.process.Alive() || attempt == startAttempts {
			return s, err
		}
	}
}

// start starts it, also again after kill, with the same state on the same port.
func (s *temporalServer) start(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(s.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(binaries.devserver, "server", "start-dev", "--ip", "127.0.0.1", "--port", strconv.Itoa(s.port), "--headless",
		"--db-filename", filepath.Join(s.folder, "temporal.db"), "--log-level", "error")
	cmd.Stdout, cmd.Stderr = log, log
	if s.process, err = process.Start(cmd, syscall.SIGKILL); err != nil {
		return err
	}
	ended := s.process.Done()
	dialing, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-ended:
			cancel()
		case <-dialing.Done():
		}
	}()
	c, err := cluster.Dial(dialing, cluster.Options{Address: s.address(), Namespace: "default", Identity: "chaos", Patience: time.Minute})
	if err != nil {
		said, _ := os.ReadFile(log.Name()) // what there is of it
		return fmt.Errorf("the Temporal server does not come up: %w\n%s", err, said)
	}
	if s.client != nil {
		c.Close()
		return nil
	}
	s.client = c
	_, err = cluster.Setup(ctx, c, "default", cluster.DefaultRetention)
	return err
}

func (s *temporalServer) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

func (s *temporalServer) kill() error { return s.process.Kill() }

func (s *temporalServer) stop() error {
	if s.client != nil {
		s.client.Close()
	}
	return s.process.Stop(syscall.SIGTERM, 30*time.Second)
}
