package process

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

const (
	endLimit    = 5 * time.Second
	freezeLimit = time.Second
	killLimit   = 10 * time.Second
	lookEach    = 5 * time.Millisecond
)

// End asks a process to end and waits until those that it has started have ended, too. Only what does not end in time is
// killed.
func End(pid int) error {
	f := &family{head: pid}
	if _, err := f.look(); err != nil {
		return errors.Join(err, Kill(pid))
	}
	if err := send(pid, syscall.SIGTERM); err != nil {
		return err
	}
	if f.awaitEnd(endLimit) == nil {
		return nil
	}
	return f.kill()
}

// Kill kills a process and its descendants and waits until all have ended. All are stopped first, so that they start no
// more of them meanwhile; PostgreSQL puts each of its processes into a group of its own, which is why one signal to the
// group does not do.
func Kill(pid int) error {
	f := &family{head: pid}
	return f.kill()
}

// family is a process with all that has come from it as far as can be seen: its descendants, and the members of the
// process group that it leads. A child whose parent has ended is nobody's descendant any more, but still in the group.
type family struct {
	head    int
	leads   bool           // a process group
	members map[int]string // when they started by process id
}

// look finds those of the family that run now, also new ones.
func (f *family) look() (Table, error) {
	now, err := List()
	if err != nil {
		return nil, err
	}
	if f.members == nil {
		f.members = map[int]string{}
		f.meet(now, f.head)
		f.leads = now[f.head].Group == f.head
	}
	running := Table{}
	for pid, entry := range now {
		if f.leads && entry.Group == f.head {
			f.meet(now, pid)
		}
	}
	for pid, started := range f.members {
		if now.Runs(pid, started) {
			for _, child := range now.descendants(pid) {
				f.meet(now, child)
			}
		}
	}
	for pid, started := range f.members {
		if now.Runs(pid, started) {
			running[pid] = now[pid]
		}
	}
	return running, nil
}

func (f *family) meet(now Table, pid int) {
	if entry, there := now[pid]; there {
		f.members[pid] = entry.Started
	}
}

// kill ends all of the family at once.
func (f *family) kill() error {
	running, err := f.freeze()
	if err != nil {
		return errors.Join(err, send(f.head, syscall.SIGKILL))
	}
	for pid := range running {
		if err := send(pid, syscall.SIGKILL); err != nil {
			return err
		}
	}
	return f.awaitEnd(killLimit)
}

// freeze stops all of the family, and returns them when none is at work. What cannot be stopped soon, since the system
// is at work for it, is not waited for.
func (f *family) freeze() (Table, error) {
	for deadline := time.Now().Add(freezeLimit); ; time.Sleep(time.Millisecond) {
		running, err := f.look()
		if err != nil {
			return nil, err
		}
		atWork := 0
		for pid, entry := range running {
			if entry.Stopped {
				continue
			}
			atWork++
			if err := send(pid, syscall.SIGSTOP); err != nil {
				return nil, err
			}
		}
		if atWork == 0 || time.Now().After(deadline) {
			return running, nil
		}
	}
}

// awaitEnd waits until none of the family runs any more. It has to see that twice: while the table is read, one that
// has been read over can be started by one that has ended when it is read.
func (f *family) awaitEnd(limit time.Duration) error {
	seen := 0
	for deadline := time.Now().Add(limit); ; time.Sleep(lookEach) {
		running, err := f.look()
		if err != nil {
			return err
		}
		if len(running) > 0 {
			seen = 0
		} else if seen++; seen == 2 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes have not ended after %s", len(running), limit)
		}
	}
}

// send sends a signal to a process, which may have ended.
func send(pid int, signal syscall.Signal) error {
	if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
