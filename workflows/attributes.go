package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// The search attributes, which the list of migrations goes by.
var (
	stateKey     = temporal.NewSearchAttributeKeyKeyword(task.StateAttribute)
	kindKey      = temporal.NewSearchAttributeKeyKeyword(task.KindAttribute)
	phaseKey     = temporal.NewSearchAttributeKeyKeyword(task.PhaseAttribute)
	targetKey    = temporal.NewSearchAttributeKeyKeyword(task.TargetAttribute)
	percentKey   = temporal.NewSearchAttributeKeyFloat64(task.PercentAttribute)
	attentionKey = temporal.NewSearchAttributeKeyBool(task.AttentionAttribute)
)

// percentStep is how far the percentage moves before it is shown by itself:
// every upsert is an event in the history.
const percentStep = 5

// shown are the search attributes as they are; State is empty before the first
// time.
type shown struct {
	State     task.State `json:"state,omitempty"`
	Phase     task.Phase `json:"phase,omitempty"`
	Percent   float64    `json:"percent,omitempty"`
	Attention bool       `json:"attention,omitempty"`
}

// publish shows how the migration stands to everybody who looks: in the search
// attributes, and on the page in the Web UI.
func (m *migration) publish() {
	m.balance()
	m.derive()
	m.st.Percent = m.percent()
	m.showAttributes()
	workflow.SetCurrentDetails(m.life, m.details())
}

// derive finds the state of a migration that is at work: PENDING while it waits
// for a place, RETRYING while anything waits for another try.
func (m *migration) derive() {
	switch m.st.State {
	case task.Pending, task.Running, task.Retrying:
	default:
		return
	}
	if m.queued {
		m.st.State = task.Pending
		return
	}
	m.st.State = task.Running
	var failure *task.Failure
	brief := true
	if len(m.st.Queue) > 0 {
		first := m.st.Queue[0]
		failure, brief = &first.Failure, false
	}
	if m.waits != nil {
		failure, brief = m.waits.Failure, brief && m.waits.Brief
	}
	if failure != nil {
		m.st.State = task.Retrying
	}
	switch {
	case failure != nil && !brief && m.st.Recorded != task.Retrying:
		m.record("retrying", failure.Message, failure)
	case failure == nil && (m.st.Recorded == task.Retrying || m.st.Recorded == task.Pending):
		m.record("running", "", nil)
	}
}

// attention reports whether an operator has to do something.
func (m *migration) attention() bool {
	return m.awaiting && m.st.Approved == nil && m.st.Pause == nil || len(m.st.Lost) > 0 || m.held != nil || m.st.Untended != nil || m.st.State.Resumable()
}

// showAttributes upserts the search attributes that have changed; the percentage
// alone only every few points.
func (m *migration) showAttributes() {
	now := shown{State: m.st.State, Phase: m.st.Phase, Percent: m.st.Percent, Attention: m.attention()}
	was := m.st.Shown
	var updates []temporal.SearchAttributeUpdate
	if was.State == "" {
		updates = append(updates, kindKey.ValueSet(string(m.settings.Kind)), targetKey.ValueSet(oneLine(m.in.Target, mostSummary)))
	}
	if now.State != was.State {
		updates = append(updates, stateKey.ValueSet(string(now.State)))
	}
	if now.Phase != was.Phase {
		updates = append(updates, phaseKey.ValueSet(string(now.Phase)))
	}
	if now.Attention != was.Attention || was.State == "" {
		updates = append(updates, attentionKey.ValueSet(now.Attention))
	}
	if len(updates) == 0 && now.Percent < was.Percent+percentStep {
		return
	}
	if now.Percent != was.Percent || was.State == "" {
		updates = append(updates, percentKey.ValueSet(now.Percent))
	}
	m.st.Shown = now
	if err := workflow.UpsertTypedSearchAttributes(m.life, updates...); err != nil {
		m.st.note(workflow.Now(m.life), "the search attributes could not be set: "+err.Error())
	}
}
