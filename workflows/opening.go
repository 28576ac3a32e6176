package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// shutDelay is how long a cut-over that was told that its window is over waits at
// the least: the worker's clock and this one are not the same.
const shutDelay = 30 * time.Second

// awaitCutover waits until the cut-over may begin: for an operator, and then for
// its window.
func (m *migration) awaitCutover(ctx workflow.Context) error {
	if err := m.awaitApproval(ctx); err != nil {
		return err
	}
	return m.awaitWindow(ctx)
}

// awaitWindow waits for the time of the day in which it may be cut over.
func (m *migration) awaitWindow(ctx workflow.Context) error {
	for {
		now := workflow.Now(ctx)
		delay := m.settings.own.Cutover.Between.Wait(now)
		if m.shut {
			delay, m.shut = max(delay, shutDelay), false
		}
		if delay == 0 {
			return nil
		}
		m.unseat()
		opens := now.Add(delay)
		m.opens = &opens
		timer, stop := startTimer(ctx, delay, "the window of the cut-over, "+string(m.settings.own.Cutover.Between))
		m.await(ctx, timer.IsReady)
		open := timer.IsReady()
		stop()
		m.opens = nil
		switch {
		case ctx.Err() != nil:
			return errInterrupted
		case !open:
			return errContinue
		}
	}
}
