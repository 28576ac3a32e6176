package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// recorder writes changes of state to the ledger, one after the other and
// besides the work: the migration goes on whether that succeeds or not, since the
// ledger may be on the very server that cannot be reached.
type recorder struct {
	queue []*entry
	count int
}

// entry is one change of state or settings on its way to the ledger.
type entry struct {
	in   task.RecordInput
	done bool
	err  error
}

// record has an event written with the current state.
func (m *migration) record(event, detail string, failure *task.Failure) *entry {
	return m.tell(task.RecordInput{Event: event, Detail: detail, Error: failure})
}

func (m *migration) tell(in task.RecordInput) *entry {
	in.Ref, in.State, in.Phase = m.ref, m.st.State, m.st.Phase
	m.st.Recorded = in.State
	e := &entry{in: in}
	m.recorder.queue = append(m.recorder.queue, e)
	return e
}

// keepRecording is the recorder's coroutine.
func (m *migration) keepRecording(ctx workflow.Context) {
	r := &m.recorder
	for {
		if workflow.Await(ctx, func() bool { return len(r.queue) > 0 }) != nil {
			return
		}
		e := r.queue[0]
		r.count++
		options := recording(ctx, fmt.Sprintf("record-%d", r.count), fmt.Sprintf("record %s: %s", e.in.State, e.in.Event))
		e.err = workflow.ExecuteActivity(options, task.RecordActivity, e.in).Get(ctx, nil)
		if e.err != nil {
			m.st.note(workflow.Now(ctx), fmt.Sprintf("the ledger could not be told %q: %s", e.in.Event, judge(e.err, e.in.Phase).Message))
		}
		e.done = true
		r.queue = r.queue[1:]
	}
}

func (r *recorder) idle() bool { return len(r.queue) == 0 }
