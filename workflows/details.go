package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

const (
	// mostListed is how many shards of a sort the page lists.
	mostListed = 20
	// mostText is the longest message on the page, in bytes.
	mostText = 600
)

// details is the page about the migration in the Web UI: which phase, how far,
// how fast, until when, what it waits for, what failed, and what the operator
// can do now.
func (m *migration) details() string {
	p := &page{}
	m.writeHead(p)
	m.writePhases(p)
	m.writeShards(p)
	m.writeKept(p)
	m.writeVerbs(p)
	if len(m.st.Notes) > 0 {
		p.line("### Notes")
		for _, n := range m.st.Notes {
			p.item("%s — %s", moment(n.At), code(n.Text))
		}
	}
	return p.String()
}

func (m *migration) writeHead(p *page) {
	st := m.st
	title := m.settings.Name
	if title == "" {
		title = m.ref.ID
	}
	p.line("## %s: %s", plain(title), st.State)
	progress := m.progress()
	facts := []string{fmt.Sprintf("phase **%s**", st.Phase), fmt.Sprintf("%.1f %% done", progress.Percent)}
	if progress.RowsTotal > 0 {
		facts = append(facts, fmt.Sprintf("%s of %s rows of this phase", humanize.Comma(progress.RowsDone), humanize.Comma(progress.RowsTotal)))
	}
	if progress.RowsPerSecond > 0 {
		facts = append(facts, humanize.Comma(int64(progress.RowsPerSecond))+" rows/s")
	}
	if progress.ETASeconds > 0 {
		end := workflow.Now(m.life).Add(time.Duration(progress.ETASeconds) * time.Second)
		facts = append(facts, "ends about "+moment(end))
	}
	p.line("%s", strings.Join(facts, " · "))
	if m.doing != "" && m.waits == nil {
		p.line("Now: %s", m.doing)
	}
	if c := m.changelog(); c.Pending > 0 {
		p.line("**Noted changes** still to be applied: %s%s", humanize.Comma(c.Pending), since(c.Oldest))
	}
	if waiting := m.waitingFor(); waiting != "" {
		p.line("**Waits for** %s", plain(oneLine(waiting, mostText)))
	}
	if failure := cmp.Or(st.Error, st.Untended); failure != nil {
		p.line("**%s error:** %s", failure.Class, code(failure.Message))
	}
}

// since tells of the oldest of some changes when it was noted.
func since(oldest *time.Time) string {
	if oldest == nil {
		return ""
	}
	return ", the oldest since " + moment(*oldest)
}

func (m *migration) writePhases(p *page) {
	p.table("phase", "state", "began", "took", "attempts", "")
	now := workflow.Now(m.life)
	for _, step := range m.st.Steps {
		began, took := "", ""
		if step.StartedAt != nil {
			began = moment(*step.StartedAt)
			end := now
			if step.EndedAt != nil {
				end = *step.EndedAt
			}
			took = end.Sub(*step.StartedAt).Round(time.Second).String()
		}
		p.row(step.Name, string(step.State), began, took, fmt.Sprint(step.Attempts), plain(step.Detail))
	}
}

func (m *migration) writeShards(p *page) {
	counts := m.shards()
	if counts.Total == 0 {
		return
	}
	limits := m.limits()
	p.line("**Shards:** %d of %d done · %d running (at most %d, %s) · %d waiting for another try · %d failed",
		counts.Done, counts.Total, counts.Running, limits.Parallel, rates(limits), counts.Retrying, counts.Failed)
	m.writeThrottle(p, limits)
	if m.window != nil {
		for i, s := range m.window.running {
			if p.more(i, len(m.window.running)) {
				break
			}
			p.item("%s `%s` since %s", code(s.label), shardID(m.st.Phase, s.no), moment(s.since))
		}
	}
	m.writeFailed(p)
}

// rates are the limits of what flows.
func rates(limits task.ThrottleStatus) string {
	var parts []string
	if limits.RowsPerSecond > 0 {
		parts = append(parts, fmt.Sprintf("at most %s rows/s", humanize.Comma(limits.RowsPerSecond)))
	}
	if limits.BytesPerSecond > 0 {
		parts = append(parts, fmt.Sprintf("at most %s/s", humanize.IBytes(uint64(limits.BytesPerSecond))))
	}
	if len(parts) == 0 {
		return "no limit on rows per second"
	}
	return strings.Join(parts, ", ")
}

// writeThrottle tells what may hold the work. What does at the moment is in the
// heartbeats of the shards.
func (m *migration) writeThrottle(p *page, limits task.ThrottleStatus) {
	if limits.Holding {
		p.line("**The throttle holds:** %s", plain(limits.Reason))
	}
	in := m.throttleNow()
	if guards := in.Guards(); len(guards) > 0 {
		p.line("**Guards:** %s. What holds at the moment is in the heartbeats of the pending activities, and in `godwit status %s`.",
			code(strings.Join(guards, ", ")), m.ref.ID)
	}
	if len(limits.Held) > 0 {
		var parts []string
		for _, h := range limits.Held {
			parts = append(parts, fmt.Sprintf("%s %s (%d times)", h.Guard, time.Duration(h.Seconds*float64(time.Second)).Round(time.Second), h.Times))
		}
		p.line("**Held until now:** %s", plain(strings.Join(parts, ", ")))
	}
}

func (m *migration) writeFailed(p *page) {
	failed := slices.Concat(m.st.Lost, m.st.Queue)
	if len(failed) == 0 {
		return
	}
	p.line("### Failed shards")
	for i, s := range failed {
		if p.more(i, len(failed)) {
			break
		}
		next := "has no round left"
		if i >= len(m.st.Lost) {
			next = fmt.Sprintf("round %d of %d at %s", s.Round, m.settings.rounds(), moment(s.Due))
		}
		p.item("%s %s — %s error: %s", code(s.Label), next, s.Failure.Class, code(s.Failure.Message))
	}
}

func (m *migration) writeKept(p *page) {
	items := m.kept()
	switch v := m.st.Verified; {
	case v == nil:
	case len(v.Checked) > 0 && v.Different == 0:
		p.line("**Verified**: %s", strings.Join(v.Checked, "; "))
	default:
		p.line("**Compared** (%s): %s rows of %d tables, %s different", v.Mode, humanize.Comma(v.Rows), v.Tables, humanize.Comma(v.Different))
	}
	if len(items) == 0 {
		return
	}
	p.line("### Kept for a rollback")
	for i, item := range items {
		if p.more(i, len(items)) {
			break
		}
		size := ""
		if item.Bytes > 0 {
			size = ", " + humanize.IBytes(uint64(item.Bytes))
		}
		p.item("%s in %s%s", code(item.What), code(item.Where), size)
	}
}

// verbWords are what the verbs do, for the page.
var verbWords = map[string]string{
	verbPause:    "stop after the current chunks; nothing is lost",
	verbResume:   "go on",
	verbCutover:  "cut over now",
	verbRetry:    "begin now what waits for another try",
	verbThrottle: "change the limits",
	verbCancel:   "end it and undo what it did",
	verbRollback: "undo what it did",
	verbCleanup:  "remove now what a rollback would need",
}

func (m *migration) writeVerbs(p *page) {
	can := m.can()
	if len(can) == 0 {
		return
	}
	p.line("### What can be done now")
	for _, verb := range can {
		words := verbWords[verb]
		if m.afterEnd(verb) && verb == verbRetry {
			words = "continue it: only what is missing is done"
		}
		flags := ""
		if verb == verbThrottle {
			flags = " --parallel 2 --rows-per-second 50000"
		}
		p.item("`godwit %s %s%s` %s", verb, m.ref.ID, flags, words)
	}
	p.line("The signals %s, %s and %s can also be sent from this page (Actions), the others as updates.", task.PauseSignal, task.ResumeSignal, task.CancelSignal)
}

// page is a Markdown text.
type page struct {
	strings.Builder
	// open says that a list or a table has not been ended by an empty line.
	open bool
}

func (p *page) line(format string, args ...any) {
	if p.open {
		p.WriteString("\n")
	}
	p.open = false
	p.WriteString(fmt.Sprintf(format, args...) + "\n\n")
}

func (p *page) item(format string, args ...any) {
	p.open = true
	p.WriteString("- " + fmt.Sprintf(format, args...) + "\n")
}

func (p *page) table(heads ...string) {
	p.row(heads...)
	p.WriteString(strings.Repeat("|---", len(heads)) + "|\n")
}

func (p *page) row(cells ...string) {
	p.open = true
	p.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// more ends a list that is too long, saying so; i is the item that is next.
func (p *page) more(i, all int) bool {
	if i < mostListed {
		return false
	}
	p.item("and %d more", all-i)
	return true
}

var markdown = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `&lt;`, "|", `\|`, "[", `\[`)

// plain escapes what Markdown would take for markup.
func plain(text string) string { return markdown.Replace(oneLine(text, mostText)) }

// code shows a text as it is.
func code(text string) string {
	return "`" + strings.ReplaceAll(oneLine(text, mostText), "`", "'") + "`"
}
