package workflows

import (
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// try does a step once. It returns why it has failed; nil as well when the pipeline
// is ended or an operator skips the step.
func (p *pipeline) try(s *pipelineStep, st *stepState) *task.Failure {
	kind, _ := s.part()
	switch {
	case kind != "":
		return p.migrate(s, st)
	case s.Wait != nil:
		return p.waitFor(s, st)
	case s.HTTP != nil:
		return p.callOut(s, st)
	}
	return nil // it was an operator's to say go on
}

// migrate runs the step's migration until it has succeeded or ended. One that has
// failed before is continued: only what is missing is done.
func (p *pipeline) migrate(s *pipelineStep, st *stepState) *task.Failure {
	if st.Child.State == task.Success {
		return nil // late, or continued by its own id
	}
	if failure := p.start(s, st, nil); failure != nil {
		return failure
	}
	c := p.clock(s, st)
	defer c.halt()
	told := false
	for {
		p.await(func() bool {
			return !st.Child.Open || st.Child.State == task.Success || p.ended() || c.out() || st.asked == verbSkip || (p.st.Pause != nil) != told
		})
		switch {
		case st.Child.State == task.Success:
			return nil
		case !st.Child.Open:
			return p.lost(st)
		case p.ended() || st.asked == verbSkip:
			return nil
		case c.out():
			return p.expire(st, c.failure())
		case p.st.Pause != nil:
			told = true
			c.halt()
			p.tell(st, task.PauseSignal, *p.st.Pause)
		default:
			told = false
			p.tell(st, task.ResumeSignal, p.st.Resumed)
			c.run()
		}
	}
}

// lost is why a step's migration has ended that has not succeeded.
func (p *pipeline) lost(st *stepState) *task.Failure {
	if st.Child.Error != nil {
		failure := *st.Child.Error
		return &failure
	}
	return &task.Failure{Class: task.Human, Message: fmt.Sprintf("its migration %s has ended: %s", task.StepID(p.ref.ID, st.Name), st.Child.State)}
}

// expire ends a step's migration whose limit has passed, with everything kept. The
// pipeline does not hang with one that does not end: then it says so.
func (p *pipeline) expire(st *stepState, failure *task.Failure) *task.Failure {
	p.tell(st, task.ExpireSignal, task.Request{Reason: failure.Message})
	timer, stop := startTimer(p.life, stepGrace, "until step "+st.Name+" has ended")
	defer stop()
	p.await(func() bool { return !p.unended(st) || timer.IsReady() || p.ended() || st.asked == verbSkip })
	switch {
	case st.Child.State == task.Success:
		return nil
	case p.unended(st):
		failure.Message += ", and has not ended since it was asked to: look at `godwit status " + task.StepID(p.ref.ID, st.Name) + "`"
	}
	return failure
}

// unended reports whether the step's migration is at work.
func (p *pipeline) unended(st *stepState) bool {
	return st.Child.Open && st.Child.State != task.Success
}

// start begins a run of the step's migration. With undo, it does nothing but undo what
// earlier ones have done.
func (p *pipeline) start(s *pipelineStep, st *stepState, undo *task.UndoRequest) *task.Failure {
	if p.unended(st) && undo == nil {
		return nil // it had not ended when it was given up, or is at work by its own id: it is waited for
	}
	raw, err := p.plan.migration(s)
	if err != nil {
		return &task.Failure{Class: task.Internal, Message: err.Error()}
	}
	place := s.database()
	in := MigrationInput{Spec: raw, Ledger: place, Target: place, Pipeline: p.ref.ID, PipelineChain: p.chain,
		Rollback: undo != nil, Leave: undo != nil && undo.Leave, Resume: undo == nil && st.Child.State.Resumable()}
	priority := p.priorityOf(s)
	name := p.plan.Name + ": " + st.Name
	ctx := workflow.WithChildOptions(p.life, workflow.ChildWorkflowOptions{
		WorkflowID:            task.StepID(p.ref.ID, st.Name),
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON, // it may keep what a rollback needs, and ends by itself
		WaitForCancellation:   true,
		StaticSummary:         oneLine(fmt.Sprintf("step %s: %s", st.Name, st.Kind), mostSummary),
		StaticDetails:         "a step of pipeline " + p.ref.ID,
		Memo:                  map[string]any{"name": name, "pipeline": p.ref.ID},
		Priority:              temporal.Priority{PriorityKey: priority},
		TypedSearchAttributes: temporal.NewSearchAttributes(
			stateKey.ValueSet(string(task.Pending)), kindKey.ValueSet(st.Kind), targetKey.ValueSet(oneLine(place, mostSummary)), percentKey.ValueSet(0), attentionKey.ValueSet(false)),
	})
	p.awaitGone(st)
	future, run, err := p.begun(ctx, st, in)
	switch {
	case err != nil && st.Child.Open: // an operator was first, with the migration's own id
		if undo != nil {
			p.stop(st, undo.Leave)
		}
		return nil
	case err != nil:
		return p.notStarted(st, err)
	}
	st.ends = future
	if st.Child.Chain != run.RunID { // else its report was here first
		st.Child = child{Chain: run.RunID, State: task.Running, Open: true}
	}
	workflow.GoNamed(p.life, "end of "+st.Name, func(ctx workflow.Context) { p.watch(ctx, st, run.RunID, future) })
	return nil
}

// awaitGone waits until the step's earlier run is closed: it reports before it is, and
// its id is not free until then.
func (p *pipeline) awaitGone(st *stepState) {
	if st.ends == nil || st.ends.IsReady() {
		return
	}
	timer, stop := startTimer(p.life, stepGrace, "until the last run of step "+st.Name+" is closed")
	defer stop()
	p.await(func() bool { return st.ends.IsReady() || timer.IsReady() })
}

// mostBegun is how often it is tried to start a step's migration whose earlier run may
// not be closed yet.
const mostBegun = 6

// begun starts a run. Of one that this run of the pipeline has not begun, only the
// server knows when it is closed.
func (p *pipeline) begun(ctx workflow.Context, st *stepState, in MigrationInput) (workflow.ChildWorkflowFuture, workflow.Execution, error) {
	for i := 1; ; i++ {
		future := workflow.ExecuteChildWorkflow(ctx, task.MigrationWorkflow, in)
		var run workflow.Execution
		err := future.GetChildWorkflowExecution().Get(p.life, &run)
		if st.Child.Chain == "" || st.Child.Open || i == mostBegun || !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			return future, run, err
		}
		_ = workflow.Sleep(p.life, backOff(minDelay, stepGrace, i)) // life is never cancelled
	}
}

func (p *pipeline) notStarted(st *stepState, err error) *task.Failure {
	id := task.StepID(p.ref.ID, st.Name)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return &task.Failure{Class: task.Human, Message: fmt.Sprintf("a migration %s runs already that is not this pipeline's: look at `godwit status %s`; when it has ended, retry", id, id)}
	}
	return &task.Failure{Class: task.Internal, Message: fmt.Sprintf("its migration %s could not be started: %v", id, err)}
}

// priorityOf is what the step's own part says.
func (p *pipeline) priorityOf(s *pipelineStep) int {
	_, part := s.part()
	var own struct{ Priority int }
	if decode(part, &own) == nil && own.Priority > 0 {
		return own.Priority
	}
	return p.plan.Priority
}

// watch learns of the end of a run that could not say so itself: one that was
// terminated, or could not begin.
func (p *pipeline) watch(ctx workflow.Context, st *stepState, chain string, future workflow.Future) {
	var status task.Status
	err := future.Get(ctx, &status)
	if st.Child.Chain != chain || !st.Child.Open {
		return
	}
	report := task.StepReport{Chain: chain, State: task.Success, Closed: true}
	switch {
	case err == nil:
	case temporal.IsCanceledError(err):
		report.State = task.Cancelled
	default:
		report.State, report.Error = task.Failed, judge(err, "")
		if report.Error.Class == task.Undone {
			report.State, report.Error = task.RolledBack, nil
		}
	}
	p.reported(st, report)
}

// reported takes over what a step's migration says of itself. An unknown run of a
// migration that has ended before is a new one: it was begun just now, or by an
// operator with the migration's own id.
func (p *pipeline) reported(st *stepState, r task.StepReport) {
	c := &st.Child
	if c.Chain == "" || r.Chain != c.Chain && r.Run != c.Chain {
		if r.Chain == "" || c.Open || st.State == task.Pending {
			return // of an earlier run
		}
		c.Chain = r.Chain
	}
	c.State, c.Open, c.KeepFor, c.KeptUntil, c.Error, c.Botched, c.Left = r.State, !r.Closed, r.KeepFor, r.KeptUntil, r.Error, r.Botched, r.Left
	if r.State == task.RolledBack && st.State == task.Success && !p.st.Undoing {
		st.State, st.Done, st.Detail = task.RolledBack, false, "by an operator, with its migration's own id"
		p.record("step undone", st.Name+" "+st.Detail, nil)
	}
	if r.State == task.Success && st.State == task.Skipped && !r.Closed && !p.st.Undoing {
		p.succeed(st, "by an operator, with its migration's own id") // and is undone in its turn
	}
	p.release(st)
	p.publish()
}

// tell sends a signal to the step's migration. One that has ended meanwhile reports that itself.
func (p *pipeline) tell(st *stepState, signal string, r any) {
	*p.telling++
	workflow.GoNamed(p.life, signal+" "+st.Name, func(ctx workflow.Context) {
		defer func() { *p.telling-- }()
		err := workflow.SignalExternalWorkflow(ctx, task.StepID(p.ref.ID, st.Name), "", signal, r).Get(ctx, nil)
		if err == nil {
			return
		}
		p.st.note(workflow.Now(ctx), fmt.Sprintf("step %s could not be told %q: %v", st.Name, signal, err))
		// One that ends by itself says so before it does.
		if _, gone := errors.AsType[*temporal.UnknownExternalWorkflowExecutionError](err); gone && st.Child.Open {
			p.reported(st, task.StepReport{Chain: st.Child.Chain, State: task.Failed, Closed: true, Error: &task.Failure{Class: task.Internal,
				Message: fmt.Sprintf("its migration %s was ended in Temporal from outside", task.StepID(p.ref.ID, st.Name))}})
		}
	})
}

// waitFor waits until a query is true, and then for a window.
func (p *pipeline) waitFor(s *pipelineStep, st *stepState) *task.Failure {
	defer func() { st.waits = "" }()
	w := s.Wait
	if w.Query != "" {
		var expect *string
		if w.Expect != nil {
			expect = (*string)(w.Expect)
		}
		st.waits = "the query of step " + st.Name + " to be true"
		in := task.ConditionInput{Database: w.Database, Query: w.Query, Expect: expect, Every: w.Every.Std()}
		failure := p.activity(s, st, task.ConditionActivity, "wait", "until "+w.Query, in, &task.ConditionResult{})
		if failure != nil || p.ended() || st.asked != "" {
			return failure
		}
	}
	return p.waitWindow(s, st, w.Between)
}

func (p *pipeline) waitWindow(s *pipelineStep, st *stepState, window spec.Window) *task.Failure {
	c := p.clock(s, st)
	defer c.halt()
	given := func() bool { return p.ended() || st.asked == verbSkip }
	for {
		delay := window.Wait(workflow.Now(p.life))
		if delay == 0 && p.st.Pause == nil {
			return nil
		}
		st.waits = fmt.Sprintf("the window %s UTC, at %s", window, moment(workflow.Now(p.life).Add(delay)))
		timer, stop := startTimer(p.life, delay, fmt.Sprintf("step %s: the window %s", st.Name, window))
		p.await(func() bool { return timer.IsReady() || c.out() || given() || p.st.Pause != nil })
		stop()
		switch {
		case given():
			return nil
		case p.st.Pause != nil: // the window may be over by then
			c.halt()
			p.await(func() bool { return p.st.Pause == nil || given() })
			c.run()
		case c.out():
			return c.failure()
		}
	}
}

// callOut calls an address.
func (p *pipeline) callOut(s *pipelineStep, st *stepState) *task.Failure {
	h := s.HTTP
	in := task.CallInput{Key: task.StepID(p.ref.ID, st.Name) + "." + p.chain, Method: string(h.Method), URL: h.URL, Headers: h.Headers, SecretHeaders: h.SecretHeaders,
		Body: h.Body, Status: h.Status, Contains: h.Contains, Limit: h.Limit.Std(), Repeat: h.Repeat || repeatableCall(string(h.Method))}
	before := st.Sent
	st.Sent = changesSomething(string(h.Method))
	var result task.CallResult
	failure := p.activity(s, st, task.CallActivity, "call", in.Method+" "+in.URL, in, &result)
	switch {
	case failure == nil:
	case failure.Class == task.Config, result.Unsent:
		st.Sent = before // it was not made, or nobody took it
	case failure.Class == task.Timeout && !in.Repeat:
		failure.Message += "; the call may have arrived: look, then retry to call again, or skip"
		st.unsure = true
	}
	if failure == nil && result.Status > 0 {
		st.Detail = fmt.Sprintf("answered %d", result.Status)
	}
	return failure
}

// repeatableCall reports whether calling twice is the same as calling once.
func repeatableCall(method string) bool { return method != "POST" && method != "PATCH" }

// changesSomething reports whether a call may do what cannot be taken back.
func changesSomething(method string) bool { return method != "GET" && method != "HEAD" }
