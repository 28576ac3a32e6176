package view

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"godwit/internal/task"
)

// EventStyle says what of an event is shown.
type EventStyle struct {
	Style
	Stack bool // with the stack of an error
}

// Event is one event: a line, and further ones for an error.
func Event(e task.Event, style EventStyle) string {
	parts := []string{
		fmt.Sprintf("%5d", e.No),
		e.At.In(style.Now.Location()).Format("2006-01-02 15:04:05.000"),
		text.Pad(string(e.Phase), 9, ' '),
		text.Pad(e.What, 18, ' '),
	}
	work := Work(task.Heartbeat{Table: e.Table, Shard: e.Shard})
	if work != "" && (e.Table == "" || !strings.HasPrefix(e.Detail, e.Table)) {
		parts = append(parts, work)
	}
	if e.Attempt > 1 {
		parts = append(parts, fmt.Sprintf("try %d", e.Attempt))
	}
	if e.Duration > 0 {
		parts = append(parts, Duration(e.Duration))
	}
	// What an error says is said once, below.
	if e.Detail != "" && (e.Error == nil || e.Detail != e.Error.Message) {
		parts = append(parts, e.Detail)
	}
	line := strings.TrimRight(strings.Join(parts, "  "), " ")
	if e.Error != nil {
		line += "\n" + indented(style.paint(red, fmt.Sprintf("%s: %s", e.Error.Class, e.Error.Message)), strings.Repeat(" ", 7))
	}
	if style.Stack && e.Stack != "" {
		line += "\n" + indented(style.paint(faint, e.Stack), strings.Repeat(" ", 7))
	}
	return line
}
