package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a child of this process. A nil Process is one that was never started, and has ended.
type Process struct {
	PID   int
	done  chan struct{}    // closed when it has ended and been waited for
	state *os.ProcessState // valid when done is closed
}

// Start starts cmd. death is the signal it gets when its starter dies.
//
// Linux sends that signal when the *thread* that started the child ends, so that thread must last as long as the child:
// it is locked to a goroutine that waits for it.
func Start(cmd *exec.Cmd, death syscall.Signal) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	dieWithStarter(cmd.SysProcAttr, death)
	p := &Process{done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.PID = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // how it ended is in ProcessState
		p.state = cmd.ProcessState
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Run runs cmd to its end and fails when it does not succeed; it is killed with its descendants when ctx ends first.
func Run(ctx context.Context, cmd *exec.Cmd) error { return run(ctx, cmd, Kill) }

// RunGently is Run for a program that must not be killed if it can be helped: it is ended as End does.
func RunGently(ctx context.Context, cmd *exec.Cmd) error { return run(ctx, cmd, End) }

func run(ctx context.Context, cmd *exec.Cmd, end func(pid int) error) error {
	p, err := Start(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		err := end(p.PID)
		<-p.done
		return errors.Join(ctx.Err(), err)
	}
	if !p.state.Success() {
		return fmt.Errorf("%s: %v", cmd.Path, p.state)
	}
	return nil
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// State tells how it ended; nil before Done.
func (p *Process) State() *os.ProcessState {
	if p.Alive() {
		return nil
	}
	return p.state
}

// Alive tells whether it has not ended.
func (p *Process) Alive() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Stop asks the process to end, with a signal, and returns when it has. One that does not end in time is killed, which
// is an error.
func (p *Process) Stop(ask syscall.Signal, limit time.Duration) error {
	if !p.Alive() {
		return nil
	}
	if err := syscall.Kill(p.PID, ask); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(limit):
		return errors.Join(fmt.Errorf("killed, because it had not ended after %s", limit), p.Kill())
	}
}

// Kill ends the process and its descendants at once.
func (p *Process) Kill() error {
	if !p.Alive() {
		return nil
	}
	if err := Kill(p.PID); err != nil {
		return err
	}
	<-p.done
	return nil
}
