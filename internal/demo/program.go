package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"godwit/internal/process"
)

// stopLimit is how long a program may take to end before it is killed. Killing loses nothing that is still wanted.
const stopLimit = 5 * time.Second

// tailLines is how much of a log is shown when a program does not run.
const tailLines = 12

// program is one that is started as a process, maybe more than once, and writes a log. Its methods may be called from
// several goroutines.
type program struct {
	name        string
	path        string
	args        []string
	environment []string
	log         string // file; kept over starts
	output      io.Writer

	lock    sync.Mutex
	current *process.Process
}

// Resume starts the program, again or for the first time.
func (p *program) Resume(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.path, p.args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = filepath.Dir(p.log), p.environment, log, log
	if p.output != nil {
		cmd.Stdout = p.output
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	started, err := process.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.current = started
	return nil
}

func (p *program) running() *process.Process {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.current
}

// PID is the process of the last start.
func (p *program) PID() int { return p.running().PID }

// Ended is closed when the process of the last start has ended.
func (p *program) Ended() <-chan struct{} { return p.running().Done() }

// Stop ends the program in order, or at least for certain.
func (p *program) Stop() error {
	running := p.running()
	if !running.Alive() {
		return nil
	}
	_ = running.Stop(syscall.SIGTERM, stopLimit) // that it had to be killed is no news here
	if running.Alive() {
		return fmt.Errorf("stop %s: process %d does not end", p.name, running.PID)
	}
	return nil
}

// failure is an error about the program, with the end of its log.
func (p *program) failure(what string) error {
	text, err := os.ReadFile(p.log)
	log := strings.TrimSpace(string(text))
	if err != nil || log == "" {
		return fmt.Errorf("%s %s", p.name, what)
	}
	tail := strings.Split(log, "\n")
	return fmt.Errorf("%s %s; end of its log:\n  %s", p.name, what, strings.Join(tail[max(0, len(tail)-tailLines):], "\n  "))
}

// alone is our environment without what is about Temporal and connections, and with these variables.
func alone(with ...string) []string {
	var environment []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "TEMPORAL_") && !strings.HasPrefix(variable, "GODWIT_") {
			environment = append(environment, variable)
		}
	}
	return append(environment, append(with, "TEMPORAL_CONFIG_FILE="+os.DevNull)...)
}
