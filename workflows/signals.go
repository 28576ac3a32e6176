package workflows

import (
	"fmt"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// signal is a signal that the migration understands. What an operator sends is
// a task.Request, but whatever comes is taken: somebody in a hurry in the Web UI
// must be understood.
type signal struct {
	name        string
	description string
	channel     workflow.ReceiveChannel
	take        func(converter.RawValue)
}

// requested lets an input be read as leniently as can be.
func requested(act func(task.Request)) func(converter.RawValue) {
	return func(raw converter.RawValue) { act(readRequest(raw)) }
}

// listen registers everything that can be asked of a migration. It comes before
// the first thing that blocks, so that nothing is asked in vain.
func (m *migration) listen(ctx workflow.Context) error {
	m.signals = []signal{
		{name: task.PauseSignal, take: requested(m.pause), description: `Stop after the chunks that are being worked on, until "resume". Input: none, or {"reason": "…"}.`},
		{name: task.ResumeSignal, take: requested(m.resume), description: `Go on after "pause". Input: none, or {"reason": "…"}.`},
		{name: task.CancelSignal, take: requested(m.cancel), description: `End the migration and undo what it did. Input: none, or {"reason": "…"}.`},
		{name: task.RollbackSignal, take: m.undoAsked, description: `From a pipeline: undo the migration. The update "rollback" says why when it cannot be.`},
		{name: task.CleanupSignal, take: requested(m.cleanupAsked), description: `From a pipeline: stop keeping what a rollback would need.`},
		{name: task.KeepSignal, take: m.keepAsked, description: "From a pipeline: it is over, and the time of keep_old begins; or it is being undone, and everything is kept until it is."},
		{name: task.ExpireSignal, take: requested(m.expire), description: "From a pipeline: the step's limit has passed. It ends in TIMEOUT, with everything kept."},
		{name: task.GrantSignal, take: m.granted, description: "From the Capacity workflow: how many shards may run at once."},
		{name: task.AnnounceSignal, take: m.announce, description: "From a worker, for the Capacity workflow: tell it again what is held."},
	}
	err := workflow.SetQueryHandlerWithOptions(ctx, task.StatusQuery, func() (task.Status, error) { return m.status(), nil },
		workflow.QueryHandlerOptions{Description: "How the migration stands: what `godwit status -o json` prints."})
	if err != nil {
		return err
	}
	if err := m.acceptUpdates(ctx); err != nil {
		return err
	}
	for i := range m.signals {
		s := &m.signals[i]
		s.channel = workflow.GetSignalChannelWithOptions(m.life, s.name, workflow.SignalChannelOptions{Description: s.description})
		workflow.GoNamed(m.life, "signal "+s.name, func(ctx workflow.Context) {
			for {
				var raw converter.RawValue
				if !s.channel.Receive(ctx, &raw) {
					return
				}
				s.take(raw)
			}
		})
	}
	workflow.GoNamed(ctx, "cancel request", func(ctx workflow.Context) {
		ctx.Done().Receive(ctx, nil)
		m.cancel(task.Request{Reason: "cancelled through Temporal"})
	})
	workflow.GoNamed(m.life, "recorder", m.keepRecording)
	return nil
}

// drain acts on the signals that have arrived and were not received yet.
func (m *migration) drain() (found bool) {
	for _, s := range m.signals {
		var raw converter.RawValue
		for s.channel.ReceiveAsync(&raw) {
			s.take(raw)
			raw, found = converter.RawValue{}, true
		}
	}
	return found
}

// readRequest reads a reason from whatever somebody sent: a Request, a text,
// or nothing that can be understood.
func readRequest(raw converter.RawValue) task.Request {
	var request task.Request
	data := raw.Payload().GetData()
	if decode(data, &request) == nil {
		return request
	}
	var text string
	if decode(data, &text) == nil {
		return task.Request{Reason: text}
	}
	return task.Request{}
}

func (m *migration) pause(r task.Request) {
	if m.ignores(verbPause, r) {
		return
	}
	m.st.Pause = &r
	// What was found out by preflight may have been changed meanwhile.
	m.st.Recheck = m.st.Plan != nil
	m.interrupt()
}

func (m *migration) resume(r task.Request) {
	if m.ignores(verbResume, r) {
		return
	}
	m.st.Pause = nil
	m.resumedBy = r
}

func (m *migration) cancel(r task.Request) {
	if m.ignores(verbCancel, r) {
		return
	}
	m.end(&ending{Verb: verbCancel, Request: r})
}

// end asks for the migration to be undone.
func (m *migration) end(e *ending) {
	m.st.Ending = e
	m.interrupt()
}

// ignores reports whether a signal makes no sense now, and says so to whoever
// looks: a signal has no answer.
func (m *migration) ignores(verb string, r task.Request) bool {
	why := m.refusal(verb)
	if why == "" {
		return false
	}
	text := fmt.Sprintf("%s was ignored%s: %s", verb, asked(r), why)
	m.st.note(workflow.Now(m.life), text)
	if m.st.EndedAt == nil {
		m.record(verb+" ignored", text, m.st.Error)
	}
	return true
}

// asked says who asked for something and why, to be appended.
func asked(r task.Request) string {
	text := ""
	if r.By != "" {
		text += " by " + oneLine(r.By, mostSummary)
	}
	if r.Reason != "" {
		text += " (" + oneLine(r.Reason, mostSummary) + ")"
	}
	return text
}
