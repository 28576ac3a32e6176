package view

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"godwit/internal/task"
)

// Line is how a migration stands on one line, for logs.
func Line(st task.Status, style Style) string {
	parts := []string{style.State(st.State) + " in " + string(st.Phase), strings.TrimSpace(percent(st.Progress.Percent))}
	parts = append(parts, counted(st)...)
	parts = append(parts, Troubles(st, style)...)
	return strings.Join(parts, "  ")
}

// Title is what a migration is and how it stands.
func Title(st task.Status, style Style) string {
	return fmt.Sprintf("%s %s  %s in %s  %s", st.Kind, style.paint(bold, st.Name), style.State(st.State), st.Phase, style.between(st.StartedAt, st.EndedAt))
}

// Overall is the bar of the whole migration.
func Overall(st task.Status, width int) string {
	parts := append([]string{Bar(st.Progress.Percent, width) + " " + percent(st.Progress.Percent)}, counted(st)...)
	return strings.Join(parts, "   ")
}

// counted are the numbers of the current phase: rows, rate, rest, shards.
func counted(st task.Status) []string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	add(rowsOf(st.Progress.RowsDone, st.Progress.RowsTotal))
	if moving(st) {
		if st.Progress.RowsPerSecond > 0 {
			add(rate(st.Progress.RowsPerSecond))
		}
		add(eta(st.Progress.ETASeconds))
	}
	if st.Changelog.Pending > 0 {
		add(plural(st.Changelog.Pending, "noted change"))
	}
	if st.Shards.Total > 0 {
		add(fmt.Sprintf("%d/%d shards", st.Shards.Done, st.Shards.Total))
	}
	return parts
}

// moving reports whether a rate and a remaining time mean anything.
func moving(st task.Status) bool {
	return !st.State.Final() && st.State != task.Paused && st.Shards.Running > 0
}

// Strip is the phases side by side, with how long each took.
func Strip(st task.Status, style Style) string {
	parts := make([]string, 0, len(st.Steps))
	for _, step := range st.Steps {
		took := style.between(step.StartedAt, step.EndedAt)
		switch {
		case step.StartedAt == nil:
			parts = append(parts, style.paint(faint, "· "+step.Name))
		case step.EndedAt == nil:
			parts = append(parts, style.paint(bold, "▸ "+step.Name+" "+took))
		case step.State == task.Success:
			parts = append(parts, style.paint(green, "✓")+" "+step.Name+" "+took)
		default:
			parts = append(parts, style.paint(stateColor(step.State), "✗ "+step.Name+" "+took))
		}
	}
	return strings.Join(parts, "  ")
}

// Shard is one activity at work as a bar, its name padded to a width.
func Shard(beat task.Heartbeat, nameWidth int) string {
	done := beat.Percent
	if done == 0 && beat.RowsTotal > 0 {
		done = 100 * float64(beat.Rows) / float64(beat.RowsTotal)
	}
	parts := []string{margin + text.Pad(Work(beat), nameWidth, ' ')}
	if beat.Shard > 0 {
		parts = append(parts, Bar(done, 15)+" "+percent(done))
	}
	for _, part := range []string{worked(beat), Remark(beat)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "  ")
}

// Troubles are what keeps a migration from going on as fast as it could, a
// line each: waits, holds, failed tries.
func Troubles(st task.Status, style Style) []string {
	var lines []string
	if waits := waitsFor(st); waits != "" {
		lines = append(lines, style.paint(yellow, "waits for "+waits))
	}
	if st.Throttle.Holding {
		lines = append(lines, style.paint(yellow, "throttle holds: "+st.Throttle.Reason))
	}
	for i, failure := range st.Failures {
		if i == 3 {
			lines = append(lines, fmt.Sprintf("and %d more failed tries", len(st.Failures)-i))
			break
		}
		lines = append(lines, style.paint(red, Failure(failure)))
	}
	return lines
}
