package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// limit is a limit of the spec that work runs against.
type limit struct {
	field string // its name in the spec
	whole bool   // it limits the whole migration, not one phase
	after time.Duration
	left  time.Duration
}

// timed does work that counts against the limits. When one is passed, the work
// is interrupted and the limit is left in m.overdue.
func (m *migration) timed(ctx workflow.Context, phase task.Phase, work func(*migration, workflow.Context) error) error {
	began := workflow.Now(ctx)
	clock, stop := workflow.WithCancel(ctx)
	if l := m.nearestLimit(phase); l != nil {
		workflow.GoNamed(clock, "limit "+l.field, func(ctx workflow.Context) {
			timer, _ := startTimer(ctx, l.left, fmt.Sprintf("%s: %s", l.field, spec.Duration(l.after)))
			// The work may have ended at the very moment at which the timer fired.
			if timer.Get(ctx, nil) == nil && ctx.Err() == nil {
				m.overdue = l
				m.interrupt()
			}
		})
	}
	err := work(m, ctx)
	stop()
	spent := workflow.Now(ctx).Sub(began)
	m.st.PhaseSpent += spent
	m.st.TotalSpent += spent
	return err
}

// nearestLimit is the limit that would be passed first; nil when there is none.
// What comes after the cut-over is no part of the whole's limit.
func (m *migration) nearestLimit(phase task.Phase) *limit {
	var nearest *limit
	if after := m.phaseLimit(phase); after > 0 {
		nearest = &limit{field: "timeouts." + string(phase), after: after, left: after - m.st.PhaseSpent}
	}
	if after := m.settings.Timeouts.Total.Std(); after > 0 && !m.st.cutOver() {
		whole := &limit{field: "timeouts.total", whole: true, after: after, left: after - m.st.TotalSpent}
		if nearest == nil || whole.left < nearest.left {
			nearest = whole
		}
	}
	return nearest
}

func (m *migration) phaseLimit(phase task.Phase) time.Duration {
	limits := m.settings.Timeouts
	switch phase {
	case task.Preflight:
		return limits.Preflight.Std()
	case task.Backup:
		return limits.Backup.Std()
	case task.Transform:
		return limits.Transform.Std()
	case task.Verify:
		return limits.Verify.Std()
	case task.Cutover:
		return limits.Cutover.Std()
	case task.Cleanup:
		return limits.Cleanup.Std()
	}
	return 0
}

// overran sees to the limit that was passed. It returns errInterrupted when the
// phase is to be started again, and otherwise the failure.
func (m *migration) overran() error {
	l := m.overdue
	m.overdue = nil
	what := fmt.Sprintf("phase %s", m.st.Phase)
	if l.whole {
		what = "the migration"
	}
	failure := &task.Failure{Class: task.Timeout, Phase: m.st.Phase, Message: fmt.Sprintf("%s did not end within %s (%s)", what, spec.Duration(l.after), l.field)}
	restarts := m.settings.attempts()
	switch {
	case m.settings.OnTimeout != spec.TimeoutRetry || l.whole || m.st.cutOver():
		return failure
	case m.st.Restarts >= restarts:
		failure.Message += fmt.Sprintf(", and not after %s either", plural(restarts, "restart"))
		return failure
	}
	m.st.Restarts++
	m.st.step(m.st.Phase).Attempts++
	m.st.PhaseSpent = 0
	return m.restart(failure, fmt.Sprintf("%s (restart %d of %d)", what, m.st.Restarts, restarts))
}

// restart waits before a phase is started again. Pauses and endings may come
// meanwhile, as at any other time.
func (m *migration) restart(failure *task.Failure, what string) error {
	scope, stop := workflow.WithCancel(m.life)
	m.stop = stop
	defer func() {
		stop()
		m.stop = nil
	}()
	delay := m.settings.roundDelay(m.st.Restarts)
	if err := m.waitOut(scope, delay, &wait{What: what, Failure: failure, Brief: delay < recordedWait}); err != nil {
		return err
	}
	return errInterrupted
}
