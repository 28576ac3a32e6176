package workflows

import (
	"fmt"

	"godwit/internal/task"
)

// What an operator can ask for, by the names of the CLI.
const (
	verbPause    = task.PauseSignal
	verbResume   = task.ResumeSignal
	verbCancel   = task.CancelSignal
	verbCutover  = task.CutoverUpdate
	verbRetry    = task.RetryUpdate
	verbRollback = task.RollbackUpdate
	verbThrottle = task.ThrottleUpdate
	verbCleanup  = task.CleanupUpdate
	verbSkip     = task.SkipUpdate
)

// verbs are shown in this order.
var verbs = []string{verbPause, verbResume, verbCutover, verbRetry, verbThrottle, verbCancel, verbRollback, verbCleanup}

// can lists the verbs that make sense now. `retry` and `rollback` start a run
// of their own once this one has ended.
func (m *migration) can() []string {
	can := []string{}
	for _, verb := range verbs {
		if m.refusal(verb) == "" || m.afterEnd(verb) {
			can = append(can, verb)
		}
	}
	return can
}

// afterEnd reports whether a verb makes sense for a migration that has ended.
func (m *migration) afterEnd(verb string) bool {
	if m.st.EndedAt == nil || !m.st.State.Resumable() {
		return false
	}
	return verb == verbRollback || verb == verbRetry && !m.st.Botched
}

// refusal says why a verb makes no sense now, and what does; empty when it does.
func (m *migration) refusal(verb string) string {
	switch {
	case m.st.EndedAt != nil:
		return m.endedRefusal()
	case m.undoing && verb == verbRetry && m.waits != nil:
		return ""
	case m.st.Ending != nil:
		return fmt.Sprintf("the migration is being undone (%s) already; `godwit wait %s` waits for its end", m.st.Ending.Verb, m.ref.ID)
	}
	switch verb {
	case verbPause, verbResume:
		return m.pauseRefusal(verb)
	case verbCancel:
		return m.cancelRefusal()
	case verbCutover:
		return m.cutoverRefusal()
	case verbRollback:
		return m.rollbackRefusal()
	case verbRetry:
		return m.retryRefusal()
	case verbThrottle:
		return m.throttleRefusal()
	case verbCleanup:
		return m.cleanupRefusal()
	case verbSkip:
		return "only a pipeline has steps that can be skipped; this is one migration"
	}
	return fmt.Sprintf("%q is nothing that a migration can do", verb)
}

func (m *migration) endedRefusal() string {
	switch text := "the migration has ended: " + string(m.st.State); {
	case m.afterEnd(verbRetry):
		return fmt.Sprintf("%s; `godwit retry %s` continues it, `godwit rollback %s` undoes it", text, m.ref.ID, m.ref.ID)
	case m.afterEnd(verbRollback):
		return fmt.Sprintf("%s; `godwit rollback %s` tries again to undo it", text, m.ref.ID)
	default:
		return text
	}
}

func (m *migration) pauseRefusal(verb string) string {
	switch {
	case m.st.cutOver():
		return "the migration has been cut over: only what was kept is still to be removed, and there is nothing to pause"
	case verb == verbPause && m.st.Pause != nil:
		return fmt.Sprintf("the migration is paused already; `godwit resume %s` goes on", m.ref.ID)
	case verb == verbResume && m.st.Pause == nil:
		return "the migration is not paused"
	}
	return ""
}

func (m *migration) cancelRefusal() string {
	switch {
	case m.st.keeping():
		return fmt.Sprintf("the migration has been cut over; `godwit rollback %s` undoes it", m.ref.ID)
	case m.st.cutOver():
		return "the migration has been cut over, and nothing is kept that could undo it"
	}
	return ""
}

func (m *migration) cutoverRefusal() string {
	switch {
	case m.st.cutOver():
		return "the migration has been cut over already"
	case !m.settings.manualCutover():
		return "the migration cuts over by itself as soon as verification is done (cutover.mode is not manual)"
	case m.st.Approved != nil:
		return "the cut-over has been asked for already"
	case m.st.Phase != task.Cutover:
		return fmt.Sprintf("the migration is in phase %s; the cut-over comes after verification: `godwit watch %s` shows when", m.st.Phase, m.ref.ID)
	case m.st.Pause != nil:
		return fmt.Sprintf("the migration is paused; `godwit resume %s` first", m.ref.ID)
	case !m.awaiting:
		return "the migration does not wait for the cut-over yet; try again in a moment"
	}
	return ""
}

func (m *migration) rollbackRefusal() string {
	switch {
	case m.st.cutOver() && m.st.Cleaning:
		return "what a rollback would need is being removed or gone"
	case m.st.cutOver() && !m.st.keeping():
		return "the migration has been cut over and nothing is kept that a rollback would need (see keep_old in the spec)"
	}
	return ""
}

func (m *migration) retryRefusal() string {
	switch {
	case m.st.Pause != nil:
		return fmt.Sprintf("the migration is paused; `godwit resume %s` goes on with everything", m.ref.ID)
	case m.waits != nil, m.held != nil, m.window != nil && len(m.st.Queue)+len(m.st.Lost) > 0:
		return ""
	}
	return "nothing waits for another try"
}

func (m *migration) throttleRefusal() string {
	if m.st.cutOver() {
		return "the migration has been cut over: there is nothing left to throttle"
	}
	return ""
}

func (m *migration) cleanupRefusal() string {
	switch {
	case m.held != nil, m.st.keeping():
		return ""
	case m.st.cutOver():
		return "what was kept is being removed already"
	}
	return fmt.Sprintf("the migration has not been cut over: nothing is kept yet; `godwit cancel %s` ends it and leaves nothing behind", m.ref.ID)
}
