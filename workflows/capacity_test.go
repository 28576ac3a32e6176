package workflows

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// house is a Capacity workflow with the migrations that talk to it.
type house struct {
	t   *testing.T
	env *testsuite.TestWorkflowEnvironment
	in  CapacityInput

	mu      sync.Mutex
	dead    map[string]bool
	limits  map[string]task.Limits
	holders []string // that a census finds
	surveys []task.SurveyInput
	grants  []task.Grant // by chain, which is the id here
}

func newHouse(t *testing.T) *house {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	return &house{t: t, env: suite.NewTestWorkflowEnvironment(), dead: map[string]bool{}, limits: map[string]task.Limits{"shop": {Migrations: 2, Shards: 8}}}
}

// says sends a claim after a time; its chain is its id.
func (h *house) says(after time.Duration, c task.Claim) {
	c.Chain, c.Connections, c.Since = c.ID, []string{"shop"}, bookTime.Add(after)
	h.env.RegisterDelayedCallback(func() {
		h.mu.Lock()
		c.Limits = map[string]task.Limits{"shop": h.limits["shop"]}
		h.mu.Unlock()
		h.env.SignalWorkflow(task.ClaimSignal, c)
	}, after)
}

func (h *house) at(after time.Duration, do func(task.CapacityStatus)) {
	h.env.RegisterDelayedCallback(func() {
		value, err := h.env.QueryWorkflow(task.CapacityQuery)
		require.NoError(h.t, err)
		var status task.CapacityStatus
		require.NoError(h.t, value.Get(&status))
		do(status)
	}, after)
}

// run runs it until its history is as long as calls for another run.
func (h *house) run(long time.Duration) *book {
	h.t.Helper()
	Register(h.env)
	h.env.RegisterActivityWithOptions(func(_ context.Context, in task.SurveyInput) (task.Survey, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.surveys = append(h.surveys, in)
		out := task.Survey{Limits: map[string]task.Limits{}}
		for _, c := range in.Connections {
			out.Limits[c] = h.limits[c]
		}
		for _, k := range in.Known {
			if h.dead[k.ID] {
				out.Gone = append(out.Gone, k.ID)
			}
		}
		if in.Census {
			out.Asked = h.holders
		}
		return out, nil
	}, activity.RegisterOptions{Name: task.SurveyPlacesActivity})
	h.env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, task.GrantSignal, mock.Anything).Return(
		func(_, id, _, _ string, arg any) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.dead[id] {
				return errors.New("there is no such workflow")
			}
			h.grants = append(h.grants, arg.(task.Grant))
			return nil
		}).Maybe()
	h.env.RegisterDelayedCallback(func() { h.env.SetContinueAsNewSuggested(true) }, long)
	h.env.SetTestTimeout(20 * time.Second)
	h.env.ExecuteWorkflow(task.CapacityWorkflow, h.in)
	require.True(h.t, h.env.IsWorkflowCompleted())
	var handover *workflow.ContinueAsNewError
	require.ErrorAs(h.t, h.env.GetWorkflowError(), &handover)
	var next CapacityInput
	require.NoError(h.t, converter.GetDefaultDataConverter().FromPayloads(handover.Input, &next))
	return next.Carried
}

// told are the ids that grants went to, in order.
func (h *house) told() (ids []string) {
	for _, g := range h.grants {
		ids = append(ids, g.Chain)
	}
	return ids
}

func ids(places []task.PlaceStatus) (found []string) {
	for _, p := range places {
		found = append(found, p.ID)
	}
	return found
}

func TestCapacityLetsInAsManyAsTheLimitsAllow(t *testing.T) {
	h := newHouse(t)
	h.says(time.Second, task.Claim{ID: "a", No: 1, Priority: 3, Wish: 1})
	h.says(2*time.Second, task.Claim{ID: "b", No: 1, Priority: 3, Wish: 1})
	h.says(3*time.Second, task.Claim{ID: "c", No: 1, Priority: 3, Wish: 1})
	h.says(4*time.Second, task.Claim{ID: "d", No: 1, Priority: 1, Wish: 1})
	h.at(5*time.Second, func(s task.CapacityStatus) {
		require.Equal(t, []string{"a", "b"}, ids(s.Running))
		require.Equal(t, []string{"d", "c"}, ids(s.Waiting))
	})
	h.says(6*time.Second, task.Claim{ID: "a", No: 2, Released: true})
	h.says(7*time.Second, task.Claim{ID: "b", No: 2, Released: true})
	h.run(time.Minute)
	require.Equal(t, []string{"a", "b", "d", "c"}, h.told())
}

func TestADeadHolderStopsNobodyForLong(t *testing.T) {
	h := newHouse(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		h.says(time.Second, task.Claim{ID: id, No: 1, Priority: 3, Wish: 1})
	}
	h.env.RegisterDelayedCallback(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.dead["a"], h.dead["c"] = true, true
	}, 10*time.Second)
	h.at(time.Second+surveyEvery+time.Second, func(s task.CapacityStatus) {
		require.Equal(t, []string{"b", "d"}, ids(s.Running), "whoever waited and is dead is dropped as well")
	})
	h.run(10 * time.Minute)
	require.Len(t, h.surveys, 2, "the census, and one look: then nobody waits")
}

func TestAHolderThatCannotBeToldAnythingIsDropped(t *testing.T) {
	h := newHouse(t)
	h.dead["a"] = true
	h.says(time.Second, task.Claim{ID: "a", No: 1, Priority: 3, Wish: 1})
	h.at(2*time.Second, func(s task.CapacityStatus) { require.Empty(t, s.Running) })
	h.run(time.Minute)
}

func TestLimitsThatWereChangedAreNoticedWhileSomebodyWaits(t *testing.T) {
	h := newHouse(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		h.says(time.Second, task.Claim{ID: id, No: 1, Priority: 3, Wish: 1})
	}
	h.env.RegisterDelayedCallback(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.limits = map[string]task.Limits{"shop": {Migrations: 4, Shards: 8}}
	}, 10*time.Second)
	h.at(time.Minute, func(s task.CapacityStatus) { require.Len(t, s.Running, 4) })
	h.run(time.Hour)
}

func TestAFreshCapacityAsksThoseWhoRunBeforeItLetsAnybodyIn(t *testing.T) {
	h := newHouse(t)
	h.holders = []string{"x", "y"}
	h.says(0, task.Claim{ID: "newcomer", No: 1, Priority: 1, Wish: 1})
	h.says(2*time.Second, task.Claim{ID: "x", No: 7, Priority: 3, Wish: 4, Held: 4})
	h.says(4*time.Second, task.Claim{ID: "y", No: 9, Priority: 3, Wish: 2, Held: 2})
	h.at(5*time.Second, func(s task.CapacityStatus) {
		require.Equal(t, []string{"x", "y"}, ids(s.Running))
		require.Equal(t, []string{"newcomer"}, ids(s.Waiting))
		require.Equal(t, 6, s.Connections[0].Shards)
	})
	h.run(time.Minute)
	require.Empty(t, h.told(), "they know what they may")
}

func TestACensusDoesNotWaitForThoseWhoSayNothing(t *testing.T) {
	h := newHouse(t)
	h.holders = []string{"of an earlier version"}
	h.says(0, task.Claim{ID: "newcomer", No: 1, Priority: 1, Wish: 1})
	h.at(censusLimit-time.Second, func(s task.CapacityStatus) { require.Empty(t, s.Running) })
	h.at(censusLimit+time.Second, func(s task.CapacityStatus) { require.Len(t, s.Running, 1) })
	h.run(time.Minute)
}

func TestCapacityHandsItsBookOver(t *testing.T) {
	h := newHouse(t)
	for _, id := range []string{"a", "b", "c"} {
		h.says(time.Second, task.Claim{ID: id, No: 1, Priority: 3, Wish: 3})
	}
	carried := h.run(time.Minute)
	next := newHouse(t)
	next.in.Carried = carried
	next.holders = []string{"nobody is asked again"}
	next.at(time.Second, func(s task.CapacityStatus) {
		require.Equal(t, []string{"a", "b"}, ids(s.Running))
		require.Equal(t, 3, s.Running[0].Shards)
		require.Equal(t, []string{"c"}, ids(s.Waiting))
	})
	next.says(2*time.Second, task.Claim{ID: "a", No: 2, Released: true})
	next.run(20 * time.Second)
	require.Equal(t, []string{"c"}, slices.Compact(next.told()))
	require.Greater(t, next.grants[0].No, h.grants[len(h.grants)-1].No, "grants are counted on")
	require.Empty(t, next.surveys)
}
