package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// clock runs a step's limit, and with it that of the whole pipeline. Both stand still
// while the pipeline is paused, and while an operator is waited for.
type clock struct {
	p     *pipeline
	s     *pipelineStep
	st    *stepState
	on    bool
	since time.Time
	timer workflow.Future // nil where there is no limit
	stop  func()
	whole bool // the limit of the whole pipeline is the nearer one
}

func (p *pipeline) clock(s *pipelineStep, st *stepState) *clock {
	c := &clock{p: p, s: s, st: st}
	c.run()
	return c
}

// run lets it go on.
func (c *clock) run() {
	if c.on {
		return
	}
	c.on, c.since, c.whole = true, workflow.Now(c.p.life), false
	c.p.st.begins(c.since)
	left, name := c.s.Timeout.Std()-c.st.Spent, "step "+c.st.Name+": "+c.s.Timeout.String()
	total := c.p.plan.Timeouts.Total
	if all := total.Std() - c.p.st.worked(c.since); total > 0 && (c.s.Timeout == 0 || all < left) {
		left, name, c.whole = all, "the pipeline: "+total.String(), true
	}
	if c.s.Timeout > 0 || c.whole {
		c.timer, c.stop = startTimer(c.p.life, left, "limit of "+name)
	}
}

// halt lets it stand still.
func (c *clock) halt() {
	if !c.on {
		return
	}
	now := workflow.Now(c.p.life)
	c.on = false
	c.st.Spent += now.Sub(c.since)
	c.p.st.rests(now)
	if c.timer != nil {
		c.stop()
		c.timer = nil
	}
}

// out reports whether the limit has passed.
func (c *clock) out() bool { return c.timer != nil && c.timer.IsReady() }

func (c *clock) failure() *task.Failure {
	c.st.whole = c.whole
	if c.whole {
		return &task.Failure{Class: task.Timeout, Message: fmt.Sprintf("the pipeline did not end within its timeouts.total of %s; step %s was at work", c.p.plan.Timeouts.Total, c.st.Name)}
	}
	return &task.Failure{Class: task.Timeout, Message: fmt.Sprintf("step %s did not end within its timeout of %s", c.st.Name, c.s.Timeout)}
}

// begins and rests note that a step is at work, or no longer: steps may be side by side.
func (st *pipelineState) begins(now time.Time) {
	if st.working == 0 {
		st.since = now
	}
	st.working++
}

func (st *pipelineState) rests(now time.Time) {
	st.Worked = st.worked(now)
	st.since = now
	st.working--
}

// worked is how long steps have been at work that count against the limit of all.
func (st *pipelineState) worked(now time.Time) time.Duration {
	if st.working == 0 {
		return st.Worked
	}
	return st.Worked + now.Sub(st.since)
}
