package workflows

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// rowsPerShard is how many rows a shard of a world has.
const rowsPerShard = 1000

// world is what a migration runs in, without the databases: activities that
// take their time on the migration's clock, fail when they are told to, and
// remember which shards are done as a ledger would.
type world struct {
	t    *testing.T
	env  *testsuite.TestWorkflowEnvironment
	in   MigrationInput
	spec *spec.Spec // what in.Spec is made of

	transform, verify int // shards
	streams           int // of the transform that do the server good
	plan              task.PreflightResult
	cut               task.CutoverResult
	shut              int     // how many cut-overs find their window over
	more              [][]int // what FinishTransform opens again, call by call
	summary           task.VerifySummary
	changelog         *task.ChangelogStatus    // what shards tell of it
	took              map[string]time.Duration // by activity

	mu       sync.Mutex
	began    time.Time
	troubles []*trouble
	done     map[string]bool // by shard id
	calls    []call
	records  []task.RecordInput
	upserts  int
	flights  map[string]*flight // by activity id, the last of each
	most     int                // shards at once, at the most
	running  int
	doorman  doorman
	reports  []task.StepReport // to the pipeline that it is a step of
	gone     bool              // that pipeline

	status task.Status
	err    error
}

// call is an activity that was carried through.
type call struct {
	name  string
	shard int
	round int
	phase task.PhaseInput
	check task.PreflightInput
	at    time.Duration // since the beginning
}

// trouble is an error that calls of an activity end in.
type trouble struct {
	activity string
	shard    int // 0 for any
	times    int // how often; -1 for always
	err      error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	s, err := spec.New(task.Copy)
	require.NoError(t, err)
	s.Copy.Source, s.Copy.Target, s.Name = "legacy", "warehouse", "legacy → warehouse"
	w := &world{
		t: t, env: suite.NewTestWorkflowEnvironment(), spec: s,
		in:        MigrationInput{Ledger: "warehouse", Target: "warehouse: shop"},
		transform: 8, verify: 4,
		took: map[string]time.Duration{task.TransformShardActivity: time.Minute, task.VerifyShardActivity: 30 * time.Second},
		done: map[string]bool{}, flights: map[string]*flight{},
	}
	w.summary = task.VerifySummary{Mode: "checksum", Tables: 1, Rows: 4000}
	w.plan = task.PreflightResult{Tables: 1, RowsTotal: 8 * rowsPerShard}
	return w
}

// troubleClass makes calls of an activity fail: times -1 is always, shard 0 any.
func (w *world) fails(activity string, shard, times int, class task.Class) *trouble {
	message := fmt.Sprintf("%s trouble", class)
	failure := task.Failure{Class: class, Message: message, Table: "shop.orders"}
	tr := &trouble{activity: activity, shard: shard, times: times,
		err: temporal.NewApplicationErrorWithOptions(message, string(class), temporal.ApplicationErrorOptions{
			NonRetryable: shard > 0 || !class.Retryable(), Details: []any{failure}})}
	w.troubles = append(w.troubles, tr)
	return tr
}

// at does something after a time on the migration's clock.
func (w *world) at(after time.Duration, do func()) { w.env.RegisterDelayedCallback(do, after) }

func (w *world) signal(after time.Duration, name string, input any) {
	w.at(after, func() { w.env.SignalWorkflow(name, input) })
}

// answer is what became of an update.
type answer struct {
	accepted bool
	refusal  string
	status   task.Status
	err      error
}

func (w *world) update(after time.Duration, name string, args ...any) *answer {
	a := &answer{}
	w.at(after, func() {
		w.env.UpdateWorkflow(name, "", &testsuite.TestUpdateCallback{
			OnAccept: func() { a.accepted = true },
			OnReject: func(err error) { a.refusal = err.Error() },
			OnComplete: func(result any, err error) {
				a.err = err
				if status, ok := result.(task.Status); ok {
					a.status = status
				}
			},
		}, args...)
	})
	return a
}

// look takes a status at a time.
func (w *world) look(after time.Duration) *task.Status {
	status := &task.Status{}
	w.at(after, func() { *status = w.query() })
	return status
}

func (w *world) query() task.Status {
	var status task.Status
	value, err := w.env.QueryWorkflow(task.StatusQuery)
	require.NoError(w.t, err)
	require.NoError(w.t, value.Get(&status))
	return status
}

// run runs the migration to its end.
func (w *world) run() {
	w.t.Helper()
	w.register()
	w.env.SetTestTimeout(20 * time.Second)
	w.began = w.env.Now()
	w.env.ExecuteWorkflow(task.MigrationWorkflow, w.input())
	require.True(w.t, w.env.IsWorkflowCompleted())
	w.err = w.env.GetWorkflowError()
	w.status = w.query()
}

func (w *world) register() {
	Register(w.env)
	w.env.SetOnActivityCanceledListener(func(info *activity.Info) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if f := w.flights[info.ActivityID]; f != nil {
			w.down(f)
		}
	})
	on(w, task.PreflightActivity, func(_ task.PreflightInput) (task.PreflightResult, error) { return w.plan, nil })
	on(w, task.BackupActivity, func(_ task.PhaseInput) (task.BackupResult, error) {
		return task.BackupResult{Items: []task.BackupItem{{What: "table public.orders", Where: "godwit_old.orders"}}}, nil
	})
	on(w, task.PrepareTransformActivity, func(task.PhaseInput) (task.Work, error) { return w.work(task.Transform, w.transform), nil })
	on(w, task.TransformShardActivity, w.shard)
	on(w, task.FinishTransformActivity, func(task.PhaseInput) (task.Work, error) { return w.finish(), nil })
	on(w, task.PrepareVerifyActivity, func(task.PhaseInput) (task.Work, error) { return w.work(task.Verify, w.verify), nil })
	on(w, task.VerifyShardActivity, w.shard)
	on(w, task.FinishVerifyActivity, func(task.PhaseInput) (task.VerifySummary, error) { return w.summary, nil })
	on(w, task.TendActivity, func(task.PhaseInput) (task.TendResult, error) { return task.TendResult{Pending: 42}, nil })
	on(w, task.CutoverActivity, func(task.PhaseInput) (task.CutoverResult, error) {
		if w.shut > 0 {
			w.shut--
			return task.CutoverResult{Shut: true}, nil
		}
		return w.cut, nil
	})
	on(w, task.CleanupActivity, func(task.PhaseInput) (struct{}, error) { return struct{}{}, nil })
	on(w, task.RollbackActivity, func(task.PhaseInput) (struct{}, error) { return struct{}{}, nil })
	on(w, task.RecordActivity, func(in task.RecordInput) (struct{}, error) {
		w.records = append(w.records, in)
		return struct{}{}, nil
	})
	on(w, task.LookForPipelineActivity, func(task.PipelineRef) (task.PipelineFound, error) {
		return task.PipelineFound{Open: !w.gone}, nil
	})
	w.open()
	w.env.OnUpsertTypedSearchAttributes(mock.Anything).Run(func(mock.Arguments) { w.upserts++ }).Return(nil).Maybe()
}

// on puts an activity into the world: it takes its time, then ends in trouble or
// in what do returns. do is called with the world locked.
func on[I, R any](w *world, name string, do func(I) (R, error)) {
	run := func(ctx context.Context, in I) (R, error) {
		info := activity.GetInfo(ctx)
		f := &flight{shard: isShard(name)}
		w.takeOff(info.ActivityID, f)
		var none R
		if w.took[name] == 0 {
			return land(w, f, name, in, do)
		}
		w.env.RegisterDelayedCallback(func() {
			if f.over {
				return
			}
			result, err := land(w, f, name, in, do)
			require.NoError(w.t, w.env.CompleteActivity(info.TaskToken, result, err))
		}, w.took[name])
		return none, activity.ErrResultPending
	}
	w.env.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: name})
}

// flight is a call of an activity that is going on.
type flight struct{ over, shard bool }

func isShard(activity string) bool { return strings.HasSuffix(activity, "Shard") }

func (w *world) takeOff(id string, f *flight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flights[id] = f
	if f.shard {
		w.running++
		w.most = max(w.most, w.running)
	}
}

func (w *world) down(f *flight) {
	if !f.over && f.shard {
		w.running--
	}
	f.over = true
}

// land ends a call that was not cancelled.
func land[I, R any](w *world, f *flight, name string, in I, do func(I) (R, error)) (R, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down(f)
	c := call{name: name, at: w.env.Now().Sub(w.began)}
	switch in := any(in).(type) {
	case task.ShardInput:
		c.shard, c.round = in.Shard, in.Round
	case task.PhaseInput:
		c.phase = in
	case task.PreflightInput:
		c.check = in
	}
	w.calls = append(w.calls, c)
	for _, tr := range w.troubles {
		if tr.activity == name && tr.times != 0 && (tr.shard == 0 || tr.shard == c.shard) {
			tr.times--
			var none R
			return none, tr.err
		}
	}
	return do(in)
}

func (w *world) work(phase task.Phase, shards int) task.Work {
	work := task.Work{Shards: shards, RowsTotal: int64(shards) * rowsPerShard}
	if phase == task.Transform {
		work.Streams = w.streams
	}
	for no := 1; no <= shards; no++ {
		if w.done[shardID(phase, no)] {
			work.Done++
			work.RowsDone += rowsPerShard
			continue
		}
		work.Open = append(work.Open, no)
		work.Labels = append(work.Labels, fmt.Sprintf("shop.orders %d/%d", no, shards))
	}
	return work
}

func (w *world) shard(in task.ShardInput) (task.ShardResult, error) {
	w.done[shardID(in.Phase, in.Shard)] = true
	return task.ShardResult{Shard: in.Shard, Table: "shop.orders", Rows: rowsPerShard, Bytes: 50 * rowsPerShard, Changelog: w.changelog}, nil
}

func (w *world) finish() task.Work {
	if len(w.more) == 0 {
		return task.Work{}
	}
	for _, no := range w.more[0] {
		w.done[shardID(task.Transform, no)] = false
	}
	w.more = w.more[1:]
	return w.work(task.Transform, w.transform)
}

// names are the activities that were carried through, in order, without the
// records.
func (w *world) names() []string {
	var names []string
	for _, c := range w.calls {
		if c.name != task.RecordActivity {
			names = append(names, c.name)
		}
	}
	return slices.Compact(names)
}

func (w *world) count(name string) int {
	n := 0
	for _, c := range w.calls {
		if c.name == name {
			n++
		}
	}
	return n
}

// last is the last call of an activity that was carried through.
func (w *world) last(name string) call {
	w.t.Helper()
	for _, c := range slices.Backward(w.calls) {
		if c.name == name {
			return c
		}
	}
	require.Fail(w.t, name+" was not called")
	return call{}
}

// recorded are the events that the ledger was told, in order.
func (w *world) recorded() []string {
	var events []string
	for _, r := range w.records {
		events = append(events, r.Event)
	}
	return events
}

func (w *world) succeeds() {
	w.t.Helper()
	require.NoError(w.t, w.err)
	require.Equal(w.t, task.Success, w.status.State)
}

// failsWith checks how the workflow closed.
func (w *world) failsWith(state task.State, class task.Class) {
	w.t.Helper()
	var application *temporal.ApplicationError
	require.ErrorAs(w.t, w.err, &application)
	require.Equal(w.t, string(class), application.Type())
	require.Equal(w.t, state, w.status.State)
	require.Equal(w.t, state, w.records[len(w.records)-1].State, "the ledger must know how it ended")
}

func (w *world) endsCancelled() {
	w.t.Helper()
	require.True(w.t, temporal.IsCanceledError(w.err), "closed with %v", w.err)
	require.Equal(w.t, task.Cancelled, w.status.State)
	require.Equal(w.t, task.Cancelled, w.records[len(w.records)-1].State)
}

// quiet keeps the test environment's own log out of the way.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// mismatch is the error of a comparison that found differences.
func mismatch(summary task.VerifySummary) error {
	failure := task.Failure{Class: task.Mismatch, Message: "2 rows differ"}
	return temporal.NewApplicationErrorWithOptions(failure.Message, string(task.Mismatch),
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{failure, summary}})
}

func duration(t *testing.T, text string) spec.Duration {
	t.Helper()
	d, err := spec.ParseDuration(text)
	require.NoError(t, err)
	return d
}

// rawJSON is an input as somebody typed it.
func rawJSON(text string) converter.RawValue {
	return converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)},
		Data:     []byte(text),
	})
}

func ptr[T any](v T) *T { return &v }

func (w *world) input() MigrationInput {
	w.in.Spec = flat(w.t, w.spec)
	return w.in
}

// flat is a spec as it travels.
func flat(t *testing.T, s *spec.Spec) []byte {
	t.Helper()
	raw, err := json.Marshal(s)
	require.NoError(t, err)
	return raw
}
