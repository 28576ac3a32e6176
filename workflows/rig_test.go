package workflows

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"

	"godwit/activities"
	"godwit/internal/connection"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// rig is a migration on a real Temporal server, with a worker whose activities
// touch no database.
type rig struct {
	t     *testing.T
	c     client.Client
	id    string
	queue string
	spec  *spec.Spec
	in    MigrationInput

	shards  int
	keepFor time.Duration
	tend    time.Duration
	// stubborn says that the cut-over does not notice that it is cancelled.
	stubborn bool

	runs  []string // ids of the runs that were started
	steps []string // ids of a pipeline's steps whose histories are looked at, too

	mu     sync.Mutex
	truth  bool                     // what queries of a pipeline's steps say, and whether what they need is done
	called []error                  // what becomes of the next calls; then they are answered
	botch  int                      // how many rollbacks fail
	gates  map[string]chan struct{} // activities that wait until they are opened
	broken map[int]task.Class       // shards that fail
	done   map[string]int
	begun  map[string]int
}

// newRig makes a rig of a few shards; c is connected to the server.
func newRig(t *testing.T, c client.Client, id string) *rig {
	s, err := spec.New(task.Copy)
	require.NoError(t, err)
	s.Copy.Source, s.Copy.Target, s.Name = "legacy", "warehouse", "legacy → warehouse"
	r := &rig{
		t: t, c: c, id: id, queue: id, spec: s, shards: 3, in: MigrationInput{Ledger: "warehouse", Target: "warehouse"},
		gates: map[string]chan struct{}{}, broken: map[int]task.Class{}, done: map[string]int{}, begun: map[string]int{},
	}
	connections, err := connection.Load("", nil)
	require.NoError(t, err)
	capacity := activities.New(connections, nil, "rig")
	w := worker.New(c, r.queue, worker.Options{MaxHeartbeatThrottleInterval: 50 * time.Millisecond, WorkerStopTimeout: time.Second})
	Register(w)
	for name, f := range map[string]any{
		task.PreflightActivity: r.preflight, task.BackupActivity: r.backup,
		task.PrepareTransformActivity: r.prepare, task.TransformShardActivity: r.shard, task.FinishTransformActivity: r.finish,
		task.PrepareVerifyActivity: r.prepare, task.VerifyShardActivity: r.shard, task.FinishVerifyActivity: r.verified,
		task.TendActivity: r.tended, task.CutoverActivity: r.cutover, task.CleanupActivity: r.phase, task.RollbackActivity: r.rollback,
		task.ConditionActivity: r.condition, task.NeedsActivity: r.need, task.CallActivity: r.call,
		task.ClaimPlaceActivity: capacity.ClaimPlace, task.SurveyPlacesActivity: capacity.SurveyPlaces, task.LookForPipelineActivity: capacity.LookForPipeline,
		task.RecordActivity:       func(context.Context, task.RecordInput) error { return nil },
		task.OpenPipelineActivity: func(context.Context, task.OpenPipelineInput) error { return nil },
		task.RecordStepsActivity:  func(context.Context, task.RecordStepsInput) error { return nil },
	} {
		w.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	return r
}

// block makes an activity wait until the returned function is called.
func (r *rig) block(name string) (open func()) {
	gate := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gates[name] = gate
	open = sync.OnceFunc(func() { close(gate) })
	r.t.Cleanup(open)
	return open
}

// pass waits at an activity's gate, as one that works in small chunks does.
func (r *rig) pass(ctx context.Context) error {
	name := activity.GetInfo(ctx).ActivityType.Name
	r.mu.Lock()
	gate := r.gates[name]
	r.begun[name]++
	r.mu.Unlock()
	if gate == nil {
		return nil
	}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		activity.RecordHeartbeat(ctx, "at work")
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			if name != task.CutoverActivity || !r.stubborn {
				return temporal.NewCanceledError()
			}
			return nil
		case <-ticker.C:
		}
	}
}

func (r *rig) preflight(ctx context.Context, _ task.PreflightInput) (task.PreflightResult, error) {
	return task.PreflightResult{Tables: 1, RowsTotal: int64(r.shards) * rowsPerShard, TendEvery: r.tend}, r.pass(ctx)
}

func (r *rig) backup(ctx context.Context, _ task.PhaseInput) (task.BackupResult, error) {
	return task.BackupResult{}, r.pass(ctx)
}

func (r *rig) prepare(ctx context.Context, in task.PhaseInput) (task.Work, error) {
	r.mu.Lock()
	work := task.Work{Shards: r.shards, RowsTotal: int64(r.shards) * rowsPerShard}
	for no := 1; no <= r.shards; no++ {
		if r.done[shardID(in.Phase, no)] > 0 {
			work.Done++
			work.RowsDone += rowsPerShard
			continue
		}
		work.Open = append(work.Open, no)
		work.Labels = append(work.Labels, fmt.Sprintf("shop.orders %d/%d", no, r.shards))
	}
	r.mu.Unlock()
	return work, r.pass(ctx)
}

func (r *rig) shard(ctx context.Context, in task.ShardInput) (task.ShardResult, error) {
	if err := r.pass(ctx); err != nil {
		return task.ShardResult{}, err
	}
	time.Sleep(time.Duration(in.Shard*7%19) * 5 * time.Millisecond) // shards end one after the other
	r.mu.Lock()
	defer r.mu.Unlock()
	if class := r.broken[in.Shard]; class != "" {
		failure := task.Failure{Class: class, Message: "value out of range", Table: "shop.orders"}
		return task.ShardResult{}, temporal.NewNonRetryableApplicationError(failure.Message, string(class), nil, failure)
	}
	r.done[shardID(in.Phase, in.Shard)]++
	return task.ShardResult{Shard: in.Shard, Table: "shop.orders", Rows: rowsPerShard}, nil
}

func (r *rig) finish(ctx context.Context, _ task.PhaseInput) (task.Work, error) {
	return task.Work{}, r.pass(ctx)
}

func (r *rig) verified(ctx context.Context, _ task.PhaseInput) (task.VerifySummary, error) {
	return task.VerifySummary{Mode: "checksum", Tables: 1, Rows: int64(r.shards) * rowsPerShard}, r.pass(ctx)
}

func (r *rig) tended(ctx context.Context, _ task.PhaseInput) (task.TendResult, error) {
	return task.TendResult{}, r.pass(ctx)
}

func (r *rig) cutover(ctx context.Context, _ task.PhaseInput) (task.CutoverResult, error) {
	return task.CutoverResult{KeepFor: r.keepFor}, r.pass(ctx)
}

func (r *rig) phase(ctx context.Context, _ task.PhaseInput) error { return r.pass(ctx) }

func (r *rig) rollback(ctx context.Context, in task.PhaseInput) error {
	r.mu.Lock()
	r.botch--
	fails := r.botch >= 0
	r.mu.Unlock()
	if fails {
		return refusedWith(task.Human, "the old table is gone")
	}
	return r.pass(ctx)
}

func (r *rig) condition(ctx context.Context, in task.ConditionInput) (task.ConditionResult, error) {
	err := r.pass(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && !r.truth && in.Every > 0 {
		err = temporal.NewApplicationErrorWithOptions("the query says 0", activities.NotYet, temporal.ApplicationErrorOptions{NextRetryDelay: 100 * time.Millisecond})
	}
	return task.ConditionResult{True: r.truth, Answer: fmt.Sprint(r.truth)}, err
}

func (r *rig) need(ctx context.Context, in task.NeedsInput) (task.NeedsResult, error) {
	err := r.pass(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && !r.truth {
		err = refusedWith(task.Config, "nightly has FAILED")
	}
	return task.NeedsResult{Done: in.Names}, err
}

func (r *rig) call(ctx context.Context, _ task.CallInput) (task.CallResult, error) {
	err := r.pass(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && len(r.called) > 0 {
		err, r.called = r.called[0], r.called[1:]
	}
	return task.CallResult{Status: 200}, err
}

func (r *rig) timesBegun(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun[name]
}

func (r *rig) start() error {
	run, err := r.c.ExecuteWorkflow(r.t.Context(), client.StartWorkflowOptions{
		ID: r.id, TaskQueue: r.queue, WorkflowExecutionErrorWhenAlreadyStarted: true,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
	}, task.MigrationWorkflow, r.input())
	if err == nil {
		r.runs = append(r.runs, run.GetRunID())
	}
	return err
}

func (r *rig) signal(name string, input any) {
	r.t.Helper()
	require.NoError(r.t, r.c.SignalWorkflow(r.t.Context(), r.id, "", name, input))
}

func (r *rig) update(name string, args ...any) (status task.Status, err error) {
	handle, err := r.c.UpdateWorkflow(r.t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: r.id, UpdateName: name, Args: args, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(r.t.Context(), &status)
	}
	return status, err
}

func (r *rig) status() task.Status {
	r.t.Helper()
	var status task.Status
	value, err := r.c.QueryWorkflow(r.t.Context(), r.id, "", task.StatusQuery)
	require.NoError(r.t, err)
	require.NoError(r.t, value.Get(&status))
	return status
}

// reaches waits until the status is as wanted.
func (r *rig) reaches(want func(task.Status) bool) task.Status {
	r.t.Helper()
	var status task.Status
	require.Eventually(r.t, func() bool {
		status = r.status()
		return want(status)
	}, time.Minute, 50*time.Millisecond, "%v", shownStatus{&status})
	return status
}

// shownStatus is a status for the message of a test that waits in vain.
type shownStatus struct{ of *task.Status }

func (s shownStatus) String() string {
	text, err := json.MarshalIndent(s.of, "", " ")
	return fmt.Sprintf("%s %v", text, err)
}

func (r *rig) running(name string, times int) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return r.timesBegun(name) >= times }, time.Minute, 20*time.Millisecond)
}

// ends waits for the workflow to close and returns how.
func (r *rig) ends() (enumspb.WorkflowExecutionStatus, error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	err := r.c.GetWorkflow(ctx, r.id, "").Get(ctx, nil)
	description, described := r.c.DescribeWorkflow(ctx, r.id, "")
	require.NoError(r.t, described)
	return description.Status, err
}

// history is that of one run.
func (r *rig) history(id, run string) *historypb.History {
	r.t.Helper()
	history := &historypb.History{}
	events := r.c.GetWorkflowHistory(r.t.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(r.t, err)
		history.Events = append(history.Events, event)
	}
	return history
}

// replays checks that every run, and that of Capacity, can be replayed, and
// writes their histories to a folder if one is given.
func (r *rig) replays(folder, name string) {
	r.t.Helper()
	r.replay(r.history(task.CapacityID(r.queue), ""), folder, name, "-capacity")
	for i, run := range r.runs {
		r.replay(r.history(r.id, run), folder, name, strings.Repeat("-again", i))
	}
	for _, step := range r.steps {
		r.replay(r.history(step, ""), folder, name, "-"+strings.TrimPrefix(step, r.id+"."))
	}
}

func (r *rig) replay(history *historypb.History, folder, name, suffix string) {
	r.t.Helper()
	replayed(r.t, history)
	if folder == "" || name == "" {
		return
	}
	written, err := protojson.Marshal(history)
	require.NoError(r.t, err)
	var compact bytes.Buffer
	require.NoError(r.t, json.Compact(&compact, written))
	require.NoError(r.t, os.MkdirAll(folder, 0o755))
	require.NoError(r.t, os.WriteFile(filepath.Join(folder, name+suffix+".json"), append(compact.Bytes(), '\n'), 0o644))
}

func (r *rig) input() MigrationInput {
	r.in.Spec = flat(r.t, r.spec)
	return r.in
}
