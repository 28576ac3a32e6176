package process

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

func dieWithStarter(attributes *syscall.SysProcAttr, death syscall.Signal) {
	attributes.Pdeathsig = death
}

// List reads /proc, because a small container has no ps.
func List() (Table, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	table := Table{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue // it has ended since the directory was read
		}
		// The second field is the command's name in brackets, which may hold anything; see proc(5) for the others.
		const state, parent, group, started = 0, 1, 2, 19
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		ppid, err := strconv.Atoi(string(fields[parent]))
		if err != nil {
			return nil, err
		}
		pgid, err := strconv.Atoi(string(fields[group]))
		if err != nil {
			return nil, err
		}
		table[pid] = Entry{
			Parent: ppid, Group: pgid, Started: string(fields[started]),
			Ended: bytes.ContainsAny(fields[state], "ZX"), Stopped: bytes.ContainsAny(fields[state], "Tt"),
		}
	}
	return table, nil
}
