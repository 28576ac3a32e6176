package workflows

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"godwit/internal/task"
)

func TestAStepWhoseConditionIsNotTrueIsSkippedAndSaysWhy(t *testing.T) {
	for answer, want := range map[string]task.State{"0": task.Skipped, "1": task.Success} {
		s := classic(t, map[string]string{"fill": `when: {database: shop, query: "SELECT wanted"}`})
		s.asks["SELECT wanted"] = &task.ConditionResult{True: answer == "1", Answer: answer}
		s.run()
		s.ends(task.Success, task.Success, want, task.Success, task.Success)
		if want == task.Skipped {
			require.Equal(t, "when was not true: the query says 0", s.status.Steps[1].Detail)
			require.NotContains(t, s.order, "run fill")
		}
	}
}

func TestAConditionThatCannotBeAskedIsAFailureOfItsStep(t *testing.T) {
	s := classic(t, map[string]string{"fill": `when: {database: shop, query: "SELECT wanted"}`})
	held := s.look(30 * time.Minute)
	s.at(35*time.Minute, func() { s.asks["SELECT wanted"] = &task.ConditionResult{True: true, Answer: "1"} })
	s.update(40*time.Minute, task.RetryUpdate, "fill")
	s.run()
	require.Equal(t, task.Failed, held.Steps[1].State)
	require.Contains(t, held.Error.Message, "no such column")
	s.ends(task.Success, all(task.Success, 4)...)
}

func TestAStepThatNeedsAMigrationDoesNotBeginWithoutIt(t *testing.T) {
	s := classic(t, map[string]string{"fill": "needs: nightly, on_failure: rollback"})
	s.run()
	s.ends(task.RolledBack, task.RolledBack, task.RolledBack, task.Pending, task.Pending)
	require.NotContains(t, s.order, "run fill")
	require.Contains(t, s.status.Error.Message, "nightly has FAILED")

	s = classic(t, map[string]string{"fill": "needs: nightly"})
	s.needs = &task.NeedsResult{Done: []string{"nightly"}}
	s.run()
	s.ends(task.Success, all(task.Success, 4)...)
}

func TestAStepThatWaitsForWhatItNeedsIsSkippedAndDoesNotBeginAfterAll(t *testing.T) {
	s := classic(t, map[string]string{"fill": "needs: nightly"})
	s.running = true
	waiting := s.look(10 * time.Minute)
	s.update(15*time.Minute, task.SkipUpdate, "fill")
	s.run()
	require.Contains(t, waiting.WaitingFor, "what it needs: nightly")
	s.ends(task.Success, task.Success, task.Skipped, task.Success, task.Success)
	require.NotContains(t, s.order, "run fill")
}

func TestAStepThatNeedsWhatTakesTooLongIsAnsweredLikeAnyOther(t *testing.T) {
	s := classic(t, map[string]string{"fill": "needs: nightly, timeout: 1h, on_timeout: skip"})
	s.running = true
	s.keepFor(24 * time.Hour)
	s.run()
	s.ends(task.Success, task.Success, task.Skipped, task.Success, task.Success)
}

func TestAStepThatNeedsOneThatWasSkippedFails(t *testing.T) {
	s := classic(t, map[string]string{"fill": "on_failure: skip", "note": "needs: [add, fill], on_failure: skip"})
	s.houses["fill"].fails = -1
	s.run()
	s.ends(task.Success, task.Success, task.Skipped, task.Success, task.Skipped)
	require.Contains(t, s.status.Steps[3].Detail, "it needs step fill, which is SKIPPED")
}

func TestAStepWaitsForAnOperatorsApproval(t *testing.T) {
	s := classic(t, map[string]string{"fill": "approve: true, timeout: 1h"})
	s.keepFor(100 * time.Hour)
	waiting := s.look(30 * time.Hour)
	wrong := s.update(30*time.Hour, task.ApproveUpdate, "index")
	s.update(31*time.Hour, task.ApproveUpdate, "")
	s.run()
	require.Equal(t, task.Running, waiting.State)
	require.True(t, waiting.Attention)
	require.Equal(t, task.Pending, waiting.Steps[1].State)
	require.Contains(t, waiting.WaitingFor, "godwit approve "+pipelineID+" fill")
	require.Contains(t, wrong.refusal, "waits for nobody")
	s.ends(task.Success, all(task.Success, 4)...)
}

func TestAStepThatWaitsForApprovalCanBeSkippedOrCancelled(t *testing.T) {
	s := classic(t, map[string]string{"fill": "approve: true"})
	s.update(5*time.Minute, task.SkipUpdate, "")
	s.run()
	s.ends(task.Success, task.Success, task.Skipped, task.Success, task.Success)

	s = classic(t, map[string]string{"fill": "approve: true"})
	s.signal(5*time.Minute, task.CancelSignal)
	s.run()
	s.ends(task.Cancelled, task.RolledBack, task.Pending, task.Pending, task.Pending)
}

// between are steps that are no migrations; IN stands for one of them.
func between(t *testing.T, step string) *street {
	return newStreet(t, "kind: pipeline\nname: between\nledger: shop\nsteps:\n  - "+step+"\n")
}

func TestAStepWaitsForAWindowOfTheDay(t *testing.T) {
	s := between(t, `{name: night, wait: {between: "02:00-03:00"}}`)
	s.env.SetStartTime(time.Date(2026, 1, 1, 20, 0, 0, 0, time.UTC))
	waiting := s.look(time.Hour)
	s.run()
	require.Contains(t, waiting.WaitingFor, "the window 02:00-03:00 UTC, at 2026-01-02 02:00:00 UTC")
	s.ends(task.Success, task.Success)
	require.Equal(t, 6*time.Hour, s.status.Steps[0].EndedAt.Sub(*s.status.Steps[0].StartedAt))
}

func TestAWaitThatTakesTooLongIsSkipped(t *testing.T) {
	s := between(t, `{name: night, wait: {between: "02:00-03:00"}, timeout: 1h, on_timeout: skip}`)
	s.env.SetStartTime(time.Date(2026, 1, 1, 20, 0, 0, 0, time.UTC))
	s.run()
	s.ends(task.Success, task.Skipped)
}

func TestACallIsMadeWithAKeyThatIsTheSameForAllTries(t *testing.T) {
	s := between(t, `{name: tell, http: {url: "https://example.test/", method: POST}, retries: 1}`)
	s.called = refusedWith(task.Mismatch, "was answered 503")
	s.at(time.Second, func() { s.called = nil })
	s.run()
	s.ends(task.Success, task.Success)
	require.Len(t, s.calls, 2)
	require.Contains(t, s.calls[0].Key, pipelineID+".tell.")
	require.Equal(t, s.calls[0], s.calls[1])
}

func TestACallThatMayHaveArrivedIsNotMadeAgainUnasked(t *testing.T) {
	s := between(t, `{name: tell, http: {url: "https://example.test/", method: POST}, retries: 5}`)
	s.called = refusedWith(task.Human, "may have arrived")
	held := s.look(time.Hour)
	s.at(2*time.Hour, func() { s.called = nil })
	s.update(3*time.Hour, task.RetryUpdate, "tell")
	s.run()
	require.Equal(t, task.Failed, held.State)
	s.ends(task.Success, task.Success)
	require.Len(t, s.calls, 2)
}

func TestACallCannotBeTakenBack(t *testing.T) {
	s := newStreet(t, `kind: pipeline
name: told
steps:
  - {name: add, sql: {database: shop, statement: SELECT 1, undo: SELECT 2}}
  - {name: tell, http: {url: "https://example.test/", method: POST}}
  - {name: last, sql: {database: shop, statement: SELECT 1, undo: SELECT 2, retry: {rounds: 0, attempts: 1}}, on_failure: rollback}
`)
	s.houses["last"].fails = -1
	stopped := s.look(30 * time.Minute)
	s.update(40*time.Minute, task.SkipUpdate, "tell")
	s.run()
	require.Contains(t, stopped.Error.Message, "step tell cannot be undone: a call cannot be taken back")
	require.Equal(t, task.RolledBack, s.status.State)
	require.Contains(t, s.order, "undo add")
}

func TestWhatAPipelineDoesNotHaveIsRefusedWithAHint(t *testing.T) {
	s := classic(t, nil)
	cut := s.update(time.Minute, task.CutoverUpdate, "")
	slow := s.update(time.Minute, task.ThrottleUpdate, "")
	nothing := s.update(time.Minute, task.RetryUpdate, "")
	s.run()
	require.Contains(t, cut.refusal, "godwit cutover "+pipelineID+".STEP")
	require.Contains(t, slow.refusal, "godwit throttle "+pipelineID+".STEP")
	require.Contains(t, nothing.refusal, "no step waits for retry")
}

func TestAStepIsApprovedWhoseGateHadToBeTriedAgain(t *testing.T) {
	s := classic(t, map[string]string{"fill": "needs: nightly, approve: true"})
	s.keepFor(24 * time.Hour)
	held := s.look(10 * time.Minute)
	s.at(20*time.Minute, func() { s.needs = &task.NeedsResult{Done: []string{"nightly"}} })
	s.update(30*time.Minute, task.RetryUpdate, "fill")
	waiting := s.look(40 * time.Minute)
	again := s.update(45*time.Minute, task.RetryUpdate, "fill")
	approved := s.update(50*time.Minute, task.ApproveUpdate, "fill")
	s.run()
	require.Equal(t, task.Failed, held.State)
	require.Equal(t, task.Running, waiting.State)
	require.Equal(t, task.Pending, waiting.Steps[1].State)
	require.True(t, waiting.Attention)
	require.Contains(t, again.refusal, "waits for approval: `godwit approve "+pipelineID+" fill`")
	require.True(t, approved.accepted, approved.refusal)
	s.ends(task.Success, all(task.Success, 4)...)
}

func TestWhatAStepNeedsIsLookedAtAgainWhenItHasBeenApproved(t *testing.T) {
	s := classic(t, map[string]string{"fill": "needs: nightly, approve: true"})
	s.keepFor(24 * time.Hour)
	s.needs = &task.NeedsResult{Done: []string{"nightly"}}
	s.at(30*time.Minute, func() { s.needs = nil }) // somebody undoes it
	s.update(40*time.Minute, task.ApproveUpdate, "fill")
	held := s.look(50 * time.Minute)
	s.signal(time.Hour, task.CancelSignal)
	s.run()
	require.Equal(t, task.Failed, held.State)
	require.Contains(t, held.Error.Message, "nightly has FAILED")
	require.NotContains(t, s.order, "run fill")
}

func TestARetryAtTheGateDoesNotPassByTheCondition(t *testing.T) {
	s := classic(t, map[string]string{"fill": `needs: nightly, retries: 1, backoff: 1m, when: {database: shop, query: "SELECT wanted"}`})
	s.keepFor(24 * time.Hour)
	s.asks["SELECT wanted"] = &task.ConditionResult{Answer: "0"}
	s.at(90*time.Second, func() { s.running = true })
	hurry := s.update(5*time.Minute, task.RetryUpdate, "fill")
	s.at(6*time.Minute, func() { s.running, s.needs = false, &task.NeedsResult{Done: []string{"nightly"}} })
	s.run()
	require.Contains(t, hurry.refusal, "waits for no other try")
	s.ends(task.Success, task.Success, task.Skipped, task.Success, task.Success)
	require.NotContains(t, s.order, "run fill")
}

func TestAPipelineDoesNotWaitForItself(t *testing.T) {
	s := classic(t, map[string]string{"fill": "needs: split-region, on_failure: rollback"})
	s.running = true
	s.run()
	require.Equal(t, task.RolledBack, s.status.State)
	require.Contains(t, s.status.Error.Message, "it would wait for itself")
}

func TestAGroupThatIsHeldAtItsGateHoldsThePipeline(t *testing.T) {
	s := newStreet(t, strings.Replace(beside, "name: both\n", "name: both\n    needs: nightly\n", 1))
	held := s.look(30 * time.Minute)
	s.signal(40*time.Minute, task.CancelSignal)
	s.run()
	require.Equal(t, task.Failed, held.State)
	require.Contains(t, held.Error.Message, "nightly has FAILED")
}

func TestAGroupThatIsSkippedDuringAPauseDoesNotBegin(t *testing.T) {
	s := newStreet(t, strings.Replace(beside, "name: both\n", "name: both\n    approve: true\n", 1))
	s.signal(5*time.Minute, task.PauseSignal)
	s.update(6*time.Minute, task.ApproveUpdate, "both")
	skipped := s.update(7*time.Minute, task.SkipUpdate, "both")
	s.signal(8*time.Minute, task.ResumeSignal)
	s.run()
	require.True(t, skipped.accepted, skipped.refusal)
	s.ends(task.Success, task.Success, task.Skipped, task.Skipped, task.Skipped, task.Success)
	require.NotContains(t, s.order, "run left")
}

func TestAQueryThatIsWaitedForTakesAsLongAsItTakes(t *testing.T) {
	s := classic(t, map[string]string{"fill": `when: {database: shop, query: "SELECT wanted"}, needs: nightly`})
	s.asks["SELECT wanted"] = &task.ConditionResult{True: true, Answer: "1"}
	s.needs = &task.NeedsResult{Done: []string{"nightly"}}
	s.run()
	require.GreaterOrEqual(t, s.limits[task.ConditionActivity], 24*time.Hour, "a full scan that is broken off begins again for ever")
	require.Less(t, s.limits[task.NeedsActivity], time.Hour)
}

func TestAWindowThatPassesDuringAPauseIsWaitedForAgainAndItsLimitStandsStill(t *testing.T) {
	s := between(t, `{name: night, wait: {between: "02:00-03:00"}, timeout: 24h, on_timeout: skip}`)
	s.env.SetStartTime(time.Date(2026, 1, 1, 20, 0, 0, 0, time.UTC))
	s.signal(time.Hour, task.PauseSignal)
	s.signal(10*time.Hour, task.ResumeSignal)
	s.run()
	s.ends(task.Success, task.Success)
	require.Equal(t, 30*time.Hour, s.status.Steps[0].EndedAt.Sub(*s.status.Steps[0].StartedAt))
}

func TestACallThatIsGivenUpByItsStepsLimitIsNotMadeAgainUnasked(t *testing.T) {
	for method, calls := range map[string]int{"POST": 1, "PUT": 4} {
		s := between(t, `{name: tell, http: {url: "https://example.test/", method: `+method+`, limit: 30s}, timeout: 10s, on_timeout: retry}`)
		s.answers = 25 * time.Second
		held := s.look(30 * time.Minute)
		s.signal(time.Hour, task.CancelSignal)
		s.run()
		require.Equal(t, task.TimedOut, held.State, method)
		require.Len(t, s.calls, calls, method)
		if calls == 1 {
			require.Contains(t, held.Error.Message, "the call may have arrived")
		}
	}
}

func TestACallThatNobodyTookDoesNotStandInTheWayOfARollback(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		s := newStreet(t, `kind: pipeline
name: told
steps:
  - {name: add, sql: {database: shop, statement: SELECT 1, undo: SELECT 2}}
  - {name: tell, http: {url: "https://example.test/", method: `+method+`}, on_failure: rollback}
`)
		failure := task.Failure{Class: task.Transient, Message: "connection refused"}
		s.called = temporal.NewNonRetryableApplicationError(failure.Message, string(failure.Class), nil, failure, task.CallResult{Unsent: true})
		s.run()
		s.ends(task.RolledBack, task.RolledBack, task.RolledBack)
	}
}

func TestACallThatMayHaveArrivedStandsInTheWayOfARollback(t *testing.T) {
	s := between(t, `{name: tell, http: {url: "https://example.test/", method: PUT}, on_failure: rollback}`)
	failure := task.Failure{Class: task.Transient, Message: "has had no answer"}
	s.called = temporal.NewNonRetryableApplicationError(failure.Message, string(failure.Class), nil, failure, task.CallResult{})
	stopped := s.look(30 * time.Minute)
	s.update(40*time.Minute, task.SkipUpdate, "tell")
	s.run()
	require.Contains(t, stopped.Error.Message, "a call cannot be taken back")
}
