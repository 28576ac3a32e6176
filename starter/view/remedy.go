package view

import (
	"fmt"

	"godwit/internal/task"
)

// Remedy says what can be done about a migration that ended with an error.
func Remedy(st task.Status) string {
	if st.Error == nil || !st.State.Resumable() {
		return ""
	}
	again := fmt.Sprintf("`godwit retry %s` goes on and does only what is missing; `godwit rollback %s` undoes it", st.ID, st.ID)
	switch st.Error.Class {
	case task.Data:
		return "mend the value or what refuses it; then " + again
	case task.Config:
		return "mend what it names; then " + again
	case task.Mismatch:
		return fmt.Sprintf("`godwit events %s` lists the rows; mend them, then ", st.ID) + again
	case task.Timeout:
		return again
	case task.Transient, task.Busy, task.Stopping:
		return "when the cause is gone, " + again
	case task.Human:
		return "decide what it asks; then " + again
	}
	return again
}
