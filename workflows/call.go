package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// recordedWait is the shortest wait that the ledger is told about.
const recordedWait = 5 * time.Second

// triesWithoutTrace are how often a rollback is tried of a migration that never
// passed preflight, so that most probably there is nothing to undo.
const triesWithoutTrace = 3

// wait is the wait of a phase before another try.
type wait struct {
	What    string // what is tried again
	Until   time.Time
	Failure *task.Failure
	Brief   bool // too short for the ledger
}

// activityWords says what an activity does, for people; its id is its name in
// the Web UI.
var activityWords = map[string]struct{ id, words string }{
	task.PreflightActivity:        {"preflight", "check what can be checked beforehand"},
	task.BackupActivity:           {"backup", "back up what a rollback needs"},
	task.PrepareTransformActivity: {"transform-prepare", "prepare and cut into shards"},
	task.FinishTransformActivity:  {"transform-finish", "finish what comes after all shards"},
	task.PrepareVerifyActivity:    {"verify-prepare", "cut the comparison into shards"},
	task.FinishVerifyActivity:     {"verify-finish", "conclude the comparison"},
	task.CutoverActivity:          {"cutover", "cut over"},
	task.CleanupActivity:          {"cleanup", "remove what was kept for a rollback"},
	task.RollbackActivity:         {"rollback", "undo everything that was done"},
}

// call runs an activity that does a phase's work as a whole, and tries it again
// as often as the spec allows. Each wait is in the open: the state is RETRYING. The
// error is errInterrupted, errContinue, or the *task.Failure that remains.
func (m *migration) call(ctx workflow.Context, activity string, in, out any) error {
	about := activityWords[activity]
	m.doing = about.words
	defer func() { m.doing = "" }()
	for {
		m.publish()
		scope := working(ctx, about.id, about.words, forPhases)
		err := workflow.ExecuteActivity(scope, activity, in).Get(scope, out)
		switch {
		case err == nil:
			m.st.Tries = tries{}
			return nil
		case ctx.Err() != nil:
			// Whatever it found out, it is found again when it is called again.
			return errInterrupted
		}
		failure := judge(err, m.st.Phase)
		if failure.Class == task.Mismatch {
			m.st.Verified = comparedBy(err)
		}
		if err := m.waitForTry(ctx, activity, failure); err != nil {
			return err
		}
	}
}

// waitForTry waits before an activity is called again, if it is.
func (m *migration) waitForTry(ctx workflow.Context, activity string, failure *task.Failure) error {
	delay, what := minDelay, activityWords[activity].words
	if !repeatable(failure.Class) {
		failed, budget := m.countTry(activity), m.budget(activity)
		switch {
		case failed < budget && failure.Class.Retryable():
		case failed > 1:
			failure.Message = fmt.Sprintf("%s failed %s: %s", what, plural(failed, "time"), failure.Message)
			fallthrough
		default:
			m.st.Tries = tries{}
			return failure
		}
		delay = m.settings.callDelay(failed)
		what = fmt.Sprintf("%s (try %d of %d)", what, failed+1, budget)
	}
	m.st.step(m.st.Phase).Attempts++
	return m.waitOut(ctx, delay, &wait{What: what, Failure: failure, Brief: delay < recordedWait})
}

// countTry counts a failed call of an activity.
func (m *migration) countTry(activity string) int {
	if m.st.Tries.Activity != activity {
		m.st.Tries = tries{Activity: activity}
	}
	m.st.Tries.Failed++
	return m.st.Tries.Failed
}

// waitOut waits for a delay to pass, or for an operator who is in a hurry.
func (m *migration) waitOut(ctx workflow.Context, delay time.Duration, w *wait) error {
	w.Until = workflow.Now(ctx).Add(delay)
	m.waits, m.hurry = w, false
	timer, stop := startTimer(ctx, delay, "next try: "+w.What)
	m.await(ctx, func() bool { return timer.IsReady() || m.hurry })
	over := timer.IsReady() || m.hurry
	stop()
	m.waits, m.hurry = nil, false
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case !over:
		return errContinue
	}
	return nil
}

// budget is how many tries an activity has.
func (m *migration) budget(activity string) int {
	if activity == task.RollbackActivity && m.untouched() {
		return triesWithoutTrace
	}
	return m.settings.attempts() * (1 + m.settings.rounds())
}

// untouched reports whether the migration has not even passed preflight, in
// this run or an earlier one.
func (m *migration) untouched() bool { return m.st.Plan == nil && !m.in.Resume && !m.in.Rollback }
