package live

import (
	"fmt"
	"time"

	"godwit/internal/task"
	"godwit/starter/printer"
	"godwit/starter/view"
)

// Lines shows a migration as lines, for logs and pipes: one for everything
// that changes, and one every now and then in between. For programs it prints
// the whole status as JSON at the same moments.
type Lines struct {
	print *printer.Printer
	every time.Duration
	style view.Style

	last     task.Status
	lastTime time.Time
	failures map[string]bool
}

// NewLines makes a screen of lines; every is the longest time without one.
func NewLines(p *printer.Printer, style view.Style, every time.Duration) *Lines {
	return &Lines{print: p, style: style, every: every, failures: map[string]bool{}}
}

// Show prints what has changed since the last time.
func (l *Lines) Show(st task.Status, now time.Time) error {
	changed := st.State != l.last.State || st.Phase != l.last.Phase || st.WaitingFor != l.last.WaitingFor
	for _, failure := range st.Failures {
		if text := view.Failure(failure); !l.failures[text] {
			l.failures[text] = true
			changed = true
		}
	}
	if !changed && now.Sub(l.lastTime) < l.every {
		return nil
	}
	l.last, l.lastTime = st, now
	return l.print.Line(st, fmt.Sprintf("%s  %s", now.In(l.style.Now.Location()).Format(time.TimeOnly), view.Line(st, l.style)))
}

// Note says something that is not about the migration.
func (l *Lines) Note(text string) { l.print.Note("%s", text) }

// Close has nothing to clear.
func (l *Lines) Close() {}
