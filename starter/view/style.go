// Package view is how things look as text: a migration's status, lists, plans
// and events, aligned for people and kept short.
//
// It promises to write the same text for the same value and style, so that
// every view can be tested by a golden file. Rows are grouped by thousands,
// bytes are binary (KiB, MiB), durations are as long as they need to be, and
// times are in the style's zone.
package view

import (
	"time"

	"godwit/internal/task"
)

// Style is what a view depends on besides the value.
type Style struct {
	Color bool
	Now   time.Time // its location is the zone in which times are shown
}

const (
	reset  = "\x1b[0m"
	bold   = "\x1b[1m"
	faint  = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	blue   = "\x1b[34m"
)

func (s Style) paint(color, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return color + text + reset
}

// State is a state in the color of what it means.
func (s Style) State(state task.State) string {
	return s.paint(stateColor(state), string(state))
}

func stateColor(state task.State) string {
	switch state {
	case task.Running:
		return blue
	case task.Success:
		return green
	case task.Retrying, task.Paused, task.Cancelled, task.RolledBack:
		return yellow
	case task.Failed, task.TimedOut:
		return red
	}
	return faint
}
