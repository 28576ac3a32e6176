package sandbox

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// sweep ends the servers and removes the folders that processes which are no more have left in parent and in the system's
// folder for temporary files. What belongs to another user is left to that user, and what cannot be removed is told but
// is no reason not to start a server.
func (s *Server) sweep(parent string) {
	places := []string{parent}
	if parent != os.TempDir() {
		places = append(places, os.TempDir())
	}
	for _, place := range places {
		locks, _ := filepath.Glob(filepath.Join(place, directoryPrefix+"*", lockName)) // only a bad pattern is an error
		for _, lock := range locks {
			path := filepath.Dir(lock)
			removed, err := sweepOne(path)
			switch {
			case err != nil:
				s.say("left %s of an earlier run, because: %v", path, err)
			case removed:
				s.say("removed %s, left by a run that was killed", path)
			}
		}
	}
}

func sweepOne(path string) (removed bool, err error) {
	lock, err := openLock(filepath.Join(path, lockName))
	if lock == nil {
		return false, err
	}
	d := &directory{path: path, lock: lock}
	text, err := os.ReadFile(filepath.Join(path, recordName))
	if err == nil {
		err = json.Unmarshal(text, &d.ownership)
	}
	if err != nil {
		return false, errors.Join(err, d.release())
	}
	if err := d.endServer(); err != nil {
		return false, errors.Join(err, d.release())
	}
	if d.Keep {
		return false, d.release()
	}
	return true, d.remove()
}

// openLock returns nil without an error for a folder that is in use, gone, or another user's.
func openLock(path string) (*os.File, error) {
	// Only what is our own may say which process to kill: anyone can make a folder in /tmp.
	for _, own := range []string{filepath.Dir(path), path} {
		if info, err := os.Lstat(own); err != nil || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
			return nil, nil
		}
	}
	lock, err := tryLock(path)
	if errors.Is(err, errLocked) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return lock, err
}

// endServer kills the recorded process, if it is still that one, and clears what it leaves outside its folder.
func (d *directory) endServer() error {
	table, err := processTable()
	if err != nil {
		return err
	}
	if d.PID != 0 && table.runs(d.PID, d.Started) {
		if err := killTree(d.PID); err != nil {
			return err
		}
	}
	engine, err := find(d.Kind)
	if err != nil {
		return nil // without the engine's programs there is nothing that could clear it
	}
	return engine.clear(d.path)
}
