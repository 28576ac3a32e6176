package sandbox

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"godwit/internal/process"
	"godwit/internal/scratch"
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
		for _, path := range scratch.Candidates(place, directoryPrefix) {
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
	folder, err := scratch.Take(path)
	if folder == nil {
		return false, err
	}
	d := &directory{Folder: folder}
	text, err := os.ReadFile(filepath.Join(path, recordName))
	if err == nil {
		err = json.Unmarshal(text, &d.ownership)
	}
	if err != nil {
		return false, errors.Join(err, d.Release())
	}
	if err := d.endServer(); err != nil {
		return false, errors.Join(err, d.Release())
	}
	if d.Keep {
		return false, d.Release()
	}
	return true, d.Remove()
}

// endServer kills the recorded process, if it is still that one, and clears what it leaves outside its folder.
func (d *directory) endServer() error {
	table, err := process.List()
	if err != nil {
		return err
	}
	if d.PID != 0 && table.Runs(d.PID, d.Started) {
		if err := process.Kill(d.PID); err != nil {
			return err
		}
	}
	engine, err := find(d.Kind)
	if err != nil {
		return nil // without the engine's programs there is nothing that could clear it
	}
	return engine.clear(d.Path)
}
