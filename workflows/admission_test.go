package workflows

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// crowded is a world in which nobody is let in until the test does.
func crowded(t *testing.T) *world {
	w := newWorld(t)
	w.doorman.shut = true
	return w
}

// released reports whether the last that Capacity heard is that nothing is held.
func (w *world) released() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lastClaim().Released
}

func TestAMigrationThatWaitsForAPlaceIsPendingAndTouchesNothing(t *testing.T) {
	w := crowded(t)
	w.spec.Priority = 2
	w.spec.Timeouts.Total, w.spec.Timeouts.Preflight = duration(t, "30m"), duration(t, "10m")
	waiting := w.look(5 * time.Hour)
	w.at(5*time.Hour+time.Minute, func() {
		require.Empty(t, w.calls, "no activity takes a slot or a connection")
		w.doorman.shut = false
		w.lets(1)
	})
	w.run()
	w.succeeds()
	require.Equal(t, task.Pending, waiting.State)
	require.Equal(t, task.Preflight, waiting.Phase)
	require.Nil(t, waiting.Steps[0].StartedAt)
	require.Contains(t, waiting.WaitingFor, "capacity of connections legacy and warehouse")
	require.Contains(t, waiting.Can, "cancel")
	first := w.doorman.claims[0]
	require.Equal(t, []string{"legacy", "warehouse"}, first.Connections)
	require.Equal(t, 2, first.Priority)
	require.True(t, first.Since.Equal(*w.status.StartedAt))
	require.Zero(t, first.Held)
}

func TestItAsksEveryMinuteWhetherItsClaimIsStillThere(t *testing.T) {
	w := crowded(t)
	w.at(20*time.Minute, func() {
		w.doorman.shut = false
		w.lets(1)
	})
	w.run()
	w.succeeds()
	require.InDelta(t, 20, len(w.doorman.asked), 1)
	require.Empty(t, w.doorman.asked[0].Known)
	require.Equal(t, "capacity", w.doorman.asked[1].Known)
	require.Empty(t, w.doorman.asked[claimEach].Known, "now and then it does not believe that it is known")
}

func TestTheWindowGoesByTheAllotment(t *testing.T) {
	w := newWorld(t)
	w.doorman.most = 2
	w.run()
	w.succeeds()
	require.Equal(t, 2, w.most)
	wished := 0
	for _, c := range w.doorman.claims {
		wished = max(wished, c.Wish)
	}
	require.Equal(t, 4, wished, "it says how many it would run")
	require.True(t, w.released())
}

func TestASmallerAllotmentIsReportedWhenItIsReached(t *testing.T) {
	w := newWorld(t)
	w.transform = 20
	said := 0
	w.at(30*time.Second, func() {
		said = len(w.doorman.claims)
		w.doorman.most = 1
		w.lets(1)
	})
	w.at(59*time.Second, func() { require.Len(t, w.doorman.claims, said, "four shards are still at work") })
	w.at(61*time.Second, func() {
		require.Greater(t, len(w.doorman.claims), said)
		require.Equal(t, 1, w.lastClaim().Held)
	})
	smaller := w.look(90 * time.Second)
	w.run()
	w.succeeds()
	require.Equal(t, 1, smaller.Shards.Running)
}

func TestALargerAllotmentIsUsedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.transform, w.doorman.most = 8, 1
	small := w.look(50 * time.Second)
	w.at(30*time.Second, func() {
		w.doorman.most = 3
		w.lets(3)
	})
	first := w.look(29 * time.Second)
	w.run()
	w.succeeds()
	require.Equal(t, 1, first.Shards.Running)
	require.Equal(t, 3, small.Shards.Running)
}

func TestAPauseGivesThePlaceBackAndAResumeAsksAgain(t *testing.T) {
	w := newWorld(t)
	w.signal(30*time.Second, task.PauseSignal, nil)
	w.at(time.Hour, func() {
		require.True(t, w.released())
		w.doorman.shut = true
	})
	w.signal(2*time.Hour, task.ResumeSignal, nil)
	waiting := w.look(3 * time.Hour)
	w.at(4*time.Hour, func() {
		w.doorman.shut = false
		w.lets(1)
	})
	w.run()
	w.succeeds()
	require.Equal(t, task.Pending, waiting.State)
	require.Equal(t, task.Transform, waiting.Phase)
	require.Contains(t, waiting.WaitingFor, "capacity of")
	require.Equal(t, []string{"paused", "resumed", "waits for capacity", "running", "success"}, w.recorded())
	for _, c := range w.doorman.claims {
		require.True(t, c.Released || c.Since.Equal(*w.status.StartedAt), "it keeps its age")
	}
}

func TestAPauseWhileItWaitsTakesItOutOfTheQueue(t *testing.T) {
	w := crowded(t)
	w.signal(time.Minute, task.PauseSignal, nil)
	paused := w.look(time.Hour)
	w.at(time.Hour, func() {
		require.True(t, w.released())
		w.doorman.shut = false
	})
	w.signal(2*time.Hour, task.ResumeSignal, nil)
	w.run()
	w.succeeds()
	require.Equal(t, task.Paused, paused.State)
}

func TestCancelAndRollbackWaitForNoPlace(t *testing.T) {
	for name, wish := range map[string]func(*world){
		"cancel":   func(w *world) { w.signal(time.Hour, task.CancelSignal, nil) },
		"rollback": func(w *world) { w.update(time.Hour, task.RollbackUpdate) },
	} {
		t.Run(name, func(t *testing.T) {
			w := crowded(t)
			wish(w)
			w.run()
			require.Error(t, w.err)
			require.Equal(t, []string{task.RollbackActivity}, w.names())
			require.InDelta(t, time.Hour.Seconds(), w.last(task.RollbackActivity).at.Seconds(), 1)
			require.True(t, w.released())
		})
	}
	t.Run("the rollback of one that has ended", func(t *testing.T) {
		w := crowded(t)
		w.in.Rollback = true
		w.run()
		require.Equal(t, task.RolledBack, w.status.State)
		require.Empty(t, w.doorman.claims)
	})
}

func TestHoweverItEndsThePlaceIsGivenBack(t *testing.T) {
	for name, trouble := range map[string]func(*world){
		"failed":    func(w *world) { w.fails(task.BackupActivity, 0, -1, task.Config) },
		"timed out": func(w *world) { w.spec.Timeouts.Transform = duration(w.t, "10s") },
		"cancelled": func(w *world) { w.signal(30*time.Second, task.CancelSignal, nil) },
		"botched": func(w *world) {
			w.signal(30*time.Second, task.CancelSignal, nil)
			w.fails(task.RollbackActivity, 0, -1, task.Config)
		},
		"done": func(*world) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			trouble(w)
			w.run()
			require.True(t, w.released())
		})
	}
}

func TestWhatIsKeptForARollbackNeedsNoPlace(t *testing.T) {
	w := newWorld(t)
	w.cut.KeepFor = 24 * time.Hour
	w.at(12*time.Hour, func() {
		require.True(t, w.released())
		w.doorman.shut = true
	})
	w.run()
	w.succeeds()
}

func TestNoPlaceIsHeldWhileAnOperatorIsWaitedFor(t *testing.T) {
	w := manual(t)
	w.at(time.Hour, func() {
		require.True(t, w.released())
		w.doorman.shut = true
	})
	w.update(2*time.Hour, task.CutoverUpdate)
	waiting := w.look(3 * time.Hour)
	w.at(4*time.Hour, func() {
		require.Zero(t, w.count(task.CutoverActivity))
		w.doorman.shut = false
		w.lets(1)
	})
	w.run()
	w.succeeds()
	require.Equal(t, task.Pending, waiting.State)
	require.Equal(t, task.Cutover, waiting.Phase)
}

func TestCapacityThatLostItsBookIsToldAgain(t *testing.T) {
	for name, test := range map[string]struct {
		after time.Duration
		want  func(task.Claim) bool
	}{
		"while it works":           {30 * time.Second, func(c task.Claim) bool { return c.Held == 4 && !c.Released }},
		"while something is kept":  {time.Hour, func(c task.Claim) bool { return c.Released }},
		"while it has just begun ": {time.Millisecond, func(c task.Claim) bool { return !c.Released }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.cut.KeepFor = 24 * time.Hour
			var before, no int
			w.at(test.after, func() { before, no = len(w.doorman.claims), w.lastClaim().No })
			w.signal(test.after, task.AnnounceSignal, nil)
			w.at(test.after+time.Second, func() {
				require.Greater(t, len(w.doorman.claims), before)
				require.True(t, test.want(w.doorman.claims[before]))
				require.Greater(t, w.doorman.claims[before].No, no)
			})
			w.run()
			w.succeeds()
		})
	}
}

func TestAPlaceThatIsNotWantedIsGivenBack(t *testing.T) {
	w := newWorld(t)
	w.cut.KeepFor = 24 * time.Hour
	before := 0
	w.at(time.Hour, func() {
		before = len(w.doorman.claims)
		w.lets(2)
	})
	w.run()
	w.succeeds()
	require.Greater(t, len(w.doorman.claims), before)
	require.True(t, w.released())
}

func TestAMessageThatIsOvertakenOrForAnotherIsIgnored(t *testing.T) {
	w := newWorld(t)
	w.transform = 20
	w.at(30*time.Second, func() {
		c := w.lastClaim()
		w.doorman.shut = true
		for _, g := range []task.Grant{
			{Chain: c.Chain, Shards: 1, From: "capacity", No: 1}, {Chain: "another", Shards: 1, From: "capacity", No: 1000}, {Chain: c.Chain, From: "capacity", No: 1001},
		} {
			w.env.SignalWorkflow(task.GrantSignal, g)
		}
	})
	later := w.look(90 * time.Second)
	w.run()
	w.succeeds()
	require.Equal(t, 4, later.Shards.Running)
}

func TestWithoutACapacityToTellItGoesOn(t *testing.T) {
	w := newWorld(t)
	w.doorman.away = true
	w.run()
	w.succeeds()
	require.Equal(t, 1, w.most, "nobody heard that it wants more than one")
}

func TestAHandoverWhileItWaitsKeepsWaiting(t *testing.T) {
	w := crowded(t)
	w.longAfter(time.Hour)
	w.run()
	n := w.next()
	require.False(t, w.lastClaim().Released)
	n.at(time.Hour, func() {
		n.doorman.shut = false
		n.lets(1)
	})
	waiting := n.look(30 * time.Minute)
	n.run()
	n.succeeds()
	require.Equal(t, task.Pending, waiting.State)
	require.Equal(t, *w.status.StartedAt, *n.status.StartedAt)
}

func TestAHandoverTakesThePlaceAlong(t *testing.T) {
	w := newWorld(t)
	w.doorman.most = 2
	w.longAfter(90 * time.Second)
	w.run()
	require.False(t, w.lastClaim().Released)
	n := w.next()
	n.doorman.shut = true
	n.run()
	n.succeeds()
	require.Equal(t, 2, n.most)
	require.Empty(t, n.doorman.asked[len(w.doorman.asked):], "it has a place already")
}

func TestAPlaceThatComesWithTheHandoverIsNotLost(t *testing.T) {
	w := crowded(t)
	w.at(89*time.Second, func() {
		w.doorman.grants++
		w.env.SignalWorkflowSkippingWorkflowTask(task.GrantSignal, task.Grant{Chain: w.lastClaim().Chain, Shards: 3, From: "capacity", No: w.doorman.grants})
	})
	w.longAfter(90 * time.Second)
	w.run()
	var handover *workflow.ContinueAsNewError
	if !errors.As(w.err, &handover) {
		w.succeeds()
		return
	}
	n := w.next()
	n.run()
	n.succeeds()
	require.Equal(t, 3, n.in.Carried.Seat.Allotted)
}

func TestARunOfAnEarlierVersionAsksForNoPlace(t *testing.T) {
	w := crowded(t)
	w.doorman.earlier = true
	w.run()
	w.succeeds()
	require.Empty(t, w.doorman.claims)
	require.Equal(t, 4, w.most)
}
