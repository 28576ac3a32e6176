package workflows

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/spec"
	"godwit/internal/task"
)

func TestTheStepsOfAPipelineRunInOrderAndItStaysOpenWhileTheyKeepSomething(t *testing.T) {
	s := classic(t, nil)
	during := s.look(90 * time.Second)
	kept := s.look(30 * time.Minute)
	s.run()
	require.NoError(t, s.err)
	s.ends(task.Success, all(task.Success, 4)...)
	require.Equal(t, []string{"run add", "run fill", "run index", "run note"}, s.order)
	require.Equal(t, []task.State{task.Success, task.Running, task.Pending, task.Pending}, states(*during))
	require.Equal(t, 25.0, during.Progress.Percent)
	require.Equal(t, pipelineID+".fill", during.Steps[1].ID)
	require.Equal(t, task.Success, kept.State)
	require.Nil(t, kept.EndedAt)
	require.Contains(t, kept.Steps[0].Undo, "can be undone until")
	require.Contains(t, kept.Can, "rollback")
	require.Equal(t, "pipeline begins", s.events()[0])
	require.Contains(t, s.events(), "success")
}

func TestAPipelineThatIsDoneIsRolledBackWhileItsStepsKeepWhatItTakes(t *testing.T) {
	s := classic(t, nil)
	s.update(30*time.Minute, task.RollbackUpdate, "")
	s.run()
	s.ends(task.RolledBack, all(task.RolledBack, 4)...)
	require.Equal(t, []string{"undo note", "undo fill", "undo add"}, s.order[4:], "of an index that was built nothing is undone")
}

func TestACleanupEndsTheKeepingOfAllSteps(t *testing.T) {
	s := classic(t, nil)
	early := s.update(time.Minute, task.CleanupUpdate, "")
	s.update(10*time.Minute, task.CleanupUpdate, "")
	later := s.look(12 * time.Minute)
	s.run()
	require.Contains(t, early.refusal, "is not done")
	s.ends(task.Success, all(task.Success, 4)...)
	require.NotNil(t, s.status.EndedAt)
	require.Less(t, s.status.EndedAt.Sub(*s.status.StartedAt), 12*time.Minute)
	require.Zero(t, later.ID, "it had ended before")
}

// reactionCase is a reaction, and how the pipeline ends when step no (from 0) is
// given up.
type reactionCase struct {
	reaction string
	want     func(no int) (task.State, []task.State)
}

var reactionCases = []reactionCase{
	{"skip", func(no int) (task.State, []task.State) {
		steps := all(task.Success, 4)
		steps[no] = task.Skipped
		return task.Success, steps
	}},
	{"rollback", func(no int) (task.State, []task.State) {
		return task.RolledBack, append(all(task.RolledBack, no+1), all(task.Pending, 3-no)...)
	}},
	{"retry", func(int) (task.State, []task.State) { return task.Success, all(task.Success, 4) }},
}

func TestAStepThatFailsIsAnsweredAsItsReactionSaysInEveryPlace(t *testing.T) {
	for no, name := range theFour {
		for _, c := range reactionCases {
			t.Run(name+" "+c.reaction, func(t *testing.T) {
				s := classic(t, map[string]string{name: "on_failure: " + c.reaction})
				s.houses[name].fails = -1
				if c.reaction == "retry" {
					s.houses[name].fails = 3 // as many retries as there are by default
				}
				s.run()
				state, steps := c.want(no)
				s.ends(state, steps...)
				if c.reaction != "retry" {
					require.Contains(t, s.order, "undo "+name, "what it had begun is undone")
				}
			})
		}
	}
}

func TestAStepThatTakesTooLongIsAnsweredAsItsReactionSaysInEveryPlace(t *testing.T) {
	for no, name := range theFour {
		for _, c := range reactionCases {
			t.Run(name+" "+c.reaction, func(t *testing.T) {
				s := classic(t, map[string]string{name: "timeout: 5m, on_timeout: " + c.reaction})
				s.houses[name].takes = 24 * time.Hour
				if c.reaction == "retry" {
					s.at(6*time.Minute+time.Duration(no)*time.Minute, func() { s.houses[name].takes = time.Minute })
				}
				s.run()
				state, steps := c.want(no)
				s.ends(state, steps...)
				switch c.reaction {
				case "retry":
					require.Positive(t, s.houses[name].resumed, "it goes on where it was")
				case "skip":
					require.Contains(t, s.status.Steps[no].Detail, "took too long: step "+name+" did not end within its timeout of 5m")
				}
			})
		}
	}
}

func TestAStepThatIsHeldWaitsForAnOperatorInEveryPlace(t *testing.T) {
	for no, name := range theFour {
		for _, how := range []string{"failure", "timeout"} {
			t.Run(name+" "+how, func(t *testing.T) {
				s := classic(t, map[string]string{name: "timeout: 1h"})
				want := task.Failed
				if how == "timeout" {
					s.houses[name].takes, want = 100*time.Hour, task.TimedOut
				} else {
					s.houses[name].fails = -1
				}
				held := s.look(3 * time.Hour)
				s.at(4*time.Hour, func() { s.houses[name].fails, s.houses[name].takes = 0, time.Minute })
				s.keepFor(24 * time.Hour)
				retried := s.update(5*time.Hour, task.RetryUpdate, "")
				s.run()
				require.Equal(t, want, held.State)
				require.True(t, held.Attention)
				require.Equal(t, append(append(all(task.Success, no), want), all(task.Pending, 3-no)...), states(*held))
				require.Contains(t, held.WaitingFor, "godwit skip "+pipelineID+" "+name)
				require.True(t, retried.accepted, retried.refusal)
				s.ends(task.Success, all(task.Success, 4)...)
				require.Equal(t, 1, s.houses[name].resumed, "only what is missing is done")
			})
		}
	}
}

// keepFor is how long steps can be undone that have something to undo.
func (s *street) keepFor(long time.Duration) {
	for name, h := range s.houses {
		if name != "index" {
			h.keeps = long
		}
	}
}

func TestAHeldStepIsSkippedOrThePipelineUndone(t *testing.T) {
	for verb, want := range map[string]task.State{task.SkipUpdate: task.Success, task.RollbackUpdate: task.RolledBack} {
		t.Run(verb, func(t *testing.T) {
			s := classic(t, nil)
			s.houses["fill"].fails = -1
			step := "fill"
			if verb == task.RollbackUpdate {
				step = ""
			}
			a := s.update(30*time.Minute, verb, step)
			s.run()
			require.True(t, a.accepted, a.refusal)
			require.Equal(t, want, s.status.State)
			require.Contains(t, s.order, "undo fill")
			if verb == task.SkipUpdate {
				require.Equal(t, task.Skipped, s.status.Steps[1].State)
				require.Contains(t, s.status.Steps[1].Detail, "skipped by ann")
			}
		})
	}
}

func TestACancelUndoesWhatHasBegunAndLeavesTheRest(t *testing.T) {
	s := classic(t, nil)
	s.houses["fill"].takes = time.Hour
	s.signal(10*time.Minute, task.CancelSignal)
	s.run()
	s.ends(task.Cancelled, task.RolledBack, task.RolledBack, task.Pending, task.Pending)
	require.Equal(t, []string{"run add", "run fill", "undo fill", "undo add"}, s.order)
}

func TestTemporalsOwnCancelRequestUndoesThePipeline(t *testing.T) {
	s := classic(t, nil)
	s.houses["fill"].takes = time.Hour
	s.at(10*time.Minute, s.env.CancelWorkflow)
	s.run()
	s.ends(task.Cancelled, task.RolledBack, task.RolledBack, task.Pending, task.Pending)
}

func TestAPausedPipelineStandsStillAndItsLimitsWithIt(t *testing.T) {
	s := classic(t, map[string]string{"add": "timeout: 30m"})
	s.houses["add"].takes = 20 * time.Minute
	s.signal(5*time.Minute, task.PauseSignal)
	paused := s.look(3 * time.Hour)
	s.signal(5*time.Hour, task.ResumeSignal)
	s.run()
	require.Equal(t, task.Paused, paused.State)
	require.Contains(t, paused.WaitingFor, "godwit resume")
	s.ends(task.Success, all(task.Success, 4)...)
	require.Equal(t, 2, len(s.order)-3, "the step's work was begun again from its ledger")
}

func TestAStepCanBeSkippedWhileItRunsAndBeforehand(t *testing.T) {
	s := classic(t, nil)
	s.houses["add"].takes = time.Hour
	s.update(5*time.Minute, task.SkipUpdate, "add")
	s.update(5*time.Minute, task.SkipUpdate, "index")
	nobody := s.update(5*time.Minute, task.SkipUpdate, "indx")
	s.run()
	require.Contains(t, nobody.refusal, `there is no step "indx"; there are add, fill, index, note`)
	s.ends(task.Success, task.Skipped, task.Success, task.Skipped, task.Success)
	require.Contains(t, s.order, "undo add")
}

func TestAStepWithRetriesIsTriedAgainWithGrowingDelays(t *testing.T) {
	s := classic(t, map[string]string{"fill": "retries: 2, backoff: 1m"})
	s.houses["fill"].fails = 2
	waiting := s.look(2*time.Minute + 30*time.Second)
	s.run()
	require.Equal(t, task.Retrying, waiting.State)
	require.Contains(t, waiting.Steps[1].Detail, "1 of 2 retries")
	s.ends(task.Success, all(task.Success, 4)...)
	require.Equal(t, 3, s.status.Steps[1].Attempts)
	took := s.status.Steps[1].EndedAt.Sub(*s.status.Steps[1].StartedAt)
	require.GreaterOrEqual(t, took, 6*time.Minute, "three tries of a minute, and waits of one and two")
}

func TestAStepThatDoesNotEndIsInTheOpenAndAnsweredAsItsReactionSaysOnceItHas(t *testing.T) {
	s := classic(t, map[string]string{"add": "timeout: 10m, on_timeout: skip"})
	s.houses["add"].stubborn, s.houses["add"].takes = true, 30*time.Minute
	held := s.look(15 * time.Minute)
	s.run()
	require.Equal(t, task.TimedOut, held.State)
	require.True(t, held.Attention)
	require.Contains(t, held.Error.Message, "has not ended since it was asked to")
	s.ends(task.Success, task.Skipped, task.Success, task.Success, task.Success)
	require.Contains(t, s.order, "undo add")
}

func TestAStepThatDoesNotEndIsSkippedByHandAndHangsNothing(t *testing.T) {
	s := classic(t, map[string]string{"add": "timeout: 10m"})
	s.houses["add"].stubborn, s.houses["add"].takes = true, 30*time.Minute
	s.update(15*time.Minute, task.SkipUpdate, "add") // and then its undoing
	s.update(16*time.Minute, task.SkipUpdate, "add")
	on := s.look(17 * time.Minute)
	s.run()
	require.Equal(t, task.Skipped, on.Steps[0].State)
	require.Equal(t, task.Running, on.Steps[1].State)
	require.Equal(t, task.Success, s.status.State)
}

func TestAStepThatAnOperatorHasContinuedByItsOwnIDGoesOn(t *testing.T) {
	s := classic(t, nil)
	s.houses["fill"].fails = -1
	held := s.look(20 * time.Minute)
	s.at(30*time.Minute, func() {
		s.env.SignalWorkflow(task.StepSignal, task.StepReport{ID: task.StepID(pipelineID, "fill"), Chain: "by hand", State: task.Success})
	})
	s.run()
	require.Equal(t, task.Failed, held.State)
	require.Equal(t, task.Success, s.status.State)
	require.Equal(t, all(task.Success, 4), states(s.status))
}

func TestAStepThatWasUndoneByItsOwnIDIsShownAsThat(t *testing.T) {
	s := classic(t, nil)
	s.at(10*time.Minute, func() { _ = s.env.SignalWorkflowByID(task.StepID(pipelineID, "note"), task.RollbackSignal, nil) })
	s.run()
	s.ends(task.Success, task.Success, task.Success, task.Success, task.RolledBack)
	require.Contains(t, s.status.Steps[3].Detail, "with its migration's own id")
}

func TestASkipThatIsAskedForDuringAPauseIsNotForgotten(t *testing.T) {
	s := classic(t, map[string]string{"fill": "retries: 1, backoff: 5m"})
	s.houses["fill"].fails = 1
	s.signal(3*time.Minute, task.PauseSignal)
	s.update(30*time.Minute, task.SkipUpdate, "fill")
	s.signal(40*time.Minute, task.ResumeSignal)
	s.keepFor(24 * time.Hour)
	s.run()
	s.ends(task.Success, task.Success, task.Skipped, task.Success, task.Success)
}

func TestThePageShowsTheStepsAndLeadsToTheirMigrations(t *testing.T) {
	s := classic(t, nil)
	var page string
	s.at(90*time.Second, func() { page = s.details() })
	s.run()
	require.Contains(t, page, "## split-region: RUNNING")
	require.Contains(t, page, "| [add](/namespaces/{namespace}/workflows/"+pipelineID+".add) | ddl | SUCCESS |")
	require.Contains(t, page, "| note | sql | PENDING |")
	require.Contains(t, page, "`godwit skip "+pipelineID+" STEP`")
}

func TestALongPipelineContinuesAsNewBetweenTwoSteps(t *testing.T) {
	s := classic(t, nil)
	s.at(90*time.Second, func() { s.env.SetContinueAsNewSuggested(true) })
	s.run()
	require.Equal(t, []string{"run add", "run fill"}, s.order)
	var handover *workflow.ContinueAsNewError
	require.ErrorAs(t, s.err, &handover)
	require.Equal(t, task.PipelineWorkflow, handover.WorkflowType.Name)

	n := classic(t, nil)
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(handover.Input, &n.in))
	n.env.SetStartTime(s.env.Now())
	reports := map[string]task.StepReport{}
	for _, name := range []string{"add", "fill"} { // which go on by themselves, and tell the next run
		id := task.StepID(pipelineID, name)
		reports[id] = task.StepReport{ID: id, Chain: n.in.Carried.step(name).Child.Chain, State: task.Success, KeepFor: time.Hour}
	}
	var told []string
	n.outside = func(id, signal string, arg any) error {
		told = append(told, id)
		require.Equal(t, task.KeepSignal, signal)
		require.Equal(t, task.KeepRequest{Over: true}, arg)
		r := reports[id]
		until := n.env.Now().Add(time.Hour)
		r.KeptUntil = &until
		n.at(0, func() { n.env.SignalWorkflow(task.StepSignal, r) })
		closed := r
		closed.Closed = true
		n.at(time.Hour, func() { n.env.SignalWorkflow(task.StepSignal, closed) })
		return nil
	}
	kept := n.look(30 * time.Minute)
	n.run()
	require.Equal(t, []string{"run index", "run note"}, n.order, "nothing is done twice")
	require.ElementsMatch(t, []string{pipelineID + ".add", pipelineID + ".fill"}, told)
	require.Nil(t, kept.EndedAt)
	require.Contains(t, kept.Steps[0].Undo, "can be undone until")
	n.ends(task.Success, all(task.Success, 4)...)
	require.Equal(t, *kept.StartedAt, *n.status.StartedAt)
}

func TestAStepThatWasTerminatedAfterThePipelineHasContinuedAsNewHangsNothing(t *testing.T) {
	s := classic(t, map[string]string{"note": "approve: true"})
	s.at(90*time.Second, func() { s.env.SetContinueAsNewSuggested(true) })
	s.run()
	var handover *workflow.ContinueAsNewError
	require.ErrorAs(t, s.err, &handover)
	next := func() *street {
		n := classic(t, nil)
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(handover.Input, &n.in))
		n.outside = func(string, string, any) error { return &temporal.UnknownExternalWorkflowExecutionError{} }
		return n
	}
	done := next()
	done.update(10*time.Minute, task.ApproveUpdate, "note")
	done.run()
	done.ends(task.Success, all(task.Success, 4)...)

	undone := next()
	undone.update(10*time.Minute, task.RollbackUpdate, "")
	asked := undone.look(15 * time.Minute)
	undone.update(20*time.Minute, task.RetryUpdate, "fill")
	undone.update(30*time.Minute, task.SkipUpdate, "add")
	undone.run()
	require.Equal(t, task.Failed, asked.State)
	require.Contains(t, asked.Error.Message, "was ended in Temporal from outside")
	undone.ends(task.RolledBack, task.Failed, task.RolledBack, task.RolledBack, task.Pending)
	require.Contains(t, undone.order, "undo fill", "by a run that does nothing else")
}

func TestAReportOfAnEarlierRunOfAStepIsNotTakenForTheLastOne(t *testing.T) {
	s := classic(t, nil)
	s.at(30*time.Second, func() {
		s.env.SignalWorkflow(task.StepSignal, task.StepReport{ID: task.StepID(pipelineID, "add"), Chain: "an earlier one", State: task.Success})
		s.env.SignalWorkflow(task.StepSignal, "nothing that can be understood")
	})
	still := s.look(45 * time.Second)
	s.run()
	require.Equal(t, task.Running, still.Steps[0].State)
	s.ends(task.Success, all(task.Success, 4)...)
}

func TestWhatAStepsMigrationIsToldIsASpecByTheStrictRules(t *testing.T) {
	s := classic(t, map[string]string{"fill": "timeout: 1h"})
	plan, err := readPipeline(s.in.Spec)
	require.NoError(t, err)
	for i := range plan.Steps {
		raw, err := plan.migration(&plan.Steps[i])
		require.NoError(t, err)
		var read spec.Spec
		require.NoError(t, json.Unmarshal(raw, &read), string(raw))
	}
}

func TestAStepTakesThePipelinesPriorityUnlessItHasItsOwn(t *testing.T) {
	s := classic(t, nil)
	plan, err := readPipeline(s.in.Spec)
	require.NoError(t, err)
	plan.Priority = 1
	raw, err := plan.migration(&plan.Steps[0])
	require.NoError(t, err)
	own, err := readSettings(raw)
	require.NoError(t, err)
	require.Equal(t, 1, own.Priority)
	require.Equal(t, "split-region: add", own.Name)
	require.Equal(t, spec.Hold, own.OnFailure)
}

func TestEverythingThatCanBeSentToAPipelineIsDescribed(t *testing.T) {
	s := classic(t, nil)
	var sent []string
	s.at(time.Second, func() {
		d := s.metadata().GetDefinition()
		for _, thing := range slices.Concat(d.GetQueryDefinitions(), d.GetSignalDefinitions(), d.GetUpdateDefinitions()) {
			if !strings.HasPrefix(thing.GetName(), "__") {
				require.NotEmpty(t, thing.GetDescription(), thing.GetName())
				sent = append(sent, thing.GetName())
			}
		}
	})
	s.run()
	require.ElementsMatch(t, []string{"status", "pause", "resume", "cancel", "step", "approve", "retry", "skip", "rollback", "cleanup", "cutover", "throttle"}, sent)
}

func TestAPipelineWhoseLedgerCannotBeWrittenWaitsAndDoesNothing(t *testing.T) {
	s := classic(t, nil)
	s.unopened = 3
	waiting := s.look(30 * time.Second)
	s.run()
	require.Equal(t, task.Failed, waiting.State)
	require.Equal(t, task.Preflight, waiting.Phase)
	require.Contains(t, waiting.WaitingFor, "the ledger on connection shop")
	s.ends(task.Success, all(task.Success, 4)...)
}

func TestAPipelineThatNeverBeganIsCancelled(t *testing.T) {
	s := classic(t, nil)
	s.unopened = 100
	s.signal(90*time.Second, task.CancelSignal)
	s.run()
	s.ends(task.Cancelled, all(task.Pending, 4)...)
	require.Empty(t, s.order)
}

func TestAStepWhoseMigrationWasTerminatedIsHeldAndCanGoOn(t *testing.T) {
	s := classic(t, nil)
	s.houses["fill"].takes = time.Hour
	s.at(10*time.Minute, func() {
		chain := s.query().Steps[1].ID
		require.NotEmpty(t, chain)
		s.env.SignalWorkflow(task.StepSignal, task.StepReport{ID: chain, Run: s.chain(chain), State: task.Cancelled, Closed: true})
	})
	held := s.look(20 * time.Minute)
	s.signal(31*time.Minute, task.CancelSignal)
	s.run()
	require.Equal(t, task.Failed, held.Steps[1].State)
	require.Contains(t, held.Error.Message, "has ended: CANCELLED")
	require.Equal(t, task.Cancelled, s.status.State)
}

func TestALimitOfTheWholeEndsTheStepAtWorkAndIsAnsweredByThePipelinesReaction(t *testing.T) {
	for reaction, want := range map[string]task.State{"fail": task.TimedOut, "rollback": task.RolledBack} {
		t.Run(reaction, func(t *testing.T) {
			text := strings.NewReplacer("ADD}", "}", "FILL}", ", on_timeout: skip, timeout: 100h}", "INDEX}", "}", "NOTE}", ", approve: true}").Replace(fourSteps)
			s := newStreet(t, text+"timeouts: {total: 30m}\non_timeout: "+reaction+"\n")
			s.keepFor(100 * time.Hour)
			s.houses["add"].takes, s.houses["fill"].takes = 20*time.Minute, 20*time.Minute
			late := s.look(50 * time.Minute)
			if reaction == "fail" {
				s.at(time.Hour, func() { s.houses["fill"].takes = 15 * time.Minute })
				s.update(2*time.Hour, task.RetryUpdate, "")
				s.update(10*time.Hour, task.ApproveUpdate, "note") // which was waited for, and does not count
				s.update(20*time.Hour, task.CleanupUpdate, "")
			}
			s.run()
			if reaction == "rollback" {
				s.ends(task.RolledBack, task.RolledBack, task.RolledBack, task.Pending, task.Pending)
				require.Contains(t, s.status.Error.Message, "timeouts.total of 30m")
				return
			}
			require.Equal(t, want, late.State)
			require.Equal(t, want, late.Steps[1].State)
			require.Contains(t, late.Error.Message, "step fill was at work")
			s.ends(task.Success, all(task.Success, 4)...)
		})
	}
}

func TestStepsSideBySideCountOnceAgainstTheLimitOfTheWhole(t *testing.T) {
	s := newStreet(t, beside+"timeouts: {total: 30m}\n")
	s.houses["left"].takes, s.houses["right"].takes = 20*time.Minute, 20*time.Minute
	s.run()
	s.ends(task.Success, all(task.Success, 5)...)
}

func TestTheNextStepBeginsWhenTheLedgerKnowsOfTheLastOne(t *testing.T) {
	s := classic(t, nil)
	s.houses["add"].untold = 2
	between := s.look(2*time.Minute + 30*time.Second)
	s.run()
	require.Equal(t, []task.State{task.Running, task.Pending}, states(*between)[:2])
	s.ends(task.Success, all(task.Success, 4)...)
}

func TestAStepThatIsAtWorkByItsOwnIDIsWaitedForInsteadOfTriedAgain(t *testing.T) {
	s := classic(t, map[string]string{"fill": "retries: 1, backoff: 10m, on_failure: rollback"})
	s.houses["fill"].fails = 1
	report := func(after time.Duration, state task.State, closed bool) {
		s.at(after, func() {
			s.env.SignalWorkflow(task.StepSignal, task.StepReport{ID: task.StepID(pipelineID, "fill"), Chain: "by hand", State: state, Closed: closed})
		})
	}
	s.keepFor(24 * time.Hour)
	report(5*time.Minute, task.Running, false)
	waiting := s.look(20 * time.Minute)
	report(30*time.Minute, task.Success, false)
	report(2*time.Hour, task.Success, true)
	s.run()
	require.Equal(t, task.Running, waiting.Steps[1].State)
	require.Equal(t, 1, strings.Count(strings.Join(s.order, " "), "run fill"))
	s.ends(task.Success, all(task.Success, 4)...)
}

func TestARunThatAnOperatorBeginsOfAStepTellsThePipelineFirst(t *testing.T) {
	for byHand, want := range map[bool][]task.State{true: {task.Running, task.Success, task.Success}, false: {task.Success, task.Success}} {
		w := newWorld(t)
		w.in.Pipeline, w.in.ByHand = "p", byHand
		w.run()
		var told []task.State
		for _, r := range w.reports {
			told = append(told, r.State)
		}
		require.Equal(t, want, told)
	}
}

func TestAStepThatPassesItsOwnLimitIsNotAnsweredAsIfItWereTheWholePipelines(t *testing.T) {
	s := newStreet(t, strings.NewReplacer(
		"{name: left, ", "{name: left, timeout: 1h, on_timeout: skip, ", ", on_failure: rollback", "").Replace(abreast)+"timeouts: {total: 50m}\n")
	s.houses["left"].takes = 24 * time.Hour // at first, the limit of the whole is the nearer one
	s.houses["right"].takes, s.houses["right"].fails = 10*time.Minute, -1
	s.signal(20*time.Minute, task.PauseSignal) // an operator has had the whole time given anew by then
	s.signal(21*time.Minute, task.ResumeSignal)
	s.update(3*time.Hour, task.SkipUpdate, "right")
	s.run()
	s.ends(task.Success, task.Success, task.Skipped, task.Skipped)
	require.Contains(t, s.status.Steps[1].Detail, "did not end within its timeout of 1h")
}
