package workflows

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// publish shows how the pipeline stands to everybody who looks.
func (p *pipeline) publish() {
	p.derive()
	p.showAttributes()
	workflow.SetCurrentDetails(p.life, p.page())
}

// derive finds the state of a pipeline that has not ended by those of its steps.
func (p *pipeline) derive() {
	if p.st.EndedAt != nil || p.st.State == task.Success && p.st.Ending == nil {
		return
	}
	state, failure := task.Running, (*task.Failure)(nil)
	held, retrying, working := (*stepState)(nil), (*stepState)(nil), false
	for _, st := range p.st.Steps {
		switch {
		case st.Kind == "group" && !st.needsYou: // its steps say how it stands, once it has begun
		case st.needsYou && st.undo != undoRuns && st.Error != nil && (st.State == task.Failed || st.State == task.TimedOut):
			held = st
		case st.State == task.Retrying:
			retrying = st
		case st.State == task.Running:
			working = true
		}
	}
	switch {
	case !p.st.Opened && p.st.Error == nil:
		state = task.Pending
	case !p.st.Opened:
		state, failure = task.Failed, p.st.Error
	case held != nil && (!working || p.st.Undoing): // then nothing but an undoing is at work
		state, failure = held.State, held.Error
	case p.st.Pause != nil && p.st.Ending == nil:
		state, failure = task.Paused, p.st.Error
	case held != nil:
		failure = held.Error
	case retrying != nil:
		state, failure = task.Retrying, retrying.Error
	case p.st.Ending != nil:
		failure = p.st.Ending.Cause
	}
	p.st.State, p.st.Error = state, failure
}

// phase is where the pipeline stands among the phases that every migration has.
func (p *pipeline) phase() task.Phase {
	switch {
	case !p.st.Opened:
		return task.Preflight
	case p.st.Undoing, p.st.State == task.Success:
		return task.Cleanup
	}
	return task.Transform
}

func (p *pipeline) attention() bool {
	for _, st := range p.st.Steps {
		if st.needsYou {
			return true
		}
	}
	return p.st.State.Resumable()
}

// percent counts the steps that are over.
func (p *pipeline) percent() float64 {
	all, over := 0, 0
	for _, st := range p.st.Steps {
		if st.Kind == "group" {
			continue
		}
		all++
		if st.State == task.Success || st.State == task.Skipped {
			over++
		}
	}
	return float64(1000*over/max(1, all)) / 10
}

func (p *pipeline) showAttributes() {
	now := shown{State: p.st.State, Phase: p.phase(), Percent: p.percent(), Attention: p.attention()}
	was := p.st.Shown
	if now == was {
		return
	}
	updates := []temporal.SearchAttributeUpdate{
		stateKey.ValueSet(string(now.State)), phaseKey.ValueSet(string(now.Phase)), percentKey.ValueSet(now.Percent), attentionKey.ValueSet(now.Attention),
	}
	if was.State == "" {
		updates = append(updates, kindKey.ValueSet(string(task.Pipeline)), targetKey.ValueSet(oneLine(p.in.Target, mostSummary)))
	}
	p.st.Shown = now
	if err := workflow.UpsertTypedSearchAttributes(p.life, updates...); err != nil {
		p.st.note(workflow.Now(p.life), "the search attributes could not be set: "+err.Error())
	}
}

// status is the whole answer to "how is it going".
func (p *pipeline) status() task.Status {
	st := p.st
	started := st.StartedAt
	out := task.Status{
		ID: p.ref.ID, RunID: p.runID, Kind: task.Pipeline, Name: p.plan.Name, Target: p.in.Target,
		State: st.State, Phase: p.phase(), Attention: p.attention(),
		Progress: task.Progress{Percent: p.percent(), ETASeconds: -1},
		Throttle: task.ThrottleStatus{Guards: []task.GuardStatus{}, Held: []task.HeldTime{}},
		Error:    st.Error, StartedAt: &started, EndedAt: st.EndedAt,
		Steps: p.steps(), Running: []task.Heartbeat{}, Failures: []task.Failure{}, Kept: []task.BackupItem{}, KeptUntil: p.keptUntil(),
		WaitingFor: p.waitingFor(), Can: p.can(), Source: "workflow",
	}
	for _, s := range st.Steps {
		if s.Error != nil && (s.State == task.Failed || s.State == task.TimedOut || s.State == task.Retrying) {
			out.Failures = append(out.Failures, *s.Error)
		}
	}
	return out
}

func (p *pipeline) steps() []task.PhaseStatus {
	var steps []task.PhaseStatus
	p.plan.each(func(s *pipelineStep, group string) {
		st := p.st.step(s.Name)
		one := task.PhaseStatus{Name: st.Name, State: st.State, StartedAt: st.StartedAt, EndedAt: st.EndedAt, Attempts: st.Tries, Detail: st.Detail,
			Kind: st.Kind, Group: group, Error: st.Error, Undo: p.undoWords(s, st)}
		if st.Child.Chain != "" {
			one.ID = task.StepID(p.ref.ID, st.Name)
		}
		if st.waits != "" {
			one.Detail = "waits for " + st.waits
		}
		if st.needsYou && st.undo == undoNone && st.Error != nil { // what can be done is said above
			one.Detail = st.Error.Message
		}
		if st.undo == undoFailed {
			one.Detail, one.UndoFailed = "its undoing failed: "+st.Error.Message, true
		}
		steps = append(steps, one)
	})
	return steps
}

// undoWords say whether and until when a step can be undone that is done.
func (p *pipeline) undoWords(s *pipelineStep, st *stepState) string {
	if st.State != task.Success || s.Group != nil {
		return ""
	}
	if why := p.irreversible(s, st); why != "" {
		return "cannot be undone: " + why
	}
	switch {
	case !st.Child.kept():
		return ""
	case st.Child.KeptUntil != nil:
		return "can be undone until " + moment(*st.Child.KeptUntil)
	}
	return fmt.Sprintf("can be undone until the pipeline is over, and for %s after that", spec.Duration(st.Child.KeepFor))
}

// keptUntil is when the first step stops keeping what undoes it, and with it the
// pipeline as a whole; nil before it is done.
func (p *pipeline) keptUntil() (first *time.Time) {
	for _, st := range p.st.Steps {
		if until := st.Child.KeptUntil; until != nil && st.Child.kept() && (first == nil || until.Before(*first)) {
			first = until
		}
	}
	return first
}

// waitingFor says in words what the pipeline waits for.
func (p *pipeline) waitingFor() string {
	switch {
	case p.st.EndedAt != nil:
		return ""
	case !p.st.Opened && p.st.Error != nil:
		return fmt.Sprintf("the ledger on connection %s; it is tried again", p.in.Ledger)
	case p.st.Pause != nil && p.st.Ending == nil:
		return fmt.Sprintf("an operator: `godwit resume %s`; paused%s", p.ref.ID, asked(*p.st.Pause))
	}
	var all []string
	for _, st := range p.st.Steps {
		if st.waits != "" {
			all = append(all, "step "+st.Name+": "+st.waits)
		}
	}
	if len(all) == 0 && p.st.State == task.Success && p.st.keeping() {
		if until := p.keptUntil(); until != nil {
			return fmt.Sprintf("%s, when the first step can no longer be undone; `godwit cleanup %s` ends it now", moment(*until), p.ref.ID)
		}
		return "its steps to end"
	}
	return strings.Join(all, "; ")
}

// page is what the Web UI shows of the pipeline: its steps, each with a link to its
// migration, and what can be done now.
func (p *pipeline) page() string {
	out := &page{}
	out.line("## %s: %s", plain(p.plan.Name), p.st.State)
	out.line("%.0f %% of the steps are over", p.percent())
	if waiting := p.waitingFor(); waiting != "" {
		out.line("**Waits for** %s", plain(oneLine(waiting, mostText)))
	}
	if p.st.Error != nil {
		out.line("**%s error:** %s", p.st.Error.Class, code(p.st.Error.Message))
	}
	out.table("step", "does", "state", "began", "took", "tries", "")
	now := workflow.Now(p.life)
	for _, s := range p.steps() {
		began, took := "", ""
		if s.StartedAt != nil {
			began = moment(*s.StartedAt)
			end := now
			if s.EndedAt != nil {
				end = *s.EndedAt
			}
			took = end.Sub(*s.StartedAt).Round(time.Second).String()
		}
		name := plain(s.Name)
		if s.ID != "" {
			name = fmt.Sprintf("[%s](/namespaces/{namespace}/workflows/%s)", name, s.ID)
		}
		if s.Group != "" {
			name = plain(s.Group) + " / " + name
		}
		detail := s.Detail
		if detail == "" {
			detail = s.Undo
		}
		out.row(name, s.Kind, string(s.State), began, took, fmt.Sprint(s.Attempts), plain(detail))
	}
	if can := p.can(); len(can) > 0 {
		out.line("### What can be done now")
		for _, verb := range can {
			step := ""
			if verb == verbApprove || verb == verbRetry || verb == verbSkip {
				step = " STEP"
			}
			out.item("`godwit %s %s%s` %s", verb, p.ref.ID, step, p.words(verb))
		}
	}
	if len(p.st.Notes) > 0 {
		out.line("### Notes")
		for _, n := range p.st.Notes {
			out.item("%s — %s", moment(n.At), code(n.Text))
		}
	}
	return out.String()
}

// words are what a verb does now.
func (p *pipeline) words(verb string) string {
	if slices.ContainsFunc(p.st.Steps, func(st *stepState) bool { return st.undo == undoFailed }) {
		switch verb {
		case verbRetry:
			return "undo the step again"
		case verbSkip:
			return "leave the step as it is"
		}
	}
	return pipelineWords[verb]
}

// pipelineWords are what the verbs do, for the page.
var pipelineWords = map[string]string{
	verbPause: "pause the step that is at work", verbResume: "go on", verbApprove: "let the step begin", verbRetry: "try the step again",
	verbSkip: "undo what the step has begun, and go on with the next", verbCancel: "end it and undo its steps; what cannot be undone stays",
	verbRollback: "undo its steps, the last first", verbCleanup: "remove now what a rollback would need",
}
