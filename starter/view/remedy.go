package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"godwit/internal/task"
)

// Remedy says what can be done about a migration that ended with an error.
func Remedy(st task.Status) string {
	if st.Error == nil || !st.State.Resumable() {
		return ""
	}
	lines := []string{first(st)}
	for _, way := range ways(st) {
		// Without a worker nobody knows what can be done, and what any migration may
		// know how to do is worth a try.
		if st.Can == nil && way.verb != task.SkipUpdate || slices.Contains(st.Can, way.verb) {
			lines = append(lines, fmt.Sprintf("  godwit %s %s   %s", text.Pad(way.verb, 8, ' '), way.of, way.effect))
		}
	}
	return strings.Join(lines, "\n")
}

// way is something that can be done.
type way struct{ verb, of, effect string }

func ways(st task.Status) []way {
	if st.Kind != task.Pipeline {
		return []way{{task.RetryUpdate, st.ID, "goes on and does only what is missing"}, {task.RollbackUpdate, st.ID, "undoes it"}}
	}
	at := stuck(st)
	if at < 0 {
		return []way{{task.RollbackUpdate, st.ID, "undoes all steps, the last first"}}
	}
	step := st.ID + " " + st.Steps[at].Name
	if st.Steps[at].UndoFailed {
		return []way{{task.RetryUpdate, step, "tries again to undo the step, and goes on"}, {task.SkipUpdate, step, "leaves the step as it is, and goes on"}}
	}
	return []way{{task.RetryUpdate, step, "goes on and does only what is missing"},
		{task.SkipUpdate, step, "undoes what the step has begun, and goes on with the next"},
		{task.RollbackUpdate, st.ID, "undoes all steps, the last first"}}
}

// stuck is the step of a pipeline that an operator has to see to: first of all one whose
// undoing has failed, for which everything else waits; -1 for none.
func stuck(st task.Status) int {
	if at := slices.IndexFunc(st.Steps, func(s task.PhaseStatus) bool { return s.UndoFailed }); at >= 0 {
		return at
	}
	return slices.IndexFunc(st.Steps, func(s task.PhaseStatus) bool { return s.State == task.Failed || s.State == task.TimedOut })
}

// first is what comes before going on.
func first(st task.Status) string {
	switch st.Error.Class {
	case task.Data:
		return "mend the value or what refuses it, then:"
	case task.Config:
		return "mend what it names, then:"
	case task.Mismatch:
		return fmt.Sprintf("`godwit events %s` lists the rows; mend them, then:", st.ID)
	case task.Transient, task.Busy, task.Stopping:
		return "when the cause is gone:"
	case task.Human:
		return "decide, then:"
	}
	return "what can be done now:"
}
