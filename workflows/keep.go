package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// keep leaves in place what a rollback would need, for as long as was asked for,
// and tends it where it would get out of date. The time of a pipeline's step does
// not begin before the pipeline is over.
func (m *migration) keep(ctx workflow.Context) error {
	for m.st.keeping() {
		if m.st.KeptUntil == nil {
			if err := m.keepForPipeline(ctx); err != nil {
				return err
			}
			continue
		}
		if passed, err := m.keepUntil(ctx, m.st.KeptUntil); err != nil || passed {
			return err
		}
	}
	return nil
}

// keepUntil keeps until a time, or until something else is asked for.
func (m *migration) keepUntil(ctx workflow.Context, until *time.Time) (passed bool, err error) {
	end, stop := startTimer(ctx, until.Sub(workflow.Now(ctx)), "keep what a rollback needs until "+until.UTC().Format(time.DateTime))
	defer stop()
	changed := func() bool { return m.st.Released != nil || m.st.KeptUntil != until }
	err = m.tendUntil(ctx, func() bool { return end.IsReady() || changed() })
	return end.IsReady() && !changed(), err
}

// tendUntil tends what is kept until it is not to be kept any more, or in another way.
func (m *migration) tendUntil(ctx workflow.Context, over func() bool) error {
	for {
		due := m.untilOver(ctx, over)
		switch {
		case ctx.Err() != nil:
			return errInterrupted
		case over():
			return nil
		case !due:
			return errContinue
		}
		if err := m.tendKept(ctx); err != nil {
			return err
		}
	}
}

// untilOver waits until nothing is to be kept any more. It reports whether it is
// time to tend what is.
func (m *migration) untilOver(ctx workflow.Context, over func() bool) (due bool) {
	if m.st.TendKept <= 0 {
		m.await(ctx, over)
		return false
	}
	timer, stop := startTimer(ctx, m.st.TendKept, "tend what is kept")
	defer stop()
	m.await(ctx, func() bool { return over() || timer.IsReady() })
	return timer.IsReady()
}

// tendKept brings what is kept up to date. The migration has succeeded: when it
// cannot be, that is shown, and tried again.
func (m *migration) tendKept(ctx workflow.Context) error {
	tended, err := m.tend(ctx, "tend what is kept")
	was := m.st.Untended
	var failure *task.Failure
	switch {
	case errors.As(err, &failure):
		m.st.Untended = failure
		if was == nil || was.Message != failure.Message {
			m.record("what is kept cannot be tended", "a rollback may not be possible: "+failure.Message, failure)
		}
		return nil
	case tended && was != nil:
		m.st.Untended = nil
		m.record("what is kept is tended again", "", nil)
	}
	return err
}
