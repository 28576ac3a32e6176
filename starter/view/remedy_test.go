package view

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestAnErrorComesWithWhatCanBeDoneAboutIt(t *testing.T) {
	st := task.Status{ID: "ddl-1", Kind: task.DDL, State: task.Failed, Error: &task.Failure{Class: task.Config}, Can: []string{task.RetryUpdate, task.RollbackUpdate}}
	require.Equal(t, "mend what it names, then:\n"+
		"  godwit retry    ddl-1   goes on and does only what is missing\n"+
		"  godwit rollback ddl-1   undoes it", Remedy(st))
	st.Can = nil
	require.Contains(t, Remedy(st), "godwit rollback ddl-1", "without a worker both are worth a try")
	st.State = task.Success
	require.Empty(t, Remedy(st))
}

func TestWhatCanBeDoneAboutAPipelineNamesTheStep(t *testing.T) {
	st := task.Status{ID: "p", Kind: task.Pipeline, State: task.Failed, Error: &task.Failure{Class: task.Human},
		Steps: []task.PhaseStatus{{Name: "add", State: task.Success}, {Name: "fill", State: task.TimedOut}},
		Can:   []string{task.RetryUpdate, task.SkipUpdate, task.CancelSignal, task.RollbackUpdate}}
	require.Equal(t, "decide, then:\n"+
		"  godwit retry    p fill   goes on and does only what is missing\n"+
		"  godwit skip     p fill   undoes what the step has begun, and goes on with the next\n"+
		"  godwit rollback p   undoes all steps, the last first", Remedy(st))
	st.Steps = append(st.Steps, task.PhaseStatus{Name: "index", State: task.Failed, UndoFailed: true})
	require.Equal(t, "decide, then:\n"+
		"  godwit retry    p index   tries again to undo the step, and goes on\n"+
		"  godwit skip     p index   leaves the step as it is, and goes on", Remedy(st), "what everything waits for is its undoing")
}
