package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// piece is a shard as the window knows it.
type piece struct {
	no    int
	label string
	round int // 0 for the first try
	since time.Time
}

// window runs the shards of a phase, so many at once. A shard that fails does not
// stop the others: it goes to the retry queue, and from there back to the end
// of the open ones.
type window struct {
	m        *migration
	ctx      workflow.Context
	phase    task.Phase
	activity string
	open     []piece // in the order to do them
	running  []piece
	// streams bounds how many run at once, where nobody asks for another number; 0 does not.
	streams int
	// stirred says that something has happened that the loop has to look at.
	stirred bool
	alarm   alarm
}

// runShards does the open shards of a phase. Its error is errInterrupted,
// errContinue, or the failure of the shards that could not be done.
func (m *migration) runShards(ctx workflow.Context, activity string, work task.Work) error {
	m.st.receive(work)
	w := &window{m: m, ctx: ctx, phase: m.st.Phase, activity: activity, streams: work.Streams}
	w.sort(work)
	m.window = w
	defer func() {
		w.alarm.disarm()
		m.reached = m.percent()
		m.window = nil
	}()
	m.st.Pace.begin(workflow.Now(ctx), m.st.Tally.RowsDone)
	for {
		w.stirred = false
		w.readmit()
		w.fill()
		if w.idle() {
			return w.verdict()
		}
		m.await(m.life, w.stirs)
		if m.mustContinue() {
			// There is nothing more to begin: only what runs is waited for.
			m.publish()
			_ = workflow.Await(m.life, func() bool { return len(w.running) == 0 })
		}
	}
}

// sort keeps in the retry queue what is there already and still to be done, from
// before a pause or in another run, and opens the rest.
func (w *window) sort(work task.Work) {
	isOpen := func(s waiting) bool { return slices.Contains(work.Open, s.No) }
	w.m.st.Queue = kept(w.m.st.Queue, isOpen)
	w.m.st.Lost = kept(w.m.st.Lost, isOpen)
	for i, no := range work.Open {
		is := func(s waiting) bool { return s.No == no }
		if slices.ContainsFunc(w.m.st.Queue, is) || slices.ContainsFunc(w.m.st.Lost, is) {
			continue
		}
		label := shardID(w.phase, no)
		if i < len(work.Labels) {
			label = work.Labels[i]
		}
		w.open = append(w.open, piece{no: no, label: label})
	}
}

func kept(list []waiting, keep func(waiting) bool) []waiting {
	return slices.DeleteFunc(list, func(s waiting) bool { return !keep(s) })
}

func (w *window) limit() int { return w.m.allowed(w.wanted()) }

// wanted is how many shards are to run at once: what the operator or the spec's
// throttle says, or else as many as the spec lets, and as do the server good.
func (w *window) wanted() int {
	if p := w.m.st.Limits.Parallel; p != nil {
		return *p
	}
	if w.streams > 0 && w.m.settings.Throttle.Parallel == 0 {
		return min(w.streams, w.m.settings.parallel())
	}
	return w.m.settings.parallel()
}

// closed reports whether no more shards are to be begun.
func (w *window) closed() bool { return w.ctx.Err() != nil || w.m.mustContinue() }

func (w *window) canStart() bool {
	return !w.closed() && len(w.open) > 0 && len(w.running) < w.limit()
}

func (w *window) fill() {
	for w.canStart() {
		p := w.open[0]
		w.open = w.open[1:]
		w.start(p)
	}
}

// idle reports whether nothing runs and nothing more will by itself.
func (w *window) idle() bool {
	return len(w.running) == 0 && (w.closed() || len(w.open) == 0 && len(w.m.st.Queue) == 0)
}

// stirs is what the loop waits for.
func (w *window) stirs() bool {
	return w.stirred || w.idle() || !w.closed() && (w.m.hurry || w.alarm.rings() || w.canStart())
}

// start begins a shard in a coroutine of its own.
func (w *window) start(p piece) {
	p.since = workflow.Now(w.ctx)
	w.running = append(w.running, p)
	workflow.GoNamed(w.ctx, shardID(w.phase, p.no), func(ctx workflow.Context) {
		result, failure := w.work(ctx, p)
		w.running = slices.DeleteFunc(w.running, func(r piece) bool { return r.no == p.no })
		w.settle(p, result, failure)
		w.stirred = true
	})
}

// work runs a shard's activity until it has an outcome of its own; both results
// are nil when it was interrupted.
func (w *window) work(ctx workflow.Context, p piece) (*task.ShardResult, *task.Failure) {
	for {
		in := task.ShardInput{Ref: w.m.ref, Phase: w.phase, Shard: p.no, Round: p.round}
		summary := shardSummary(w.m.settings.Kind, w.phase, p.label, p.round)
		var result task.ShardResult
		err := workflow.ExecuteActivity(working(ctx, shardID(w.phase, p.no), summary, forShards), w.activity, in).Get(ctx, &result)
		switch failure := judge(err, w.phase); {
		case err == nil:
			return &result, nil
		case ctx.Err() != nil:
			return nil, nil
		case !repeatable(failure.Class):
			return nil, w.locate(failure, p)
		}
		if workflow.Sleep(ctx, minDelay) != nil {
			return nil, nil
		}
	}
}

// locate says of a failure which shard it is about.
func (w *window) locate(failure *task.Failure, p piece) *task.Failure {
	failure.Phase, failure.Shard = w.phase, &p.no
	if failure.Table == "" {
		failure.Table = tableOf(p.label)
	}
	return failure
}

// settle books how a shard ended. One that was interrupted is still to be done;
// whoever goes on asks the ledger.
func (w *window) settle(p piece, result *task.ShardResult, failure *task.Failure) {
	st := w.m.st
	switch {
	case failure != nil:
		w.m.enqueue(p, *failure)
	case result != nil:
		st.Tally.Done++
		st.Tally.RowsDone += result.Rows
		st.Tally.BytesDone += result.Bytes
		if len(result.Held) > 0 {
			st.Held = result.Held
		}
		st.noted(result.Changelog)
		st.Pace.mark(workflow.Now(w.ctx), st.Tally.RowsDone)
	}
}

// verdict is how the window ended, once nothing runs any more.
func (w *window) verdict() error {
	switch {
	case w.ctx.Err() != nil:
		return errInterrupted
	case len(w.open) > 0 || len(w.m.st.Queue) > 0:
		return errContinue
	case len(w.m.st.Lost) > 0:
		return w.m.lostFailure()
	}
	return nil
}
