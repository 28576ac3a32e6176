package view

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"godwit/internal/task"
)

// phases writes the phases with their times.
func (p *page) phases(steps []task.PhaseStatus) {
	if len(steps) == 0 {
		return
	}
	if steps[0].Kind != "" {
		p.steps(steps)
		return
	}
	p.heading("phases")
	g := newGrid().right(3)
	for _, step := range steps {
		detail := step.Detail
		if step.Attempts > 1 {
			detail = strings.TrimPrefix(detail+fmt.Sprintf(", try %d", step.Attempts), ", ")
		}
		g.row(step.Name, p.style.State(step.State), p.style.between(step.StartedAt, step.EndedAt), detail)
	}
	p.WriteString(g.String(margin))
}

// running writes what the activities at work say of themselves.
func (p *page) running(beats []task.Heartbeat) {
	if beats = Telling(beats); len(beats) == 0 {
		return
	}
	p.heading("at work")
	g := newGrid().right(2, 4)
	for _, beat := range beats {
		speed := ""
		if beat.RowsPerSecond > 0 {
			speed = rate(beat.RowsPerSecond)
		}
		g.row(Work(beat), worked(beat), Bar(beat.Percent, 10), speed, Remark(beat))
	}
	p.WriteString(g.String(margin))
}

// Telling are the heartbeats that say more than that a phase is at work.
func Telling(beats []task.Heartbeat) []task.Heartbeat {
	return slices.DeleteFunc(slices.Clone(beats), func(beat task.Heartbeat) bool {
		return beat.Shard == 0 && beat.Table == "" && Remark(beat) == ""
	})
}

// numbered is a table with the number of its shard: "shop.orders 3/8".
var numbered = regexp.MustCompile(` \d+/\d+$`)

// Work names what a heartbeat is about: "shop.orders 3/8", or a phase.
func Work(beat task.Heartbeat) string {
	switch {
	case numbered.MatchString(beat.Table):
		return beat.Table
	case beat.Table != "" && beat.Shard > 0:
		return fmt.Sprintf("%s %d", beat.Table, beat.Shard)
	case beat.Shard > 0:
		return fmt.Sprintf("shard %d", beat.Shard)
	case beat.Table != "":
		return beat.Table
	}
	return string(beat.Phase)
}

// worked is how far an activity is: in rows of a shard, in steps of a phase.
func worked(beat task.Heartbeat) string {
	if beat.Shard == 0 && beat.RowsTotal > 0 {
		return fmt.Sprintf("step %d of %d", min(beat.Rows+1, beat.RowsTotal), beat.RowsTotal)
	}
	return rowsOf(beat.Rows, beat.RowsTotal)
}

// Remark is what is unusual about an activity at work: another attempt, a
// throttle that holds it, something that it waits for.
func Remark(beat task.Heartbeat) string {
	var parts []string
	if beat.Attempt > 1 {
		parts = append(parts, fmt.Sprintf("try %d", beat.Attempt))
	}
	if beat.Holding != "" {
		parts = append(parts, "held: "+beat.Holding)
	}
	if beat.WaitingFor != "" {
		parts = append(parts, "waits for "+beat.WaitingFor)
	}
	return strings.Join(parts, ", ")
}

// shownFailures is how many failed shards a status shows; events have all.
const shownFailures = 10

// withoutFinal are the failed tries but for those that the error tells of.
func withoutFinal(st task.Status) []task.Failure {
	if st.Error == nil {
		return st.Failures
	}
	return slices.DeleteFunc(slices.Clone(st.Failures), func(f task.Failure) bool { return strings.Contains(st.Error.Message, f.Message) })
}

func (p *page) failures(failures []task.Failure) {
	if len(failures) == 0 {
		return
	}
	p.heading("failed tries")
	for i, failure := range failures {
		if i == shownFailures {
			fmt.Fprintf(p, "%sand %d more; `godwit events` lists them all\n", margin, len(failures)-i)
			return
		}
		fmt.Fprintln(p, indented(Failure(failure), margin))
	}
}

// problem writes what a migration ended with and what can be done about it.
func (p *page) problem(st task.Status) {
	if st.Error == nil {
		return
	}
	p.heading("error")
	fmt.Fprintln(p, indented(p.style.paint(red, Failure(*st.Error)), margin))
	if remedy := Remedy(st); remedy != "" {
		fmt.Fprintln(p, indented(remedy, margin))
	}
}

// Failure is an error with where it happened, unless it says so itself.
func Failure(f task.Failure) string {
	if f.Table != "" && strings.Contains(f.Message, f.Table) {
		return fmt.Sprintf("%s (%s)", f.Message, f.Class)
	}
	place := ""
	if f.Shard != nil {
		place = fmt.Sprintf("shard %d", *f.Shard)
	}
	if f.Table != "" {
		place = strings.TrimSpace(f.Table + " " + place)
	}
	if place == "" {
		place = string(f.Phase)
	}
	if place != "" {
		place += ": "
	}
	return fmt.Sprintf("%s%s (%s)", place, f.Message, f.Class)
}

func (p *page) verified(v *task.VerifySummary) {
	if v == nil {
		return
	}
	p.heading("verification")
	fmt.Fprintf(p, "%s%s\n", margin, Verified(*v))
	for _, diff := range v.Diffs {
		fmt.Fprintln(p, indented(difference(diff), margin))
	}
}

// Verified is the outcome of a verification.
func Verified(v task.VerifySummary) string {
	if len(v.Checked) > 0 && v.Different == 0 {
		return strings.Join(v.Checked, "; ")
	}
	outcome := "no difference"
	if v.Different > 0 {
		outcome = plural(v.Different, "different row")
	}
	again := ""
	if v.Rechecks > 0 {
		again = fmt.Sprintf(", %s read again", plural(int64(v.Rechecks), "row"))
	}
	return fmt.Sprintf("%s: %s of %s compared by %s%s", outcome, plural(v.Rows, "row"), plural(int64(v.Tables), "table"), v.Mode, again)
}

func difference(d task.Difference) string {
	line := fmt.Sprintf("%s  key %s  %s", d.Table, d.Key, d.What)
	for _, column := range d.Columns {
		line += fmt.Sprintf("\n    %s: source %s, target %s", column.Column, column.Source, column.Target)
	}
	return line
}
