// Package scratch makes temporary folders that do not stay behind when the process that made them is killed: the next one
// finds them.
//
// It promises that a folder is known to be abandoned if and only if its maker is no more: it holds a lock, which the system
// lets go when its holder dies in whatever way. Unlike a process id, a lock is never used again and means the same in
// every container that sees the folder. Only folders of the same user are looked at, for anyone can make a folder in /tmp.
//
// What lies in a folder, and what is to be done about an abandoned one besides removing it, is left to its maker.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const lockName = "owner.lock"

// Folder is a temporary folder whose lock this process holds.
type Folder struct {
	Path string
	lock *os.File
}

// Make makes a folder in parent, which is made if need be, whose name begins with the prefix. Others may enter it but not
// look. What fill writes into it is there before anybody can take the folder for abandoned; fill may be nil.
func Make(parent, prefix string, fill func(f *Folder) error) (_ *Folder, err error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	if parent, err = filepath.Abs(parent); err != nil {
		return nil, err
	}
	f := &Folder{}
	if f.Path, err = os.MkdirTemp(parent, prefix); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Remove())
		}
	}()
	if err := os.Chmod(f.Path, 0o711); err != nil {
		return nil, err
	}
	// The lock gets its name when it is held: nobody ever sees it unlocked while its owner lives.
	pending := filepath.Join(f.Path, "pending.lock")
	if f.lock, err = Lock(pending); err != nil {
		return nil, err
	}
	if fill != nil {
		if err := fill(f); err != nil {
			return nil, err
		}
	}
	return f, os.Rename(pending, filepath.Join(f.Path, lockName))
}

// Remove removes the folder and all that is in it.
func (f *Folder) Remove() error { return errors.Join(os.RemoveAll(f.Path), f.Release()) }

// Release leaves the folder to whoever takes it.
func (f *Folder) Release() error {
	if f.lock == nil {
		return nil
	}
	err := f.lock.Close()
	f.lock = nil
	return err
}

// Candidates are the paths of all folders in parent with the prefix, in use or not.
func Candidates(parent, prefix string) []string {
	locks, _ := filepath.Glob(filepath.Join(parent, prefix+"*", lockName)) // only a bad pattern is an error
	paths := make([]string, len(locks))
	for i, lock := range locks {
		paths[i] = filepath.Dir(lock)
	}
	return paths
}

// Take takes an abandoned folder. It returns nil without an error for a folder that is in use, gone, or another user's.
func Take(path string) (*Folder, error) {
	name := filepath.Join(path, lockName)
	for _, own := range []string{path, name} {
		if info, err := os.Lstat(own); err != nil || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
			return nil, nil
		}
	}
	lock, err := Lock(name)
	if errors.Is(err, ErrLocked) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &Folder{Path: path, lock: lock}, nil
}

// ErrLocked says that somebody holds a lock, be it in this process.
var ErrLocked = errors.New("locked")

// Lock makes the file if need be and locks it until it is closed; ErrLocked when it is locked already.
func Lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return file, nil
}
