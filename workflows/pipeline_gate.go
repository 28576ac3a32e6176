package workflows

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

const (
	// askLimit bounds one attempt to look into a ledger for a step. A query of the
	// spec's own takes as long as it takes: the step's limit ends it.
	askLimit = 5 * time.Minute
	// askAgain is the wait after one that has failed, at the longest.
	askAgain = 30 * time.Second
)

// gate lets a step begin when it may: needs, when and approve, in this order. It
// reports false when the step is skipped; its error is errEnding.
func (p *pipeline) gate(s *pipelineStep, st *stepState) (pass bool, err error) {
	st.atGate = true
	defer func() { st.atGate = false }()
	for {
		if err := p.unpaused(); err != nil {
			return false, err
		}
		skipped, failure := p.conditions(s, st)
		if failure == nil && skipped == "" && !p.ended() && st.asked != verbSkip {
			waits := s.Approve && st.Approved == nil
			if pass, err := p.approval(s, st); err != nil || !pass {
				return pass, err
			}
			if waits { // for days, maybe: what it needs may have been undone
				failure = p.needs(s, st)
			}
		}
		switch {
		case p.ended():
			return false, errEnding
		case st.asked == verbSkip:
			st.asked = ""
			p.skip(st, "skipped"+asked(st.by))
			return false, nil
		case failure == nil && skipped != "":
			p.skip(st, skipped)
			return false, nil
		case failure == nil:
			return true, nil
		}
		st.Tries++
		if again, err := p.react(s, st, failure); err != nil || !again {
			return false, err
		}
		st.State, st.EndedAt, st.Error, st.asked = task.Pending, nil, nil, "" // it has not begun
	}
}

// conditions looks at needs and when. It returns why the step is skipped, or the
// failure.
func (p *pipeline) conditions(s *pipelineStep, st *stepState) (skipped string, failure *task.Failure) {
	if failure := p.needs(s, st); failure != nil || s.When == nil || p.ended() || st.asked == verbSkip {
		return "", failure
	}
	var expect *string
	if s.When.Expect != nil {
		expect = (*string)(s.When.Expect)
	}
	var result task.ConditionResult
	in := task.ConditionInput{Database: s.When.Database, Query: s.When.Query, Expect: expect}
	st.waits = "the answer to its when"
	defer func() { st.waits = "" }()
	failure = p.activity(s, st, task.ConditionActivity, "when", "ask when of step "+s.Name, in, &result)
	if failure == nil && !result.True {
		skipped = fmt.Sprintf("when was not true: the query says %s", oneLine(result.Answer, mostSummary))
	}
	return skipped, failure
}

// needs makes sure that what has to be done before is.
func (p *pipeline) needs(s *pipelineStep, st *stepState) *task.Failure {
	var others []string
	for _, name := range s.Needs {
		before := p.st.step(name)
		switch {
		case before.Name == "" && (name == p.plan.Name || name == p.ref.ID):
			return &task.Failure{Class: task.Config, Message: fmt.Sprintf("it needs %s, which is this pipeline: it would wait for itself", name)}
		case before.Name == "":
			others = append(others, name)
		case before.State != task.Success:
			return &task.Failure{Class: task.Config, Message: fmt.Sprintf("it needs step %s, which is %s", name, before.State)}
		}
	}
	if len(others) == 0 {
		return nil
	}
	ledger := s.database()
	if ledger == "" && s.When != nil {
		ledger = s.When.Database
	}
	if ledger == "" {
		ledger = p.in.Ledger
	}
	in := task.NeedsInput{Ledger: ledger, Names: others}
	st.waits = "what it needs: " + strings.Join(others, ", ")
	defer func() { st.waits = "" }()
	return p.activity(s, st, task.NeedsActivity, "needs", "look whether "+strings.Join(others, ", ")+" is done", in, &task.NeedsResult{})
}

// approval waits for an operator, if the step wants one.
func (p *pipeline) approval(s *pipelineStep, st *stepState) (bool, error) {
	if !s.Approve || st.Approved != nil {
		return true, nil
	}
	st.needsYou, st.waits = true, fmt.Sprintf("an operator: `godwit approve %s %s`", p.ref.ID, st.Name)
	p.record("step waits for approval", st.Name, nil)
	p.await(func() bool { return p.ended() || st.Approved != nil || st.asked == verbSkip })
	st.needsYou, st.waits = false, ""
	switch {
	case p.ended():
		return false, errEnding
	case st.Approved != nil:
		p.record("step approved", st.Name+asked(*st.Approved), nil)
		return true, p.unpaused()
	}
	st.asked = ""
	p.skip(st, "skipped"+asked(st.by))
	return false, nil
}

// activity runs an activity of a step's under its limit, until the pipeline is ended
// or an operator skips the step. While the pipeline is paused, it is not waited for:
// it is begun again afterwards.
func (p *pipeline) activity(s *pipelineStep, st *stepState, name, id, summary string, in, out any) *task.Failure {
	c := p.clock(s, st)
	defer c.halt()
	for {
		scope, stop := workflow.WithCancel(p.life)
		*p.asks++ // an id that is being cancelled is not free yet
		future := workflow.ExecuteActivity(asksFor(scope, fmt.Sprintf("%s-%s-%d", st.Name, id, *p.asks), summary, in), name, in)
		halted := func() bool { return p.st.Pause != nil && name != task.CallActivity } // a call is soon over, and is not made twice
		p.await(func() bool { return future.IsReady() || p.ended() || c.out() || halted() || st.asked == verbSkip })
		done, late := future.IsReady(), c.out()
		stop()
		switch {
		case done:
			err := future.Get(p.life, out)
			failure := once(judge(err, task.Transform), in)
			if failure != nil && repeatable(failure.Class) && workflow.Sleep(p.life, minDelay) == nil {
				continue
			}
			alsoTold(err, out)
			return failure
		case p.ended() || st.asked == verbSkip:
			return nil
		case late:
			return c.failure()
		default:
			c.halt()
			p.await(func() bool { return p.st.Pause == nil || p.ended() || st.asked == verbSkip })
			if p.ended() || st.asked == verbSkip {
				return nil
			}
			c.run()
		}
	}
}

// alsoTold reads what an activity says besides its failure.
func alsoTold(err error, out any) {
	if application, is := errors.AsType[*temporal.ApplicationError](err); is {
		_ = application.Details(&task.Failure{}, out) // there may be nothing
	}
}

// once is the failure of a call that was lost with its worker. It may have arrived, so
// one that may not be made twice is left to an operator.
func once(failure *task.Failure, in any) *task.Failure {
	c, is := in.(task.CallInput)
	if !is || c.Repeat || failure == nil || !repeatable(failure.Class) {
		return failure
	}
	return &task.Failure{Class: task.Human, Phase: failure.Phase,
		Message: fmt.Sprintf("%s %s may have arrived (%s): look, then retry to call again, or skip", c.Method, c.URL, failure.Message)}
}

// asksFor are the options of an activity that asks for something. The server tries it
// again: between two tries it takes no place in a worker, and leaves nothing in the
// history, however long it has to wait. A call is not tried again.
func asksFor(ctx workflow.Context, id, summary string, in any) workflow.Context {
	options := workflow.ActivityOptions{
		ActivityID: id, Summary: oneLine(summary, mostSummary), StartToCloseTimeout: askLimit, HeartbeatTimeout: heartbeat,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: askAgain, NonRetryableErrorTypes: forShards},
	}
	switch in := in.(type) {
	case task.ConditionInput:
		options.StartToCloseTimeout = workLimit // a lost worker is found by its heartbeats
	case task.CallInput:
		options.StartToCloseTimeout = in.Limit + stepGrace // it ends by its own limit
		options.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: 1}
	}
	return workflow.WithActivityOptions(ctx, options)
}
