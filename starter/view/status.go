package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"godwit/internal/task"
)

// labelWidth is the width of the column of labels in a status.
const labelWidth = 10

// Status writes all of a migration's status.
func Status(w io.Writer, st task.Status, style Style) error {
	p := page{style: style}
	p.title(st)
	p.line("progress", Progress(st))
	p.line("shards", shards(st.Shards))
	p.line("waits for", waitsFor(st))
	if !st.State.Final() {
		p.line("throttle", throttle(st.Throttle, style))
	}
	p.line("held", held(st.Throttle.Held))
	p.line("changes", changes(st.Changelog))
	p.phases(st.Steps)
	p.running(st.Running)
	p.guards(st.Throttle.Guards)
	p.failures(withoutFinal(st))
	p.problem(st)
	p.verified(st.Verified)
	p.kept(st)
	p.gap()
	p.times(st)
	p.line("you can", strings.Join(st.Can, " · "))
	p.line("web ui", st.URL)
	_, err := io.WriteString(w, p.String())
	return err
}

// page is a status on its way to become text.
type page struct {
	strings.Builder
	style Style
}

func (p *page) gap() { p.WriteByte('\n') }

// line writes a label and what it labels; nothing when there is nothing.
func (p *page) line(label, value string) {
	if value == "" {
		return
	}
	value = strings.ReplaceAll(value, "\n", "\n"+strings.Repeat(" ", labelWidth))
	fmt.Fprintf(p, "%s%s\n", p.style.paint(faint, text.Pad(label, labelWidth, ' ')), value)
}

func (p *page) heading(title string) {
	p.gap()
	fmt.Fprintln(p, p.style.paint(bold, title))
}

func (p *page) title(st task.Status) {
	attention := ""
	if st.Attention {
		attention = p.style.paint(red, "  needs attention")
	}
	state := p.style.State(st.State)
	if done := st.State == task.Success && st.EndedAt != nil; st.Phase != "" && !done {
		state += " in " + string(st.Phase)
	}
	p.line(string(st.Kind), p.style.paint(bold, st.Name))
	p.line("id", st.ID)
	p.line("state", state+attention)
}

// waitsFor is what a migration waits for, unless something else on the page
// says it: the remedy, or until when something is kept.
func waitsFor(st task.Status) string {
	if st.State.Resumable() || st.State == task.Success && st.Error == nil {
		return ""
	}
	return st.WaitingFor
}

// Progress is how far a migration is, on one line.
func Progress(st task.Status) string {
	parts := []string{Bar(st.Progress.Percent, 25) + " " + strings.TrimSpace(percent(st.Progress.Percent))}
	if counted := rowsOf(st.Progress.RowsDone, st.Progress.RowsTotal); counted != "" {
		parts = append(parts, counted)
	}
	if !st.State.Final() && st.Progress.RowsPerSecond > 0 {
		parts = append(parts, rate(st.Progress.RowsPerSecond))
	}
	if left := eta(st.Progress.ETASeconds); left != "" && !st.State.Final() && st.State != task.Paused && st.Progress.Percent > 0 {
		parts = append(parts, left)
	}
	return strings.Join(parts, "   ")
}

func rowsOf(done, total int64) string {
	switch {
	case total > 0:
		return rows(done) + " of " + rows(total) + " rows"
	case done > 0:
		return plural(done, "row")
	}
	return ""
}

func shards(c task.ShardCounts) string {
	if c.Total == 0 {
		return ""
	}
	parts := []string{fmt.Sprintf("%s of %s done", rows(int64(c.Done)), rows(int64(c.Total)))}
	for _, part := range []struct {
		count int
		word  string
	}{{c.Running, "running"}, {c.Retrying, "waiting for another try"}, {c.Failed, "failed"}} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", rows(int64(part.count)), part.word))
		}
	}
	return strings.Join(parts, ", ")
}

func throttle(t task.ThrottleStatus, style Style) string {
	var parts []string
	if t.Holding {
		since := ""
		if t.Since != nil {
			since = ", for " + style.between(t.Since, nil)
		}
		parts = append(parts, "holds: "+t.Reason+since)
	}
	if t.RowsPerSecond > 0 {
		parts = append(parts, "at most "+rate(float64(t.RowsPerSecond)))
	}
	if t.BytesPerSecond > 0 {
		parts = append(parts, "at most "+size(t.BytesPerSecond)+"/s")
	}
	if t.Parallel > 0 {
		parts = append(parts, plural(int64(t.Parallel), "shard")+" at once")
	}
	return strings.Join(parts, ", ")
}

// changes are those that are noted and still to be applied; empty for none.
func changes(c task.ChangelogStatus) string {
	if c.Pending == 0 {
		return ""
	}
	age := ""
	if c.AgeSeconds > 0 {
		age = ", the oldest " + Duration(time.Duration(c.AgeSeconds*float64(time.Second))) + " old"
	}
	return plural(c.Pending, "noted change") + " still to be applied" + age
}

// held is how long what has held a migration back.
func held(times []task.HeldTime) string {
	parts := make([]string, len(times))
	for i, h := range times {
		parts[i] = fmt.Sprintf("%s %s (%s)", h.Guard, Duration(time.Duration(h.Seconds*float64(time.Second))), plural(int64(h.Times), "time"))
	}
	return strings.Join(parts, ", ")
}

// guards writes what the guards of a migration at work read last.
func (p *page) guards(guards []task.GuardStatus) {
	if len(guards) == 0 {
		return
	}
	p.heading("guards")
	g := newGrid()
	for _, guard := range guards {
		mark := p.style.paint(green, "go")
		if guard.Holding {
			mark = p.style.paint(yellow, "holds")
		}
		g.row(guard.Guard, mark, guard.Reading, "limit "+guard.Limit)
	}
	p.WriteString(g.String(margin))
}

func (p *page) times(st task.Status) {
	if st.StartedAt == nil {
		return
	}
	line := p.style.moment(*st.StartedAt)
	if st.EndedAt != nil {
		line += ", ended " + p.style.moment(*st.EndedAt) + ", took " + p.style.between(st.StartedAt, st.EndedAt)
	} else {
		line += ", " + p.style.between(st.StartedAt, nil) + " ago"
	}
	p.line("started", line)
}

func (p *page) kept(st task.Status) {
	if len(st.Kept) == 0 {
		return
	}
	until := ""
	if st.KeptUntil != nil {
		until = fmt.Sprintf(" until %s (%s from now)", p.style.moment(*st.KeptUntil), Duration(max(time.Duration(0), st.KeptUntil.Sub(p.style.Now))))
	}
	p.heading("kept for a rollback" + until)
	for _, item := range st.Kept {
		fmt.Fprintf(p, "%s%s, %s, as %s\n", margin, item.What, size(item.Bytes), item.Where)
		fmt.Fprintln(p, indented(p.style.paint(faint, "to restore by hand: "+item.Restore), margin+margin))
	}
}
