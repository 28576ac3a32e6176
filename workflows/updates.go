package workflows

import (
	"fmt"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// mostParallel is how many shards may run at once, as in a spec.
const mostParallel = 64

// update is something that an operator asks for and that is either accepted or
// refused with a reason.
type update struct {
	name        string
	description string
	act         func(task.Request)
}

func (m *migration) acceptUpdates(ctx workflow.Context) error {
	updates := []update{
		{task.CutoverUpdate, `Cut over now, where cutover.mode is manual. Input: none, or {"reason": "…"}.`, m.approve},
		{task.RollbackUpdate, `Undo the migration; after the cut-over as long as something is kept. Input: none, or {"reason": "…"}.`, m.rollback},
		{task.RetryUpdate, `Begin now what waits for another try. Input: none, or {"reason": "…"}.`, m.retry},
		{task.CleanupUpdate, `Stop keeping what a rollback would need. Input: none, or {"reason": "…"}.`, m.release},
		{task.SkipUpdate, `Skip a step of a pipeline; a single migration has none.`, func(task.Request) {}},
	}
	for _, u := range updates {
		validate := func(converter.RawValue) error { return refuse(m.refusal(u.name)) }
		handle := func(_ workflow.Context, raw converter.RawValue) (task.Status, error) {
			u.act(readRequest(raw))
			m.publish()
			return m.status(), nil
		}
		if err := workflow.SetUpdateHandlerWithOptions(ctx, u.name, handle, workflow.UpdateHandlerOptions{Validator: validate, Description: u.description}); err != nil {
			return err
		}
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, task.ThrottleUpdate, m.throttle, workflow.UpdateHandlerOptions{
		Validator:   m.checkThrottle,
		Description: `Change limits and guards: {"rows_per_second": 50000, "parallel": 4, "max_lag": "5s", "hold": "why"}; the fields are those of a spec's throttle, 0 or "none" takes one away, one that is left out stays as it is.`,
	})
}

// refuse makes the error of a refusal; nil when there is no reason to.
func refuse(why string) error {
	if why == "" {
		return nil
	}
	return temporal.NewNonRetryableApplicationError(why, string(task.Config), nil)
}

func (m *migration) approve(r task.Request) {
	m.st.Approved = &r
	if m.untend != nil {
		m.untend()
	}
	m.record("cutover asked", oneLine(asked(r), mostSummary), nil)
}

func (m *migration) rollback(r task.Request) {
	m.end(&ending{Verb: verbRollback, Request: r})
}

func (m *migration) retry(r task.Request) {
	m.hurry = true
	m.record("retry asked", oneLine(asked(r), mostSummary), m.st.Error)
}

func (m *migration) release(r task.Request) {
	m.st.Released = &r
	if m.untend != nil {
		m.untend()
	}
	m.hurry = m.held != nil
	m.record("cleanup asked", oneLine(asked(r), mostSummary), m.st.Error)
}

func (m *migration) checkThrottle(raw converter.RawValue) error {
	if why := m.refusal(verbThrottle); why != "" {
		return refuse(why)
	}
	_, err := m.readThrottle(raw)
	return err
}

// throttle changes the limits. The window goes by them at once; shards that
// are running read the ledger, which is told all that was ever changed.
func (m *migration) throttle(ctx workflow.Context, raw converter.RawValue) (task.Status, error) {
	settings, err := m.readThrottle(raw)
	if err != nil {
		return task.Status{}, err
	}
	m.st.Limits = m.st.Limits.With(settings)
	limits := m.st.Limits
	detail := oneLine(settings.String(), mostSummary) //workflowcheck:ignore
	e := m.tell(task.RecordInput{Event: "throttle", Detail: detail, Throttle: &limits, Error: m.st.Error})
	m.publish()
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	_ = workflow.Await(ctx, func() bool { return e.done })
	if e.err != nil {
		return task.Status{}, temporal.NewNonRetryableApplicationError(
			"the limits are in force for shards that begin from now on, but the ledger could not be told, which those that are running go by; try again: "+
				judge(e.err, m.st.Phase).Message, string(task.Transient), nil)
	}
	return m.status(), nil
}

func (m *migration) readThrottle(raw converter.RawValue) (task.ThrottleSettings, error) {
	var settings task.ThrottleSettings
	err := decodeKnown(raw.Payload().GetData(), &settings)
	parallel, rows := settings.Parallel, settings.RowsPerSecond
	switch {
	case err != nil:
		return settings, refuse(`the limits cannot be read; give them like {"rows_per_second": 50000, "max_lag": "5s"}: ` + err.Error())
	case settings.Empty():
		return settings, refuse("nothing is to be changed: give rows_per_second, parallel, max_lag, hold or another field of a spec's throttle")
	case parallel != nil && (*parallel < 1 || *parallel > mostParallel):
		return settings, refuse(fmt.Sprintf("parallel is %d, and must be from 1 to %d; `pause` stops everything", *parallel, mostParallel))
	case rows != nil && *rows < 0:
		return settings, refuse(fmt.Sprintf("rows_per_second is %d, and must be 0 (no limit) or more", *rows))
	}
	all := m.st.Limits.With(settings)
	_, err = m.settings.Throttle.With(&all) //workflowcheck:ignore
	if err != nil {
		return settings, refuse(err.Error())
	}
	return settings, nil
}
