package workflows

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

const verbApprove = task.ApproveUpdate

// pipelineVerbs are shown in this order.
var pipelineVerbs = []string{verbPause, verbResume, verbApprove, verbRetry, verbSkip, verbCancel, verbRollback, verbCleanup}

// listen registers everything that can be asked of a pipeline.
func (p *pipeline) listen(ctx workflow.Context) error {
	p.signals = []signal{
		{name: task.PauseSignal, take: requested(p.pause), description: `Pause the step that is at work, until "resume". Input: none, or {"reason": "…"}.`},
		{name: task.ResumeSignal, take: requested(p.resume), description: `Go on after "pause". Input: none, or {"reason": "…"}.`},
		{name: task.CancelSignal, take: requested(p.cancel), description: `End the pipeline and undo its steps; what cannot be undone stays. Input: none, or {"reason": "…"}.`},
		{name: task.StepSignal, take: p.stepReported, description: "From a step's migration: how it stands."},
	}
	err := workflow.SetQueryHandlerWithOptions(ctx, task.StatusQuery, func() (task.Status, error) { return p.status(), nil },
		workflow.QueryHandlerOptions{Description: "How the pipeline stands: what `godwit status -o json` prints."})
	if err != nil {
		return err
	}
	if err := p.acceptUpdates(ctx); err != nil {
		return err
	}
	for i := range p.signals {
		s := &p.signals[i]
		s.channel = workflow.GetSignalChannelWithOptions(p.life, s.name, workflow.SignalChannelOptions{Description: s.description})
		workflow.GoNamed(p.life, "signal "+s.name, func(ctx workflow.Context) {
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
		p.cancel(task.Request{Reason: "cancelled through Temporal"})
	})
	workflow.GoNamed(p.life, "recorder", p.keepRecording)
	return nil
}

// drain acts on the signals that have arrived and were not received yet.
func (p *pipeline) drain() (found bool) {
	for _, s := range p.signals {
		var raw converter.RawValue
		for s.channel.ReceiveAsync(&raw) {
			s.take(raw)
			raw, found = converter.RawValue{}, true
		}
	}
	return found
}

func (p *pipeline) stepReported(raw converter.RawValue) {
	var r task.StepReport
	if decode(raw.Payload().GetData(), &r) != nil {
		return
	}
	if name, is := strings.CutPrefix(r.ID, p.ref.ID+"."); is {
		if st := p.st.step(name); st.Name != "" {
			p.reported(st, r)
		}
	}
}

func (p *pipeline) acceptUpdates(ctx workflow.Context) error {
	const stepInput = ` Input: {"step": "…", "reason": "…"}; without a step, the one that waits.`
	for _, u := range []struct {
		name, description string
		act               func(task.StepRequest)
	}{
		{verbApprove, "Let a step begin that waits for an operator." + stepInput, p.approve},
		{verbRetry, "Try a step again that has failed, or whose undoing has." + stepInput, func(r task.StepRequest) { p.ask(verbRetry, r) }},
		{verbSkip, "Skip a step: what it has begun is undone. Of one whose undoing has failed: leave it as it is." + stepInput, func(r task.StepRequest) { p.ask(verbSkip, r) }},
		{verbRollback, `Undo all steps, the last first. Input: none, or {"reason": "…"}.`, func(r task.StepRequest) { p.end(verbRollback, r.Request) }},
		{verbCleanup, `Stop keeping what a rollback would need. Input: none, or {"reason": "…"}.`, p.cleanup},
		{verbCutover, "Belongs to a step's migration.", func(task.StepRequest) {}},
		{verbThrottle, "Belongs to a step's migration.", func(task.StepRequest) {}},
	} {
		validate := func(raw converter.RawValue) error { return refuse(p.refusal(u.name, readStepRequest(raw).Step)) }
		handle := func(_ workflow.Context, raw converter.RawValue) (task.Status, error) {
			u.act(readStepRequest(raw))
			p.publish()
			return p.status(), nil
		}
		if err := workflow.SetUpdateHandlerWithOptions(ctx, u.name, handle, workflow.UpdateHandlerOptions{Validator: validate, Description: u.description}); err != nil {
			return err
		}
	}
	return nil
}

// readStepRequest reads a step and a reason from whatever somebody sent.
func readStepRequest(raw converter.RawValue) task.StepRequest {
	var r task.StepRequest
	if decode(raw.Payload().GetData(), &r) == nil {
		return r
	}
	return task.StepRequest{Request: readRequest(raw)}
}

func (p *pipeline) pause(r task.Request) {
	if !p.ignores(verbPause, r) {
		p.st.Pause = &r
		p.record("paused", oneLine(asked(r), mostSummary), p.st.Error)
	}
}

func (p *pipeline) resume(r task.Request) {
	if !p.ignores(verbResume, r) {
		p.st.Pause, p.st.Resumed = nil, r
		p.record("resumed", oneLine(asked(r), mostSummary), p.st.Error)
	}
}

func (p *pipeline) cancel(r task.Request) {
	if !p.ignores(verbCancel, r) {
		p.end(verbCancel, r)
	}
}

// end asks for the pipeline to be undone.
func (p *pipeline) end(verb string, r task.Request) { p.st.Ending = &ending{Verb: verb, Request: r} }

func (p *pipeline) approve(r task.StepRequest) {
	if st := p.chosen(verbApprove, r.Step); st != nil {
		st.Approved = &r.Request
	}
}

// ask lets the step that waits know what an operator wants.
func (p *pipeline) ask(verb string, r task.StepRequest) {
	st := p.chosen(verb, r.Step)
	switch {
	case st == nil:
	case st.State == task.Pending && !st.atGate && verb == verbSkip && !p.st.Undoing:
		p.skip(st, "skipped beforehand"+asked(r.Request))
	default:
		st.asked, st.by = verb, r.Request
	}
}

func (p *pipeline) cleanup(r task.StepRequest) {
	for _, st := range p.st.Steps {
		if st.Child.Open {
			p.tell(st, task.CleanupSignal, r.Request)
		}
	}
}

// chosen is the step that a verb is about: the one that is named, or else the only
// one that it makes sense for. Nil when there is none, or several.
func (p *pipeline) chosen(verb, name string) *stepState {
	var found []*stepState
	for _, st := range p.st.Steps {
		if name == st.Name {
			return st
		}
		if p.stepRefusal(verb, st) == "" && (st.needsYou || verb == verbRetry) {
			found = append(found, st)
		}
	}
	if name != "" || len(found) != 1 {
		return nil
	}
	return found[0]
}

// ignores reports whether a signal makes no sense now, and says so to whoever looks.
func (p *pipeline) ignores(verb string, r task.Request) bool {
	why := p.refusal(verb, "")
	if why == "" {
		return false
	}
	p.st.note(workflow.Now(p.life), fmt.Sprintf("%s was ignored%s: %s", verb, asked(r), why))
	return true
}

// refusal says why a verb makes no sense now; empty when it does.
func (p *pipeline) refusal(verb, step string) string {
	switch {
	case p.st.EndedAt != nil:
		return "the pipeline has ended: " + string(p.st.State)
	case p.st.Ending != nil && verb != verbRetry && verb != verbSkip:
		return fmt.Sprintf("the pipeline is being undone (%s) already", p.st.Ending.Verb)
	}
	done := p.st.State == task.Success
	switch verb {
	case verbPause, verbResume:
		switch {
		case done:
			return "the pipeline is done: there is nothing to pause"
		case verb == verbPause && p.st.Pause != nil:
			return "the pipeline is paused already"
		case verb == verbResume && p.st.Pause == nil:
			return "the pipeline is not paused"
		}
		return ""
	case verbCancel:
		if done {
			return fmt.Sprintf("the pipeline is done; `godwit rollback %s` undoes it", p.ref.ID)
		}
		return ""
	case verbRollback:
		return ""
	case verbCleanup:
		if !done {
			return "the pipeline is not done: what its steps keep may still be needed"
		}
		return ""
	case verbApprove, verbRetry, verbSkip:
		return p.aboutStep(verb, step)
	case verbCutover, verbThrottle:
		return fmt.Sprintf("a pipeline has none of its own; ask a step's migration: `godwit %s %s.STEP`", verb, p.ref.ID)
	}
	return fmt.Sprintf("%q is nothing that a pipeline can do", verb)
}

// aboutStep says why a verb makes no sense for a step now.
func (p *pipeline) aboutStep(verb, name string) string {
	st := p.chosen(verb, name)
	switch {
	case st != nil:
		return p.stepRefusal(verb, st)
	case name != "":
		var all []string
		for _, s := range p.st.Steps {
			all = append(all, s.Name)
		}
		return fmt.Sprintf("there is no step %q; there are %s", name, strings.Join(all, ", "))
	}
	var could []string
	for _, s := range p.st.Steps {
		if p.stepRefusal(verb, s) == "" {
			could = append(could, s.Name)
		}
	}
	if len(could) == 0 {
		return fmt.Sprintf("no step waits for %s", verb)
	}
	return fmt.Sprintf("name the step to %s: %s", verb, strings.Join(could, ", "))
}

func (p *pipeline) stepRefusal(verb string, st *stepState) string {
	what := fmt.Sprintf("step %s is %s", st.Name, st.State)
	failed := st.State == task.Failed || st.State == task.TimedOut
	switch {
	case st.undo == undoFailed && verb == verbRetry, st.undo != undoNone && verb == verbSkip:
		return ""
	case p.st.Ending != nil:
		return what + ", and the pipeline is being undone"
	case verb == verbRetry:
		if failed && st.needsYou || st.State == task.Retrying {
			return ""
		}
		if st.atGate && st.needsYou && st.State == task.Pending {
			return fmt.Sprintf("step %s waits for approval: `godwit approve %s %s`", st.Name, p.ref.ID, st.Name)
		}
		return what + ", and waits for no other try"
	case verb == verbApprove:
		wants := false
		p.plan.each(func(s *pipelineStep, _ string) { wants = wants || s.Name == st.Name && s.Approve })
		switch {
		case !wants:
			return fmt.Sprintf("step %s waits for nobody (approve is not true)", st.Name)
		case st.Approved != nil:
			return fmt.Sprintf("step %s has been approved already", st.Name)
		case st.State != task.Pending:
			return what
		}
		return ""
	case st.over():
		return what
	case st.Kind == "group" && st.State != task.Pending:
		return "its steps are at work: skip them one by one"
	}
	return ""
}

// can lists the verbs that make sense now.
func (p *pipeline) can() []string {
	can := []string{}
	for _, verb := range pipelineVerbs {
		is := p.refusal(verb, "") == ""
		if verb == verbApprove || verb == verbRetry || verb == verbSkip {
			is = p.st.EndedAt == nil && slices.ContainsFunc(p.st.Steps, func(st *stepState) bool {
				return p.stepRefusal(verb, st) == "" && (verb == verbSkip || verb == verbRetry || st.needsYou)
			})
		}
		if is {
			can = append(can, verb)
		}
	}
	return can
}
