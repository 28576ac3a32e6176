package engine

import (
	"strings"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// NotDirectError says why the server cannot do an ALTER without keeping the
// application out, or copying the table.
type NotDirectError struct {
	Table Name
	Why   []string
}

func (e *NotDirectError) Error() string {
	return e.Table.String() + " cannot be altered directly: " + strings.Join(e.Why, "; ")
}

// NotDirect is the fault of an ALTER that cannot be done directly; a
// NotDirectError is in its chain.
func NotDirect(table Name, why []string) error {
	return fault.About(table.String(), task.Config, "%w; `strategy: auto` makes an online copy of the table instead", &NotDirectError{Table: table, Why: why})
}
