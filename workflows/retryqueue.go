package workflows

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// mostMessage is the longest message of a failed shard, in bytes.
const mostMessage = 1000

// enqueue puts a shard that failed into the retry queue, or among the lost ones
// when it has had all its rounds.
func (m *migration) enqueue(p piece, failure task.Failure) {
	now := workflow.Now(m.life)
	// The ledger has it in full; here it may have to be handed over with many others.
	failure.Message = oneLine(failure.Message, mostMessage)
	next := waiting{No: p.no, Label: p.label, Round: p.round + 1, Failure: failure}
	if next.Round > m.settings.rounds() {
		m.st.Lost = append(m.st.Lost, next)
		return
	}
	next.Due = now.Add(m.settings.roundDelay(next.Round))
	m.st.Queue = append(m.st.Queue, next)
}

// readmit opens the shards whose delay has passed; all of them, and the lost
// ones with all their rounds again, when an operator is in a hurry.
func (w *window) readmit() {
	st := w.m.st
	if w.closed() {
		return
	}
	if w.m.hurry {
		w.m.hurry = false
		for _, s := range st.Lost {
			s.Round = 0
			st.Queue = append(st.Queue, s)
		}
		w.readmitUntil(nil)
		st.Lost = nil
	} else if w.alarm.rings() {
		due := w.alarm.due
		w.alarm.disarm()
		w.readmitUntil(&due)
	}
	w.alarm.arm(w.ctx, st.Queue)
}

// readmitUntil opens the waiting shards that are due by then; all for nil.
func (w *window) readmitUntil(then *time.Time) {
	waits := func(s waiting) bool { return then != nil && s.Due.After(*then) }
	for _, s := range w.m.st.Queue {
		if !waits(s) {
			w.open = append(w.open, piece{no: s.No, label: s.Label, round: s.Round})
		}
	}
	w.m.st.Queue = kept(w.m.st.Queue, waits)
}

// alarm is one timer for the whole retry queue: it is set for the shard that is
// due first, and stays when another one joins that is due later.
type alarm struct {
	due   time.Time
	timer workflow.Future
	stop  func()
}

func (a *alarm) arm(ctx workflow.Context, queue []waiting) {
	if len(queue) == 0 {
		a.disarm()
		return
	}
	first := slices.MinFunc(queue, func(x, y waiting) int { return x.Due.Compare(y.Due) })
	if a.timer != nil && a.due.Equal(first.Due) {
		return
	}
	a.disarm()
	a.due = first.Due
	a.timer, a.stop = startTimer(ctx, first.Due.Sub(workflow.Now(ctx)), fmt.Sprintf("retry round %d: %s", first.Round, first.Label))
}

func (a *alarm) disarm() {
	if a.timer != nil {
		a.stop()
		a.timer = nil
	}
}

func (a *alarm) rings() bool { return a.timer != nil && a.timer.IsReady() }

// tableOf is the table of a shard's label, "shop.orders 3/8".
func tableOf(label string) string {
	if i := strings.LastIndexByte(label, ' '); i > 0 {
		return label[:i]
	}
	return label
}
