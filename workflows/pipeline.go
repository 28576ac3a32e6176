package workflows

import (
	"encoding/json"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// PipelineInput starts a pipeline. The workflow's id is the task's id.
type PipelineInput struct {
	// Spec in its flat form.
	Spec json.RawMessage `json:"spec"`
	// Ledger is the name of the connection whose database has the pipeline's own rows.
	Ledger string `json:"ledger"`
	// Target is what it is about, in words; the search attribute GodwitTarget.
	Target string `json:"target"`
	// Carried is what the run before this one knew; only continue-as-new sets it.
	Carried *pipelineState `json:"carried,omitempty"`
}

// Pipeline runs the steps of a pipeline in order.
func Pipeline(ctx workflow.Context, in PipelineInput) (task.Status, error) {
	plan, err := readPipeline(in.Spec)
	if err != nil {
		return task.Status{}, temporal.NewNonRetryableApplicationError(err.Error(), string(task.Config), nil)
	}
	p := newPipeline(ctx, in, plan)
	if err := p.listen(ctx); err != nil {
		return p.status(), err
	}
	return p.finish(p.proceed())
}

// pipeline is one run of the workflow.
type pipeline struct {
	in    PipelineInput
	plan  pipelinePlan
	ref   task.Ref
	runID string
	chain string // the first of the runs that continue each other as new
	st    *pipelineState
	// life is the context of the main coroutine. It outlives Temporal's cancel
	// request, which is a wish like the cancel signal.
	life workflow.Context
	// asks counts the activities that ask for something, and telling the signals that are
	// on their way to steps.
	asks     *int
	telling  *int
	recorder *stepRecorder
	signals  []signal
}

func newPipeline(ctx workflow.Context, in PipelineInput, plan pipelinePlan) *pipeline {
	info := workflow.GetInfo(ctx)
	life, _ := workflow.NewDisconnectedContext(ctx)
	p := &pipeline{in: in, plan: plan, life: life, st: in.Carried, runID: info.WorkflowExecution.RunID, chain: info.FirstRunID, asks: new(int), telling: new(int), recorder: &stepRecorder{},
		ref: task.Ref{ID: info.WorkflowExecution.ID, Kind: task.Pipeline, Ledger: in.Ledger}}
	if p.st == nil {
		p.st = newPipelineState(plan, workflow.Now(ctx))
	}
	return p
}

// proceed runs the steps that are left. It returns nil when all are done, and
// otherwise why the run ends: errEnding or errContinue.
func (p *pipeline) proceed() error {
	if p.st.Undoing {
		return errEnding // the run before this one had begun to
	}
	if err := p.open(); err != nil {
		return err
	}
	for p.st.Next < len(p.plan.Steps) {
		if err := p.ready(); err != nil {
			return err
		}
		if err := p.perform(&p.plan.Steps[p.st.Next]); err != nil {
			return err
		}
		p.st.Next++
	}
	return p.keep()
}

// perform does a step, or the steps of a group side by side.
func (p *pipeline) perform(s *pipelineStep) error {
	if s.Group == nil {
		return p.runStep(s)
	}
	group, pass := p.st.step(s.Name), false
	if group.State != task.Skipped { // beforehand
		var err error
		if pass, err = p.gate(s, group); err != nil {
			return err
		}
	}
	if !pass { // it has been skipped
		for i := range s.Group {
			p.skip(p.st.step(s.Group[i].Name), "its group was skipped: "+group.Detail)
		}
		return nil
	}
	p.begin(group)
	running, outcome := len(s.Group), error(nil)
	for i := range s.Group {
		member := &s.Group[i]
		workflow.GoNamed(p.life, "step "+member.Name, func(ctx workflow.Context) {
			beside := *p
			beside.life = ctx // a coroutine waits by its own
			if err := beside.runStep(member); err != nil {
				outcome = err
			}
			running--
		})
	}
	p.await(func() bool { return running == 0 || p.ended() })
	if p.ended() {
		p.stopAll()
		p.await(func() bool { return running == 0 })
	}
	if outcome == nil {
		p.succeed(group, "")
	}
	return outcome
}

// ready waits while an operator wants the pipeline paused. Its error says that no
// work is to be begun.
func (p *pipeline) ready() error {
	for {
		switch {
		case p.st.Ending != nil:
			return errEnding
		case p.mustContinue():
			return errContinue
		case p.st.Pause == nil:
			return nil
		}
		p.await(func() bool { return p.st.Pause == nil || p.st.Ending != nil })
	}
}

// mustContinue reports whether the history has become so long that another run has to
// take over, which it does between two steps.
func (p *pipeline) mustContinue() bool {
	return !p.st.Undoing && !p.st.busy() && workflow.GetInfo(p.life).GetContinueAsNewSuggested()
}

// await shows how the pipeline stands and waits until something has come about.
func (p *pipeline) await(come func() bool) {
	p.publish()
	_ = workflow.Await(p.life, come) // life is never cancelled
	p.publish()
}

// ended reports whether whoever waits for a step's sake has to stop that.
func (p *pipeline) ended() bool { return p.st.Ending != nil }

// keep waits while steps keep what a rollback would need: their time begins now.
func (p *pipeline) keep() error {
	if p.st.State != task.Success {
		p.st.State, p.st.Error, p.st.Complete = task.Success, nil, true
		p.record("success", "", nil)
	}
	for _, st := range p.st.Steps {
		p.release(st)
	}
	over := func() bool { return p.st.Ending != nil || !p.st.keeping() || p.mustContinue() }
	for !over() {
		now := workflow.Now(p.life)
		timer, stop := startTimer(p.life, p.st.keptLast(now).Add(keepGrace).Sub(now), "until no step keeps anything")
		p.await(func() bool { return over() || timer.IsReady() })
		stop()
		now = workflow.Now(p.life)
		if !over() && !now.Before(p.st.keptLast(now)) { // one that was ended from outside has said nothing
			p.cleanup(task.StepRequest{Request: task.Request{Reason: "its time is over"}})
		}
	}
	switch {
	case p.st.Ending != nil:
		return errEnding
	case p.st.keeping():
		return errContinue
	}
	return nil
}

// finish ends the run in the way that the outcome of its steps asks for.
func (p *pipeline) finish(outcome error) (task.Status, error) {
	switch {
	case outcome == nil:
		return p.close(task.Success, "done", nil)
	case errors.Is(outcome, errContinue):
		p.settle()
		p.st.Runs++
		next := p.in
		next.Carried = p.st
		return p.status(), workflow.NewContinueAsNewError(p.life, task.PipelineWorkflow, next)
	}
	cancelled := p.undo()
	detail := p.st.Ending.why()
	if cancelled {
		return p.close(task.Cancelled, detail, nil)
	}
	return p.close(task.RolledBack, detail, p.st.Ending.Cause)
}

// close ends the pipeline in a final state.
func (p *pipeline) close(state task.State, detail string, failure *task.Failure) (task.Status, error) {
	now := workflow.Now(p.life)
	p.st.State, p.st.Error, p.st.EndedAt = state, failure, &now
	if state != task.Success {
		p.record(map[task.State]string{task.Cancelled: "cancelled", task.RolledBack: "rolled back"}[state], detail, failure)
	}
	p.publish()
	p.giveUp()
	p.settle()
	p.publish()
	options := temporal.ApplicationErrorOptions{NonRetryable: true}
	if failure != nil {
		options.Details = []any{failure}
	}
	switch state {
	case task.Cancelled:
		return p.status(), temporal.NewCanceledError(detail)
	case task.RolledBack:
		return p.status(), temporal.NewApplicationErrorWithOptions("rolled back: "+detail, string(task.Undone), options)
	}
	return p.status(), nil
}

// settle waits until ledger and steps have been told everything, every update has its
// answer and every signal that arrived has been acted on.
func (p *pipeline) settle() {
	for {
		passed := false
		workflow.GoNamed(p.life, "settle", func(workflow.Context) { passed = true })
		_ = workflow.Await(p.life, func() bool {
			return passed && p.recorder.idle() && *p.telling == 0 && workflow.AllHandlersFinished(p.life)
		})
		if !p.drain() {
			return
		}
	}
}

// keepGrace is how long after its time a step's migration may be open before it is
// looked whether it is there at all.
const keepGrace = time.Hour

// stepGrace is how long a step's migration may take to end that was asked to.
const stepGrace = time.Minute

// undoGrace is how long the undoing of a step without a limit may take before
// somebody has to look.
const undoGrace = 15 * time.Minute
