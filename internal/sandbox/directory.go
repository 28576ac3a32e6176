package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	directoryPrefix = "godwit-sandbox-"
	lockName        = "owner.lock"
	recordName      = "sandbox.json"
)

// directory is a server's folder, owned by the process that holds its lock. A lock is let go by the system when its
// holder dies in whatever way, so that owner.lock unlocked means an owner that is no more: unlike a process id it is
// never used again and means the same in every container that sees the folder.
type directory struct {
	path string
	lock *os.File
	ownership
}

// ownership is the record in sandbox.json: whose folder it is and which process to end when its owner is dead.
type ownership struct {
	Kind    Kind   `json:"kind"`
	Keep    bool   `json:"keep"`
	PID     int    `json:"pid,omitempty"`
	Started string `json:"started,omitempty"`
}

// claimDirectory makes the folder of a new server. Others may enter it but not look: servers may run as another user.
func claimDirectory(parent string, kind Kind, keep bool) (_ *directory, err error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	if parent, err = filepath.Abs(parent); err != nil {
		return nil, err
	}
	d := &directory{ownership: ownership{Kind: kind, Keep: keep}}
	if d.path, err = os.MkdirTemp(parent, directoryPrefix+string(kind)+"-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.remove())
		}
	}()
	if err := os.Chmod(d.path, 0o711); err != nil {
		return nil, err
	}
	// The lock gets its name when it is held: no sweeper ever sees owner.lock unlocked while its owner lives.
	pending := filepath.Join(d.path, "pending.lock")
	if d.lock, err = tryLock(pending); err != nil {
		return nil, err
	}
	if err := d.record(0); err != nil {
		return nil, err
	}
	return d, os.Rename(pending, filepath.Join(d.path, lockName))
}

// record notes the server's process, or none with 0.
func (d *directory) record(pid int) error {
	d.PID, d.Started = pid, ""
	if pid != 0 {
		table, err := processTable()
		if err != nil {
			return err
		}
		d.Started = table[pid].started
	}
	text, err := json.Marshal(d.ownership)
	if err != nil {
		return err
	}
	fresh := filepath.Join(d.path, recordName+".new")
	if err := os.WriteFile(fresh, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Join(d.path, recordName))
}

func (d *directory) remove() error {
	return errors.Join(os.RemoveAll(d.path), d.release())
}

func (d *directory) release() error {
	if d.lock == nil {
		return nil
	}
	err := d.lock.Close()
	d.lock = nil
	return err
}

// errLocked says that another process, or another server of this one, holds a lock.
var errLocked = errors.New("locked")

// tryLock makes the file if need be and locks it until it is closed.
func tryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return file, nil
}
