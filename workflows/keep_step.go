package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// What undoes a pipeline's step must be there for as long as the pipeline may be
// undone, however long that waits for an operator. So the step's time begins when the
// pipeline says that it is over. One that was ended in Temporal from outside says
// nothing: it is looked for now and then, so that nothing is kept for ever.

// lookEvery is how often a step looks whether its pipeline is there.
const lookEvery = time.Hour

// keepForPipeline keeps until the pipeline that the migration is a step of is over.
func (m *migration) keepForPipeline(ctx workflow.Context) error {
	scope, stop := workflow.WithCancel(ctx)
	defer stop()
	workflow.GoNamed(scope, "look for the pipeline", m.lookForPipeline)
	return m.tendUntil(ctx, func() bool { return m.st.KeptUntil != nil || m.st.Released != nil })
}

// lookForPipeline is a coroutine beside the keeping. What cannot be found out is
// looked for again in time.
func (m *migration) lookForPipeline(ctx workflow.Context) {
	for {
		found := task.PipelineFound{Open: true}
		in := task.PipelineRef{ID: m.in.Pipeline, Chain: m.in.PipelineChain}
		err := workflow.ExecuteLocalActivity(asking(ctx, "look whether the pipeline is there"), task.LookForPipelineActivity, in).Get(ctx, &found)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && !found.Open:
			m.pipelineOver("it has ended, and has not said so")
			return
		}
		timer, stop := startTimer(ctx, lookEvery, "look for the pipeline again")
		err = workflow.Await(ctx, timer.IsReady)
		stop()
		if err != nil {
			return
		}
	}
}

// keepAsked is what the pipeline has to say about it.
func (m *migration) keepAsked(raw converter.RawValue) {
	var r task.KeepRequest
	if m.in.Pipeline == "" || decode(raw.Payload().GetData(), &r) != nil {
		return
	}
	if r.Over {
		m.pipelineOver("")
		return
	}
	m.st.PipelineOver = false
	if m.st.keeping() && m.st.Ending == nil && m.st.KeptUntil != nil {
		m.st.KeptUntil = nil
		m.record("kept for the pipeline", "what a rollback needs is kept until "+m.keptWords(), nil)
		m.reportSuccess(&entry{done: true})
	}
}

// pipelineOver lets the time of keep_old begin.
func (m *migration) pipelineOver(why string) {
	m.st.PipelineOver = true
	if !m.st.keeping() || m.st.Ending != nil || m.st.KeptUntil != nil {
		return
	}
	m.countKept()
	detail := "what a rollback needs is kept until " + m.keptWords()
	if why != "" {
		detail = why + ": " + detail
	}
	m.record("pipeline over", detail, nil)
	m.reportSuccess(&entry{done: true})
}

// countKept begins the time for which something is kept.
func (m *migration) countKept() {
	if m.st.KeepFor > 0 {
		until := workflow.Now(m.life).Add(m.st.KeepFor)
		m.st.KeptUntil = &until
	}
}

// keptWords say until when something is kept.
func (m *migration) keptWords() string {
	if m.st.KeptUntil != nil {
		return moment(*m.st.KeptUntil)
	}
	return fmt.Sprintf("its pipeline is over, and for %s after that", spec.Duration(m.st.KeepFor))
}
