package workflows

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// doorman is Capacity as a migration in a world sees it: it lets everybody in
// and gives what is wished for, unless a test wants it otherwise.
type doorman struct {
	// shut keeps the migration waiting, and most bounds its shards.
	shut bool
	most int
	// away says that there is no Capacity workflow for messages to come to.
	away bool
	// earlier says that the run was begun before there was any.
	earlier bool

	claims []task.Claim
	asked  []task.ClaimInput
	grants int
}

// open puts a doorman into the world.
func (w *world) open() {
	w.env.RegisterActivityWithOptions(func(_ context.Context, in task.ClaimInput) (task.Claimed, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.doorman.asked = append(w.doorman.asked, in)
		w.hears(in.Claim)
		return task.Claimed{Chain: "capacity"}, nil
	}, activity.RegisterOptions{Name: task.ClaimPlaceActivity})
	if w.doorman.earlier {
		w.env.OnGetVersion("capacity", workflow.DefaultVersion, workflow.Version(1)).Return(workflow.DefaultVersion)
	}
	w.env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(
		func(_, id, _, _ string, arg any) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if report, is := arg.(task.StepReport); is && id == w.in.Pipeline {
				w.reports = append(w.reports, report)
				return nil
			}
			if w.doorman.away || id != task.CapacityID("default-test-taskqueue") {
				return errors.New("there is no such workflow")
			}
			w.hears(arg.(task.Claim))
			return nil
		}).Maybe()
}

// hears takes a claim; the world is locked.
func (w *world) hears(c task.Claim) {
	w.doorman.claims = append(w.doorman.claims, c)
	if c.No < w.lastClaim().No {
		return
	}
	if !w.doorman.shut && !c.Released && c.Wish != c.Held {
		w.grant(c, c.Wish)
	}
}

// grant lets a migration run so many shards; the world is locked.
func (w *world) grant(c task.Claim, shards int) {
	if w.doorman.most > 0 {
		shards = min(shards, w.doorman.most)
	}
	w.doorman.grants++
	w.env.SignalWorkflow(task.GrantSignal, task.Grant{Chain: c.Chain, Shards: shards, From: "capacity", No: w.doorman.grants})
}

// lets lets the migration run so many shards.
func (w *world) lets(shards int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.grant(w.lastClaim(), shards)
}

// lastClaim is the one that counts: messages that are under way at the same time
// may overtake each other.
func (w *world) lastClaim() task.Claim {
	return slices.MaxFunc(w.doorman.claims, func(a, b task.Claim) int { return cmp.Compare(a.No, b.No) })
}
