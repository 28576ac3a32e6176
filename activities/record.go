package activities

import (
	"context"

	"godwit/internal/task"
)

// Record writes a change of state or of settings to the ledger, with an event.
// A migration that the ledger does not know yet has nothing to write to.
func (a *Activities) Record(ctx context.Context, in task.RecordInput) error {
	p := newPulse(ctx, in.Phase, 0)
	defer p.end()
	if err := a.record(p.ctx, in); err != nil {
		return p.report(err)
	}
	return nil
}

func (a *Activities) record(ctx context.Context, in task.RecordInput) error {
	_, run, m, err := a.open(ctx, in.Ref)
	if err != nil || m == nil {
		return err
	}
	if in.Throttle != nil {
		if err := run.Ledger.SetThrottle(ctx, *in.Throttle); err != nil {
			return err
		}
	}
	if err := run.Ledger.SetState(ctx, in.State, in.Phase, in.Error); err != nil {
		return err
	}
	return run.Ledger.Note(ctx, task.Event{What: in.Event, Phase: in.Phase, Detail: in.Detail, Error: in.Error})
}
