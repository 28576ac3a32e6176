package process

// Table is the system's process table by process id.
type Table map[int]Entry

// Entry is what the table says of a process.
type Entry struct {
	Parent  int
	Group   int    // process group
	Ended   bool   // a zombie: over, but not waited for by its parent
	Stopped bool   // it does nothing until it is told to go on
	Started string // when; with the process id it names a process for good, since ids are used again
}

// Runs tells whether the process of this id that started then still runs.
func (t Table) Runs(pid int, started string) bool {
	entry, ok := t[pid]
	return ok && !entry.Ended && entry.Started == started
}

func (t Table) descendants(pid int) []int {
	var found []int
	for child, entry := range t {
		if entry.Parent == pid {
			found = append(append(found, child), t.descendants(child)...)
		}
	}
	return found
}
