package throttle_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// draining is a shard that copies and applies noted changes.
type draining struct {
	*held
	pending, apply atomic.Int64 // how many are left, and how many a draining applies
	sweeps, full   atomic.Int64
}

func (r *rig) drains(t *testing.T, limits spec.Throttle) *draining {
	d := &draining{held: r.begin(t, limits)}
	d.Drains(func(_ context.Context, full bool) error {
		d.sweeps.Add(1)
		if full {
			d.full.Add(1)
		}
		return d.sweep()
	})
	return d
}

func (d *draining) sweep() error {
	applied := min(d.apply.Load(), d.pending.Load())
	return d.Noted(d.pending.Add(-applied), applied)
}

// changelogLimit is that a shard whose changes are too many applies them before
// it goes on, for as long as that is of use.
func changelogLimit(t *testing.T, r *rig) {
	d := r.drains(t, spec.Throttle{MaxChangelog: &spec.ChangelogLimit{Rows: 1000}})
	d.goes(t)
	d.pending.Store(3000)
	d.apply.Store(200)
	require.NoError(t, d.sweep())
	d.goes(t)
	require.EqualValues(t, 800, d.pending.Load(), "down to the low watermark")
	require.EqualValues(t, 10, d.full.Load())

	d.pending.Store(3000)
	d.apply.Store(0)
	require.NoError(t, d.sweep())
	d.goes(t)
	require.EqualValues(t, 3000, d.pending.Load(), "only copying helps with changes of rows that are not copied yet")

	d.apply.Store(200)
	d.pending.Store(5000)
	require.NoError(t, d.sweep())
	other, err := d.governor.Share(t.Context(), task.Verify, 2, d.stop)
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, other.Wait(t.Context(), 0, 0), "who applies no changes is not held by them")
	ended := make(chan struct{})
	d.Drains(func(context.Context, bool) error { return d.Noted(4800, 200) })
	go func() {
		defer close(ended)
		d.goes(t)
	}()
	require.Eventually(t, func() bool {
		return d.Holding() == "max_changelog: 4,800 noted changes are pending, and the limit is 1,000"
	}, 30*time.Second, 10*time.Millisecond)
	require.Contains(t, d.Guards(), task.GuardStatus{Guard: "max_changelog", Reading: "4,800 noted changes are pending", Limit: "1,000", Holding: true})
	require.NoError(t, d.ledger.SetThrottle(t.Context(), task.ThrottleSettings{MaxChangelog: new("0")}))
	<-ended
}

// changelogStop is that too many changes end the migration where that is asked for.
func changelogStop(t *testing.T, r *rig) {
	d := r.drains(t, spec.Throttle{MaxChangelog: &spec.ChangelogLimit{Rows: 1000, Then: spec.ThenStop}})
	require.NoError(t, d.Noted(1000, 0))
	err := d.Noted(1001, 0)
	require.ErrorContains(t, err, "max_changelog: 1,001 noted changes are pending, and the limit is 1,000: stopped with everything kept")
	require.Equal(t, task.Human, fault.Of(err).Class)
}

// drainedWhileHeld is that noted changes do not grow while something else holds.
func drainedWhileHeld(t *testing.T, r *rig) {
	d := r.drains(t, spec.Throttle{Hold: "until the sale is over"})
	d.whileHeld(t, "until the sale is over", func() {
		was := d.sweeps.Load()
		require.Eventually(t, func() bool { return d.sweeps.Load() > was+3 }, 30*time.Second, 10*time.Millisecond)
		require.Zero(t, d.full.Load())
		require.NoError(t, d.ledger.SetThrottle(t.Context(), task.ThrottleSettings{Hold: new("")}))
	})
}
