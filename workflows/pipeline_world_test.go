package workflows

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// pipelineID is what the test environment calls the workflow.
const pipelineID = "default-test-workflow-id"

// street is what a pipeline runs in, without the databases: its steps are real
// Migration workflows, whose activities take their time and fail as the test wants.
type street struct {
	t   *testing.T
	env *testsuite.TestWorkflowEnvironment
	in  PipelineInput

	mu      sync.Mutex
	houses  map[string]*ground // by step
	asks    map[string]*task.ConditionResult
	needs   *task.NeedsResult
	running bool // what is needed is still at work
	calls   []task.CallInput
	called  error
	answers time.Duration            // how long a call takes
	limits  map[string]time.Duration // of attempts, by activity
	records []task.RecordStepsInput
	order   []string // what was done to steps: "run add", "undo add"
	flights map[string]*bool
	runs    map[string]string // of steps' migrations, by id
	gone    atomic.Bool       // the pipeline has ended, as its steps can see who look for it
	// outside gets the signals to migrations that this run has not begun.
	outside func(id, signal string, arg any) error
	// unopened is how many times the ledger cannot be written at the beginning.
	unopened int

	status task.Status
	err    error
}

// ground is a step's database.
type ground struct {
	takes    time.Duration // the transform
	fails    int           // how many transforms fail; -1 for all
	class    task.Class
	keeps    time.Duration
	undoing  int // how many rollbacks fail
	stubborn bool
	stuck    time.Duration // how long a rollback takes
	resumed  int
	final    bool // nothing is kept that could undo it
	untold   int  // how many times the ledger cannot be told of its success
	cleaned  time.Time
}

// fourSteps is the classic pipeline; %s stands for what a test wants of a step.
const fourSteps = `kind: pipeline
name: split-region
retry: {delay: 10s, max_delay: 5m}
steps:
  - {name: add, ddl: {database: shop, table: orders, alter: "ADD COLUMN region varchar(16)", retry: {rounds: 0, attempts: 1}}ADD}
  - {name: fill, backfill: {database: shop, table: orders, set: {region: "'eu'"}, retry: {rounds: 0, attempts: 1}}FILL}
  - {name: index, reindex: {database: shop, table: orders, retry: {rounds: 0, attempts: 1}}INDEX}
  - {name: note, sql: {database: shop, statement: "INSERT INTO done VALUES (1)", undo: "DELETE FROM done", retry: {rounds: 0, attempts: 1}}NOTE}
`

var theFour = []string{"add", "fill", "index", "note"}

// classic is the four steps, with fields added to some of them.
func classic(t *testing.T, fields map[string]string) *street {
	text := fourSteps
	for _, name := range theFour {
		more := fields[name]
		if more != "" {
			more = ", " + more
		}
		text = strings.Replace(text, strings.ToUpper(name)+"}\n", more+"}\n", 1)
	}
	return newStreet(t, text)
}

func newStreet(t *testing.T, text string) *street {
	t.Helper()
	parsed, err := spec.Parse("p.yaml", []byte(text))
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	s := &street{t: t, env: suite.NewTestWorkflowEnvironment(), houses: map[string]*ground{}, asks: map[string]*task.ConditionResult{}, flights: map[string]*bool{}, limits: map[string]time.Duration{}, runs: map[string]string{},
		in: PipelineInput{Spec: flat(t, parsed), Ledger: "shop", Target: "shop"}}
	for _, step := range parsed.Pipeline.Flat() {
		h := &ground{takes: time.Minute, class: task.Data, keeps: time.Hour}
		if step.Reindex != nil {
			h.keeps = 0
		}
		s.houses[step.Name] = h
	}
	return s
}

func (s *street) house(id string) *ground {
	return s.houses[strings.TrimPrefix(id, pipelineID+".")]
}

func (s *street) note(what, id string) {
	s.order = append(s.order, what+" "+strings.TrimPrefix(id, pipelineID+"."))
}

func (s *street) register() {
	Register(s.env)
	s.env.OnGetVersion("capacity", workflow.DefaultVersion, workflow.Version(1)).Return(workflow.DefaultVersion)
	s.env.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Maybe()
	s.env.SetOnLocalActivityStartedListener(func(*activity.Info, context.Context, []any) { s.gone.Store(s.env.IsWorkflowCompleted()) })
	if s.outside != nil {
		s.env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).
			Return(func(_, id, _, signal string, arg any) error {
				s.mu.Lock() // the environment asks beside the workflow
				defer s.mu.Unlock()
				return s.outside(id, signal, arg)
			})
	}
	s.env.SetOnActivityCanceledListener(func(info *activity.Info) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if over := s.flights[info.WorkflowExecution.ID+info.ActivityID]; over != nil {
			*over = true
		}
	})
	done := func(name string) {
		lived(s, name, func(in task.PhaseInput) (task.Work, error) { return task.Work{}, nil })
	}
	lived(s, task.PreflightActivity, func(in task.PreflightInput) (task.PreflightResult, error) {
		if in.Resume {
			s.house(in.ID).resumed++
		}
		return task.PreflightResult{Tables: 1}, nil
	})
	for _, name := range []string{task.BackupActivity, task.PrepareVerifyActivity, task.FinishVerifyActivity, task.FinishTransformActivity} {
		done(name)
	}
	lived(s, task.CleanupActivity, func(in task.PhaseInput) (struct{}, error) {
		s.house(in.ID).cleaned = s.env.Now()
		return struct{}{}, nil
	})
	lived(s, task.LookForPipelineActivity, func(in task.PipelineRef) (task.PipelineFound, error) {
		return task.PipelineFound{Open: !s.gone.Load()}, nil
	})
	lived(s, task.PrepareTransformActivity, func(task.PhaseInput) (task.Work, error) {
		return task.Work{Shards: 1, Open: []int{1}, Labels: []string{"shop.orders"}}, nil
	})
	lived(s, task.CutoverActivity, func(in task.PhaseInput) (task.CutoverResult, error) {
		return task.CutoverResult{KeepFor: s.house(in.ID).keeps}, nil
	})
	s.env.RegisterActivityWithOptions(s.rollback, activity.RegisterOptions{Name: task.RollbackActivity})
	s.env.RegisterActivityWithOptions(s.transform, activity.RegisterOptions{Name: task.TransformShardActivity})
	s.env.RegisterActivityWithOptions(s.record, activity.RegisterOptions{Name: task.RecordActivity})
	lived(s, task.OpenPipelineActivity, func(task.OpenPipelineInput) (struct{}, error) {
		if s.unopened > 0 {
			s.unopened--
			return struct{}{}, refusedWith(task.Config, "permission denied for schema godwit")
		}
		return struct{}{}, nil
	})
	lived(s, task.RecordStepsActivity, func(in task.RecordStepsInput) (struct{}, error) {
		s.records = append(s.records, in)
		return struct{}{}, nil
	})
	lived(s, task.ConditionActivity, func(in task.ConditionInput) (task.ConditionResult, error) {
		if r := s.asks[in.Query]; r != nil {
			return *r, nil
		}
		return task.ConditionResult{}, refusedWith(task.Config, "no such column")
	})
	lived(s, task.NeedsActivity, func(task.NeedsInput) (task.NeedsResult, error) {
		if s.running {
			return task.NeedsResult{}, temporal.NewApplicationErrorWithOptions("nightly is RUNNING", "not_yet", temporal.ApplicationErrorOptions{NextRetryDelay: 20 * time.Minute})
		}
		if s.needs == nil {
			return task.NeedsResult{}, refusedWith(task.Config, "nightly has FAILED")
		}
		return *s.needs, nil
	})
	s.env.RegisterActivityWithOptions(s.call, activity.RegisterOptions{Name: task.CallActivity})
}

func (s *street) call(ctx context.Context, in task.CallInput) (task.CallResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, in)
	if s.answers == 0 {
		return task.CallResult{Status: 200}, s.called
	}
	info := activity.GetInfo(ctx)
	over := new(bool)
	s.flights[info.WorkflowExecution.ID+info.ActivityID] = over
	s.env.RegisterDelayedCallback(func() {
		if !*over {
			require.NoError(s.t, s.env.CompleteActivity(info.TaskToken, task.CallResult{Status: 200}, s.called))
		}
	}, s.answers)
	return task.CallResult{}, activity.ErrResultPending
}

// lived puts an activity into the street that is over at once.
func lived[I, R any](s *street, name string, do func(I) (R, error)) {
	s.env.RegisterActivityWithOptions(func(ctx context.Context, in I) (R, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.limits[name] = activity.GetInfo(ctx).StartToCloseTimeout
		return do(in)
	}, activity.RegisterOptions{Name: name})
}

func refusedWith(class task.Class, message string) error {
	return temporal.NewNonRetryableApplicationError(message, string(class), nil, task.Failure{Class: class, Message: message})
}

// transform is the work of a step's migration.
func (s *street) transform(ctx context.Context, in task.ShardInput) (task.ShardResult, error) {
	info := activity.GetInfo(ctx)
	over := new(bool)
	s.mu.Lock()
	h := s.house(in.ID)
	s.note("run", in.ID)
	s.runs[in.ID] = info.WorkflowExecution.RunID
	s.flights[info.WorkflowExecution.ID+info.ActivityID] = over
	s.mu.Unlock()
	s.env.RegisterDelayedCallback(func() {
		s.mu.Lock()
		gone := *over
		var err error
		if h.fails != 0 {
			h.fails--
			err = refusedWith(h.class, "value out of range")
		}
		s.mu.Unlock()
		if !gone {
			require.NoError(s.t, s.env.CompleteActivity(info.TaskToken, task.ShardResult{Shard: 1}, err))
			// The test environment lets only the outermost workflow know.
			_ = s.env.SignalWorkflowByID(in.ID, task.AnnounceSignal, nil)
		}
	}, h.takes)
	return task.ShardResult{}, activity.ErrResultPending
}

// record is what a stubborn step does not come back from for half an hour.
func (s *street) record(ctx context.Context, in task.RecordInput) (struct{}, error) {
	token := activity.GetInfo(ctx).TaskToken
	h := s.house(in.ID)
	if in.State == task.Success && h.untold > 0 {
		h.untold--
		return struct{}{}, refusedWith(task.Config, "the ledger is away")
	}
	if !h.stubborn {
		return struct{}{}, nil
	}
	s.env.RegisterDelayedCallback(func() {
		require.NoError(s.t, s.env.CompleteActivity(token, struct{}{}, nil))
		_ = s.env.SignalWorkflowByID(in.ID, task.AnnounceSignal, nil)
	}, 30*time.Minute)
	return struct{}{}, activity.ErrResultPending
}

func (s *street) rollback(ctx context.Context, in task.PhaseInput) (result task.RollbackResult, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.house(in.ID)
	if h.undoing > 0 {
		h.undoing--
		return result, refusedWith(task.Human, "the old table is gone")
	}
	if h.final && !in.Cancel {
		return result, refusedWith(task.Human, "no old values were kept")
	}
	if h.final {
		result.Left = []string{"7 rows stay"}
	}
	s.note("undo", in.ID)
	if h.stuck == 0 {
		return result, nil
	}
	token := activity.GetInfo(ctx).TaskToken
	s.env.RegisterDelayedCallback(func() {
		require.NoError(s.t, s.env.CompleteActivity(token, struct{}{}, nil))
		_ = s.env.SignalWorkflowByID(in.ID, task.AnnounceSignal, nil)
	}, h.stuck)
	return result, activity.ErrResultPending
}

func (s *street) at(after time.Duration, do func()) { s.env.RegisterDelayedCallback(do, after) }

func (s *street) signal(after time.Duration, name string) {
	s.at(after, func() { s.env.SignalWorkflow(name, task.Request{By: "ann"}) })
}

func (s *street) update(after time.Duration, name, step string) *answer {
	a := &answer{}
	s.at(after, func() {
		s.env.UpdateWorkflow(name, "", &testsuite.TestUpdateCallback{
			OnAccept: func() { a.accepted = true }, OnReject: func(err error) { a.refusal = err.Error() }, OnComplete: func(any, error) {},
		}, task.StepRequest{Request: task.Request{By: "ann"}, Step: step})
	})
	return a
}

func (s *street) query() task.Status {
	var status task.Status
	value, err := s.env.QueryWorkflow(task.StatusQuery)
	require.NoError(s.t, err)
	require.NoError(s.t, value.Get(&status))
	return status
}

// look takes a status at a time.
func (s *street) look(after time.Duration) *task.Status {
	status := &task.Status{}
	s.at(after, func() { *status = s.query() })
	return status
}

func (s *street) run() {
	s.t.Helper()
	s.register()
	s.env.SetTestTimeout(20 * time.Second)
	s.env.ExecuteWorkflow(task.PipelineWorkflow, s.in)
	require.True(s.t, s.env.IsWorkflowCompleted())
	s.err = s.env.GetWorkflowError()
	if !workflow.IsContinueAsNewError(s.err) {
		s.status = s.query()
	}
}

// states are those of the steps, in order.
func states(st task.Status) []task.State {
	var list []task.State
	for _, step := range st.Steps {
		list = append(list, step.State)
	}
	return list
}

func (s *street) ends(state task.State, steps ...task.State) {
	s.t.Helper()
	require.Equal(s.t, state, s.status.State, "%v %+v", s.err, s.status.Steps)
	require.Equal(s.t, steps, states(s.status), "%v", s.order)
	require.Empty(s.t, s.status.Can)
}

// all is the same state for so many steps.
func all(state task.State, n int) []task.State {
	var list []task.State
	for range n {
		list = append(list, state)
	}
	return list
}

// events are what the ledger was told.
func (s *street) events() (list []string) {
	for _, r := range s.records {
		list = append(list, r.Event)
	}
	return list
}

// details is the page that the Web UI shows.
func (s *street) details() string { return s.metadata().GetCurrentDetails() }

// metadata is what Temporal tells the Web UI about the workflow.
func (s *street) metadata() *sdkpb.WorkflowMetadata {
	value, err := s.env.QueryWorkflow("__temporal_workflow_metadata")
	require.NoError(s.t, err)
	metadata := &sdkpb.WorkflowMetadata{}
	require.NoError(s.t, value.Get(metadata))
	return metadata
}

// chain is the run of a step's migration.
func (s *street) chain(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[id]
}
