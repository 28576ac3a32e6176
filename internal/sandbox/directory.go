package sandbox

import (
	"encoding/json"
	"os"
	"path/filepath"

	"godwit/internal/process"
	"godwit/internal/scratch"
)

const (
	directoryPrefix = "godwit-sandbox-"
	recordName      = "sandbox.json"
)

// directory is a server's folder, with a record in it.
type directory struct {
	*scratch.Folder
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
func claimDirectory(parent string, kind Kind, keep bool) (*directory, error) {
	d := &directory{ownership: ownership{Kind: kind, Keep: keep}}
	folder, err := scratch.Make(parent, directoryPrefix+string(kind)+"-", func(f *scratch.Folder) error {
		d.Folder = f
		return d.record(0)
	})
	if err != nil {
		return nil, err
	}
	d.Folder = folder
	return d, nil
}

// record notes the server's process, or none with 0.
func (d *directory) record(pid int) error {
	d.PID, d.Started = pid, ""
	if pid != 0 {
		table, err := process.List()
		if err != nil {
			return err
		}
		d.Started = table[pid].Started
	}
	text, err := json.Marshal(d.ownership)
	if err != nil {
		return err
	}
	fresh := filepath.Join(d.Path, recordName+".new")
	if err := os.WriteFile(fresh, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Join(d.Path, recordName))
}
