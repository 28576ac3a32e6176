package view

import (
	"io"
	"strings"

	"godwit/internal/task"
)

// List writes migrations as a table, in the given order.
func List(w io.Writer, migrations []task.Status, style Style) error {
	if len(migrations) == 0 {
		_, err := io.WriteString(w, "no migrations\n")
		return err
	}
	g := newGrid("ID", "STATE", "PHASE", "DONE", "TARGET", "NAME", "STARTED", "TOOK").right(4)
	for _, m := range migrations {
		state := style.State(m.State)
		if m.Queue != nil {
			state += " " + placeOf(*m.Queue)
		}
		if m.Attention {
			state += style.paint(red, " !")
		}
		started := ""
		if m.StartedAt != nil {
			started = style.moment(*m.StartedAt)
		}
		g.row(m.ID, state, string(m.Phase), strings.TrimSpace(percent(m.Progress.Percent)), m.Target, m.Name, started, style.between(m.StartedAt, m.EndedAt))
	}
	_, err := io.WriteString(w, g.String(""))
	return err
}
