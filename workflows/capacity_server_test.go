package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"godwit/internal/task"
)

// other is the claim of another migration, which is there and which no worker
// takes up.
func (r *rig) other() task.Claim {
	r.t.Helper()
	id := r.id + "-other"
	run, err := r.c.ExecuteWorkflow(r.t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "nobody's"}, task.MigrationWorkflow)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = r.c.TerminateWorkflow(context.Background(), id, "", "the test is over") })
	return task.Claim{ID: id, Chain: run.GetRunID(), No: 1, Connections: []string{"legacy"}, Priority: 1}
}

// claims sends a claim to the Capacity workflow of the rig's queue. Of the
// connection that the rig's migration reads there is one place.
func (r *rig) claims(c task.Claim) {
	r.t.Helper()
	c.Limits = map[string]task.Limits{"legacy": {Migrations: 1, Shards: 8}}
	id := task.CapacityID(r.queue)
	_, err := r.c.SignalWithStartWorkflow(r.t.Context(), id, task.ClaimSignal, c, client.StartWorkflowOptions{ID: id, TaskQueue: r.queue},
		task.CapacityWorkflow, CapacityInput{})
	require.NoError(r.t, err)
}

func (r *rig) terminateCapacity() {
	r.t.Helper()
	require.NoError(r.t, r.c.TerminateWorkflow(r.t.Context(), task.CapacityID(r.queue), "", "somebody in a hurry"))
}

// capacity is what the Capacity workflow tells, once it is as wanted.
func (r *rig) capacity(want func(task.CapacityStatus) bool) (status task.CapacityStatus) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		value, err := r.c.QueryWorkflow(r.t.Context(), task.CapacityID(r.queue), "", task.CapacityQuery)
		status = task.CapacityStatus{}
		return err == nil && value.Get(&status) == nil && want(status)
	}, 20*time.Second, 50*time.Millisecond)
	return status
}

func waitsForAPlace(t *testing.T, r *rig) {
	other := r.other()
	other.Held = 1
	r.claims(other)
	require.NoError(t, r.start())
	waiting := r.capacity(func(s task.CapacityStatus) bool { return len(s.Waiting) == 1 })
	require.Equal(t, &task.QueuePlace{Place: 1, Of: 1, Connection: "legacy", Running: 1, Limit: 1}, waiting.Waiting[0].Queue)
	status := r.status()
	require.Equal(t, task.Pending, status.State)
	require.Contains(t, status.WaitingFor, "capacity of connections legacy and warehouse")
	r.signal(task.PauseSignal, nil)
	r.capacity(func(s task.CapacityStatus) bool { return len(s.Waiting) == 0 })
	require.Equal(t, task.Paused, r.status().State)
	r.signal(task.ResumeSignal, nil)
	r.capacity(func(s task.CapacityStatus) bool { return len(s.Waiting) == 1 })
	require.Zero(t, r.timesBegun(task.PreflightActivity), "nothing begins before it has a place")
	other.No, other.Released = 2, true
	r.claims(other)
	_, err := r.ends()
	require.NoError(t, err)
	r.capacity(func(s task.CapacityStatus) bool { return len(s.Running)+len(s.Waiting) == 0 })
}

func capacityTerminated(t *testing.T, r *rig) {
	other := r.other()
	other.Held = 1
	r.claims(other)
	require.NoError(t, r.start())
	r.capacity(func(s task.CapacityStatus) bool { return len(s.Waiting) == 1 })
	r.terminateCapacity()
	_, err := r.ends() // the new Capacity has never heard of the other one
	require.NoError(t, err)
}

func capacityTerminatedUnderHolders(t *testing.T, r *rig) {
	open := r.block(task.TransformShardActivity)
	require.NoError(t, r.start())
	r.running(task.TransformShardActivity, 3)
	r.terminateCapacity()
	newcomer := r.other()
	r.claims(newcomer)
	found := r.capacity(func(s task.CapacityStatus) bool { return len(s.Running) == 1 })
	require.Equal(t, r.id, found.Running[0].ID, "it is asked before the newcomer is let in")
	require.Equal(t, 3, found.Running[0].Shards)
	require.Equal(t, newcomer.ID, found.Waiting[0].ID)
	open()
	_, err := r.ends()
	require.NoError(t, err)
}

func holderTerminated(t *testing.T, r *rig) {
	other := r.other()
	other.Held = 1
	r.claims(other)
	require.NoError(t, r.start())
	r.capacity(func(s task.CapacityStatus) bool { return len(s.Waiting) == 1 })
	require.NoError(t, r.c.TerminateWorkflow(t.Context(), other.ID, "", "somebody in a hurry"))
	began := time.Now()
	require.Eventually(t, func() bool { return r.status().State == task.Success }, surveyEvery+20*time.Second, 100*time.Millisecond)
	t.Logf("noticed after %s", time.Since(began))
}
