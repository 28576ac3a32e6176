//go:build unix && !linux

package process

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// dieWithStarter does nothing: only Linux can.
func dieWithStarter(*syscall.SysProcAttr, syscall.Signal) {}

// List asks ps.
func List() (Table, error) {
	output, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,pgid=,stat=,lstart=").Output()
	if err != nil {
		return nil, fmt.Errorf("list processes with ps: %w", err)
	}
	table := Table{}
	for line := range strings.Lines(string(output)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		pid, err := strconv.Atoi(fields[0])
		if err != nil {
			return nil, err
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, err
		}
		group, err := strconv.Atoi(fields[2])
		if err != nil {
			return nil, err
		}
		table[pid] = Entry{
			Parent: parent, Group: group, Started: strings.Join(fields[4:], " "),
			Ended: strings.HasPrefix(fields[3], "Z"), Stopped: strings.HasPrefix(fields[3], "T"),
		}
	}
	return table, nil
}
