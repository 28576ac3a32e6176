package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// stepRecorder writes changes of state to the ledger, one after the other and besides
// the work.
type stepRecorder struct {
	queue []task.RecordStepsInput
	count int
}

func (r *stepRecorder) idle() bool { return len(r.queue) == 0 }

// record has an event written with how the pipeline and its steps stand.
func (p *pipeline) record(event, detail string, failure *task.Failure) {
	p.derive()
	if !p.st.Opened {
		return
	}
	var in task.RecordStepsInput
	in.Ref, in.State, in.Phase, in.Event, in.Detail, in.Error = p.ref, p.st.State, p.phase(), event, detail, failure
	for _, st := range p.st.Steps {
		in.Steps = append(in.Steps, task.PhaseStatus{Name: st.Name, State: st.State})
	}
	p.recorder.queue = append(p.recorder.queue, in)
}

// keepRecording is the recorder's coroutine.
func (p *pipeline) keepRecording(ctx workflow.Context) {
	r := p.recorder
	for {
		if workflow.Await(ctx, func() bool { return len(r.queue) > 0 }) != nil {
			return
		}
		in := r.queue[0]
		r.count++
		options := recording(ctx, fmt.Sprintf("record-%d", r.count), fmt.Sprintf("record %s: %s", in.State, in.Event))
		if err := workflow.ExecuteActivity(options, task.RecordStepsActivity, in).Get(ctx, nil); err != nil {
			p.st.note(workflow.Now(ctx), fmt.Sprintf("the ledger could not be told %q: %s", in.Event, judge(err, in.Phase).Message))
		}
		r.queue = r.queue[1:]
	}
}

// openAgain is the wait before the ledger is tried again.
const openAgain = time.Minute

// open writes the pipeline to its ledger, however long that takes: nothing has been
// done yet.
func (p *pipeline) open() error {
	for !p.st.Opened {
		if p.ended() {
			return errEnding
		}
		in := task.OpenPipelineInput{Ref: p.ref, Spec: p.in.Spec, Name: p.plan.Name}
		for _, st := range p.st.Steps {
			in.Steps = append(in.Steps, st.Name)
		}
		p.publish()
		ctx := workflow.WithActivityOptions(p.life, workflow.ActivityOptions{
			ActivityID: "open", Summary: "write the pipeline to its ledger", StartToCloseTimeout: recordLimit,
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumAttempts: recordAttempts, NonRetryableErrorTypes: forShards},
		})
		err := workflow.ExecuteActivity(ctx, task.OpenPipelineActivity, in).Get(p.life, nil)
		if err == nil {
			p.st.Opened, p.st.Error = true, nil
			p.record("pipeline begins", "", nil)
			break
		}
		p.st.Error = judge(err, task.Preflight)
		timer, stop := startTimer(p.life, openAgain, "try the ledger again")
		p.await(func() bool { return timer.IsReady() || p.ended() })
		stop()
	}
	return nil
}
