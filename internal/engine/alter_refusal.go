package engine

import (
	"strings"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// NotDirect is the fault of an ALTER that the server cannot do without keeping
// the application out, or copying the table.
func NotDirect(table Name, why []string) error {
	return fault.About(table.String(), task.Config, "%s cannot be altered directly: %s. An online copy of the table is not supported by this version yet", table, strings.Join(why, "; "))
}
