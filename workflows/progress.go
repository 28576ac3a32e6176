package workflows

import (
	"math"
	"time"

	"godwit/internal/task"
)

// fraction is how much of the current phase's work is done.
func (t *tally) fraction() float64 {
	switch {
	case t.Shards > 0 && t.Done >= t.Shards:
		return 1
	case t.RowsTotal > 0:
		return min(1, float64(t.RowsDone)/float64(t.RowsTotal))
	case t.Shards > 0:
		return float64(t.Done) / float64(t.Shards)
	}
	return 0
}

// percent is how much of the whole migration is done, to a tenth. It never goes
// back: what is done again was done before.
func (m *migration) percent() float64 {
	if m.st.cutOver() {
		return 100
	}
	weights := task.WeightsOf(m.ref.Kind)
	var all, done float64
	for _, phase := range task.Phases {
		weight := weights[phase]
		if phase == task.Verify && !m.settings.verifies() {
			continue
		}
		all += weight
		switch {
		case m.st.step(phase).State == task.Success:
			done += weight
		case m.st.Phase == phase && m.window != nil:
			done += weight * m.st.Tally.fraction()
		}
	}
	return max(m.st.Percent, math.Round(1000*done/all)/10)
}

// pace measures how fast a phase is by its last finished shards.
type pace struct {
	Marks []mark `json:"marks,omitempty"`
}

// mark is how many rows were done at a time.
type mark struct {
	At   time.Time `json:"at"`
	Rows int64     `json:"rows"`
}

// mostMarks is how many marks the rate is taken from.
const mostMarks = 9

// begin forgets what was before a pause.
func (p *pace) begin(now time.Time, rows int64) { p.Marks = []mark{{now, rows}} }

func (p *pace) mark(now time.Time, rows int64) {
	p.Marks = append(p.Marks, mark{now, rows})
	if over := len(p.Marks) - mostMarks; over > 0 {
		p.Marks = p.Marks[over:]
	}
}

// rate is in rows per second; 0 while it cannot be told.
func (p *pace) rate() float64 {
	if len(p.Marks) < 2 {
		return 0
	}
	first, last := p.Marks[0], p.Marks[len(p.Marks)-1]
	seconds := last.At.Sub(first.At).Seconds()
	if seconds <= 0 {
		return 0
	}
	return math.Round(10*float64(last.Rows-first.Rows)/seconds) / 10
}

// eta is how many seconds the migration still takes at the present rate; -1 when
// that cannot be told.
func (m *migration) eta() float64 {
	if m.st.cutOver() {
		return 0
	}
	rate, t := m.st.Pace.rate(), m.st.Tally
	if rate <= 0 || m.window == nil || m.st.Pause != nil || m.st.Ending != nil {
		return -1
	}
	rows := float64(max(0, t.RowsTotal-t.RowsDone))
	if m.st.Phase == task.Transform && m.settings.verifies() {
		weights := task.WeightsOf(m.ref.Kind)
		rows += float64(t.RowsTotal) * weights[task.Verify] / weights[task.Transform]
	}
	return math.Round(rows / rate)
}
