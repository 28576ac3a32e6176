package sandbox

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

// process is a child of this one that does not outlive it, where the system can see to that.
type process struct {
	pid   int
	done  chan struct{}    // closed when it has ended and been waited for
	state *os.ProcessState // valid when done is closed
}

// launch starts cmd in a process group of its own, so that Ctrl-C in a terminal reaches its starter alone, which then
// stops it in order. death is the signal it gets when its starter dies.
//
// Linux sends that signal when the *thread* that started the child ends, so that thread must last as long as the child:
// it is locked to a goroutine that waits for it.
func launch(cmd *exec.Cmd, death syscall.Signal) (*process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	dieWithStarter(cmd.SysProcAttr, death)
	p := &process{done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
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

// complete runs cmd to its end and fails when it does not succeed; it is killed when ctx ends first.
func complete(ctx context.Context, cmd *exec.Cmd) error {
	p, err := launch(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		err := killTree(p.pid)
		<-p.done
		return errors.Join(ctx.Err(), err)
	}
	if !p.state.Success() {
		return fmt.Errorf("%s: %v", cmd.Path, p.state)
	}
	return nil
}

// alive is false for the process of a server that was never started, too.
func (p *process) alive() bool {
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

func (p *process) signal(signal syscall.Signal) error {
	if err := syscall.Kill(p.pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

const killLimit = 10 * time.Second

// killTree kills a process and its descendants and waits until all have ended. The parent is stopped first, so that it
// starts no more of them meanwhile; PostgreSQL puts each of its processes into a group of its own, which is why one
// signal to the group does not do.
func killTree(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		if errors.Is(err, syscall.ESRCH) {
			return nil
		}
		return err
	}
	table, err := processTable()
	if err != nil {
		return errors.Join(err, syscall.Kill(pid, syscall.SIGKILL))
	}
	family := append(table.descendants(pid), pid)
	for _, member := range family {
		if err := syscall.Kill(member, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return awaitEnd(family, table)
}

// awaitEnd waits until none of the processes, as they are in before, runs any more.
func awaitEnd(pids []int, before processes) error {
	for deadline := time.Now().Add(killLimit); ; time.Sleep(5 * time.Millisecond) {
		now, err := processTable()
		if err != nil {
			return err
		}
		left := 0
		for _, pid := range pids {
			if now.runs(pid, before[pid].started) {
				left++
			}
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d killed processes have not ended after %s", left, killLimit)
		}
	}
}

// processes is the system's process table by process id.
type processes map[int]processEntry

type processEntry struct {
	parent  int
	ended   bool   // a zombie: over, but not waited for by its parent
	started string // when; with the process id it names a process for good, since ids are used again
}

func (t processes) runs(pid int, started string) bool {
	entry, ok := t[pid]
	return ok && !entry.ended && entry.started == started
}

func (t processes) descendants(pid int) []int {
	var found []int
	for child, entry := range t {
		if entry.parent == pid {
			found = append(append(found, child), t.descendants(child)...)
		}
	}
	return found
}
