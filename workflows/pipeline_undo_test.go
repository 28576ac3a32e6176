package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestAnUndoingThatFailsIsInTheOpenAndTriedAgainByHandInEveryPlace(t *testing.T) {
	for _, name := range []string{"add", "fill", "note"} {
		t.Run(name, func(t *testing.T) {
			s := classic(t, nil)
			s.keepFor(24 * time.Hour)
			s.houses[name].undoing = 1
			s.update(10*time.Minute, task.RollbackUpdate, "")
			failed := s.look(time.Hour)
			again := s.update(2*time.Hour, task.RetryUpdate, "")
			s.run()
			require.Equal(t, task.Failed, failed.State)
			require.True(t, failed.Attention)
			require.Contains(t, failed.Error.Message, "the old table is gone")
			require.Contains(t, failed.WaitingFor, "its undoing failed")
			require.Equal(t, []string{"retry", "skip"}, failed.Can)
			require.True(t, again.accepted, again.refusal)
			s.ends(task.RolledBack, all(task.RolledBack, 4)...)
			require.Contains(t, s.events(), "undoing failed")
		})
	}
}

func TestAStepWhoseUndoingFailsCanBeLeftAsItIs(t *testing.T) {
	s := classic(t, nil)
	s.keepFor(24 * time.Hour)
	s.houses["fill"].undoing = 100
	s.update(10*time.Minute, task.RollbackUpdate, "")
	s.update(2*time.Hour, task.SkipUpdate, "fill")
	s.run()
	s.ends(task.RolledBack, task.RolledBack, task.Failed, task.RolledBack, task.RolledBack)
	require.Contains(t, s.status.Steps[1].Detail, "left as it is by ann")
	require.Contains(t, s.order, "undo add", "those before it are undone all the same")
}

func TestARollbackStopsAtTheStepThatCannotBeUndone(t *testing.T) {
	s := classic(t, map[string]string{"note": "on_failure: rollback"})
	s.houses["fill"].keeps = 0
	s.houses["note"].fails = -1
	stopped := s.look(time.Hour / 2)
	s.update(40*time.Minute, task.SkipUpdate, "fill")
	s.run()
	require.Equal(t, task.Failed, stopped.State)
	require.Contains(t, stopped.Error.Message, "step fill cannot be undone: nothing is kept any more that could undo it")
	require.Equal(t, task.Success, stopped.Steps[0].State, "what is before it is left until somebody has decided")
	require.Equal(t, task.RolledBack, s.status.State)
	require.Equal(t, task.Success, s.status.Steps[1].State, "it is done, and stays so")
	require.Contains(t, s.order, "undo add")
}

func TestACancelLeavesWhatCannotBeUndone(t *testing.T) {
	s := classic(t, nil)
	s.houses["add"].keeps = 0
	s.houses["fill"].takes = time.Hour
	s.signal(30*time.Minute, task.CancelSignal)
	s.run()
	s.ends(task.Cancelled, task.Success, task.RolledBack, task.Pending, task.Pending)
	require.Contains(t, s.status.Steps[0].Detail, "left as it is")
}

func TestAHeldStepIsUndoneWithTheRest(t *testing.T) {
	s := classic(t, nil)
	s.houses["index"].fails = -1
	s.signal(30*time.Minute, task.CancelSignal)
	s.run()
	s.ends(task.Cancelled, task.RolledBack, task.RolledBack, task.RolledBack, task.Pending)
	require.Contains(t, s.order, "undo index")
}

// beside is two steps of a group between two others; IN stands for fields of the first.
const beside = `kind: pipeline
name: beside
steps:
  - {name: first, sql: {database: shop, statement: SELECT 1, undo: SELECT 2, retry: {rounds: 0, attempts: 1}}}
  - name: both
    group:
      - {name: left, sql: {database: shop, statement: SELECT 1, undo: SELECT 2, retry: {rounds: 0, attempts: 1}}, on_failure: rollback}
      - {name: right, sql: {database: shop, statement: SELECT 1, undo: SELECT 2, retry: {rounds: 0, attempts: 1}}}
  - {name: last, sql: {database: shop, statement: SELECT 1, undo: SELECT 2, retry: {rounds: 0, attempts: 1}}}
`

func TestTheStepsOfAGroupAreDoneSideBySide(t *testing.T) {
	s := newStreet(t, beside)
	s.houses["left"].takes, s.houses["right"].takes = 10*time.Minute, 20*time.Minute
	both := s.look(5 * time.Minute)
	s.run()
	require.Equal(t, []task.State{task.Success, task.Running, task.Running, task.Running, task.Pending}, states(*both))
	s.ends(task.Success, all(task.Success, 5)...)
	require.Equal(t, "both", s.status.Steps[2].Group)
	require.Less(t, s.status.Steps[1].EndedAt.Sub(*s.status.Steps[1].StartedAt), 25*time.Minute)
}

func TestAMemberThatIsAnsweredByARollbackTakesTheOthersWithIt(t *testing.T) {
	s := newStreet(t, beside)
	s.houses["left"].fails, s.houses["right"].takes = -1, 2*time.Hour
	s.run()
	s.ends(task.RolledBack, task.RolledBack, task.RolledBack, task.RolledBack, task.RolledBack, task.Pending)
	require.Contains(t, s.order, "undo right")
}

func TestAMemberThatIsHeldLetsTheOthersEnd(t *testing.T) {
	s := newStreet(t, beside)
	s.houses["right"].fails, s.houses["left"].takes = -1, time.Hour
	working := s.look(30 * time.Minute)
	held := s.look(80 * time.Minute)
	s.update(90*time.Minute, task.SkipUpdate, "right")
	s.run()
	require.Equal(t, task.Running, working.State)
	require.True(t, working.Attention)
	require.Equal(t, task.Failed, held.State)
	require.Equal(t, task.Success, s.status.State)
	require.Equal(t, task.Skipped, s.status.Steps[3].State)
}

func TestAGroupThatIsSkippedBeforehandIsNotBegun(t *testing.T) {
	s := newStreet(t, beside)
	s.update(30*time.Second, task.SkipUpdate, "both")
	s.run()
	s.ends(task.Success, task.Success, task.Skipped, task.Skipped, task.Skipped, task.Success)
	require.NotContains(t, s.order, "run left")
}

func TestAnUndoingThatTakesLongerThanItsStepMayIsInTheOpenAndGoesOn(t *testing.T) {
	s := classic(t, map[string]string{"fill": "timeout: 5m, on_timeout: rollback"})
	s.houses["fill"].takes, s.houses["fill"].stuck = 24*time.Hour, 40*time.Minute
	slow := s.look(30 * time.Minute)
	s.run()
	require.Equal(t, task.Running, slow.State)
	require.True(t, slow.Attention)
	require.Contains(t, slow.WaitingFor, "its undoing, which takes longer than the step may")
	s.ends(task.RolledBack, task.RolledBack, task.RolledBack, task.Pending, task.Pending)
}

func TestACallIsPassedOverAtOnceByWhoeverSkipsIt(t *testing.T) {
	s := newStreet(t, "kind: pipeline\nname: told\nledger: shop\nsteps:\n  - {name: tell, http: {url: \"https://example.test/\", method: POST}, on_failure: skip}\n")
	s.called = refusedWith(task.Mismatch, "was answered 503")
	s.run()
	s.ends(task.Success, task.Skipped)
	require.Contains(t, s.status.Steps[0].Detail, "left as it is")
}

func TestACallThatWasLostWithItsWorkerIsNotMadeAgainUnasked(t *testing.T) {
	for _, c := range []struct {
		method string
		calls  int
	}{{"POST", 1}, {"PUT", 2}} {
		s := between(t, `{name: tell, http: {url: "https://example.test/", method: `+c.method+`}}`)
		s.called = refusedWith(task.Stopping, "the worker stops")
		s.at(500*time.Millisecond, func() { s.called = nil })
		held := s.look(time.Minute)
		s.signal(time.Hour, task.CancelSignal)
		s.run()
		require.Len(t, s.calls, c.calls, c.method)
		if c.calls == 1 {
			require.Equal(t, task.Failed, held.State)
			require.Contains(t, held.Error.Message, "may have arrived")
		}
	}
}

func TestStepsBeforeAreNotUndoneWhileOneThatWasSkippedDuringAPauseIs(t *testing.T) {
	s := classic(t, map[string]string{"fill": "retries: 1, backoff: 5m"})
	s.keepFor(24 * time.Hour)
	s.houses["fill"].fails, s.houses["fill"].stuck = 1, 30*time.Minute
	s.signal(3*time.Minute, task.PauseSignal)
	s.update(10*time.Minute, task.SkipUpdate, "fill")
	s.signal(15*time.Minute, task.CancelSignal)
	during := s.look(30 * time.Minute)
	s.run()
	require.Equal(t, task.Success, during.Steps[0].State)
	s.ends(task.Cancelled, task.RolledBack, task.RolledBack, task.Pending, task.Pending)
	require.Equal(t, []string{"undo fill", "undo add"}, s.order[2:])
}

// abreast is two steps side by side whose second one takes the first one with it.
const abreast = `kind: pipeline
name: abreast
steps:
  - name: both
    group:
      - {name: left, sql: {database: shop, statement: SELECT 1, undo: SELECT 2, retry: {rounds: 0, attempts: 1}}}
      - {name: right, sql: {database: shop, statement: SELECT 1, undo: SELECT 2, retry: {rounds: 0, attempts: 1}}, on_failure: rollback}
`

func TestStepsBesideStopAtOnceWhenAnUndoingHasToWaitForAnOperator(t *testing.T) {
	s := newStreet(t, abreast)
	s.houses["right"].fails, s.houses["right"].undoing = -1, 1
	s.houses["left"].takes, s.houses["left"].stuck = 20*time.Minute, time.Hour
	failed := s.look(30 * time.Minute)
	s.update(40*time.Minute, task.RetryUpdate, "right")
	s.run()
	require.Equal(t, task.Failed, failed.State, "whoever waits is told, although another one is being undone")
	require.Contains(t, failed.Error.Message, "the old table is gone")
	require.NotEqual(t, task.Success, failed.Steps[1].State, "it must not get past its point of no return meanwhile")
	s.ends(task.RolledBack, all(task.RolledBack, 3)...)
	require.Equal(t, "undo left", s.order[2])
}

func TestStepsBesideStopAtOnceAlsoWhileOneThatWasSkippedIsUndone(t *testing.T) {
	s := newStreet(t, abreast)
	s.houses["right"].takes, s.houses["right"].stuck = time.Hour, 2*time.Hour
	s.houses["left"].takes = 40 * time.Minute
	s.update(10*time.Minute, task.SkipUpdate, "right")
	s.signal(20*time.Minute, task.CancelSignal)
	during := s.look(time.Hour)
	s.run()
	require.Equal(t, []string{"undo right", "undo left"}, s.order[2:])
	require.NotEqual(t, task.Success, during.Steps[1].State)
	s.ends(task.Cancelled, all(task.RolledBack, 3)...)
}

func TestAStepThatHasFailedToUndoItselfIsNotUndoneAgainUnasked(t *testing.T) {
	s := newStreet(t, abreast)
	s.houses["right"].fails, s.houses["right"].stuck = -1, time.Hour
	s.houses["left"].takes, s.houses["left"].undoing = 20*time.Minute, 1
	failed := s.look(2 * time.Hour)
	s.update(3*time.Hour, task.RetryUpdate, "left")
	s.run()
	require.Equal(t, task.Failed, failed.State)
	require.Contains(t, failed.Error.Message, "the old table is gone")
	s.ends(task.RolledBack, all(task.RolledBack, 3)...)
}

func TestACancelLeavesWhatCannotBeUndoneOfAStepAtWorkOrHeld(t *testing.T) {
	for name, fails := range map[string]int{"at work": 0, "held": -1} {
		t.Run(name, func(t *testing.T) {
			s := classic(t, nil)
			s.houses["fill"].final, s.houses["fill"].fails = true, fails
			if fails == 0 {
				s.houses["fill"].takes = time.Hour
			}
			s.signal(30*time.Minute, task.CancelSignal)
			s.run()
			s.ends(task.Cancelled, task.RolledBack, task.RolledBack, task.Pending, task.Pending)
			require.Equal(t, "left as it is: 7 rows stay", s.status.Steps[1].Detail)
		})
	}
}

func TestAStepThatTakesTooLongIsSkippedAlthoughNotAllOfItCanBeUndone(t *testing.T) {
	s := classic(t, map[string]string{"fill": "timeout: 5m, on_timeout: skip"})
	s.houses["fill"].final, s.houses["fill"].takes = true, time.Hour
	s.run()
	s.ends(task.Success, task.Success, task.Skipped, task.Success, task.Success)
	require.Contains(t, s.status.Steps[1].Detail, "left as it is: 7 rows stay")
}

func TestARollbackDoesNotLeaveWhatCannotBeUndoneUnasked(t *testing.T) {
	s := classic(t, map[string]string{"fill": "on_failure: rollback"})
	s.houses["fill"].final, s.houses["fill"].fails = true, -1
	held := s.look(30 * time.Minute)
	s.update(40*time.Minute, task.SkipUpdate, "fill")
	s.run()
	require.Equal(t, task.Failed, held.State)
	require.Contains(t, held.Error.Message, "no old values were kept")
	require.Equal(t, task.RolledBack, s.status.State)
	require.Contains(t, s.order, "undo add")
}

func TestAnUndoingOfAStepWithoutALimitNeedsAttentionAfterAWhile(t *testing.T) {
	s := classic(t, map[string]string{"fill": "on_failure: rollback"})
	s.houses["fill"].fails, s.houses["fill"].stuck = -1, 40*time.Minute
	soon, late := s.look(10*time.Minute), s.look(30*time.Minute)
	s.run()
	require.False(t, soon.Attention)
	require.True(t, late.Attention)
	s.ends(task.RolledBack, task.RolledBack, task.RolledBack, task.Pending, task.Pending)
}
