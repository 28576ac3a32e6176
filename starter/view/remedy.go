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
	if st.Kind == task.Pipeline && slices.Contains(st.Can, task.SkipUpdate) {
		lines = append(lines, fmt.Sprintf("  godwit %s %s STEP   undoes what the step has begun, and goes on with the next", text.Pad(task.SkipUpdate, 8, ' '), st.ID))
	}
	for _, way := range []struct{ verb, effect string }{
		{task.RetryUpdate, "goes on and does only what is missing"},
		{task.RollbackUpdate, "undoes it"},
	} {
		// Without a worker nobody knows what can be done, and both are worth a try.
		if st.Can == nil || slices.Contains(st.Can, way.verb) {
			lines = append(lines, fmt.Sprintf("  godwit %s %s   %s", text.Pad(way.verb, 8, ' '), st.ID, way.effect))
		}
	}
	return strings.Join(lines, "\n")
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
