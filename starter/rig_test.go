package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"godwit/activities"
	"godwit/internal/cluster"
	"godwit/internal/cluster/clustertest"
	"godwit/internal/connection"
	"godwit/internal/task"
	"godwit/workflows"
)

// server is the Temporal server of all tests that do not stop it.
var server = sync.OnceValue(func() *clustertest.Server { return ownServer(suite) })

// ownServer is a server that is set up for migrations.
func ownServer(t testing.TB) *clustertest.Server {
	s := clustertest.Start(t)
	c := s.Dial()
	defer c.Close()
	_, err := cluster.Setup(context.Background(), c, "default", cluster.DefaultRetention)
	require.NoError(t, err)
	return s
}

// suite is what the shared server belongs to.
var suite = &suiteT{}

// suiteT lets the shared server outlive the test that needed it first.
type suiteT struct {
	testing.TB
	cleanups []func()
	folder   string
}

func (*suiteT) Helper()            {}
func (s *suiteT) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }
func (s *suiteT) TempDir() string  { return s.folder }

func (*suiteT) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (*suiteT) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (*suiteT) FailNow()                          { panic("the shared server cannot be used") }

func TestMain(m *testing.M) {
	var err error
	if suite.folder, err = os.MkdirTemp("", "godwit-cli-"); err != nil {
		panic(err)
	}
	code := m.Run()
	for _, cleanup := range suite.cleanups {
		cleanup()
	}
	_ = os.RemoveAll(suite.folder)
	os.Exit(code)
}

// rig is a worker whose activities touch no database: they take as long and
// fail as the test wants.
type rig struct {
	t      *testing.T
	server *clustertest.Server
	queue  string
	worker worker.Worker
	stop   func()

	// connections are the environment that defines them; of those that are
	// not there, the limits are unknown.
	connections []string

	shards  int
	gate    chan struct{} // closed: shards get through
	keepFor time.Duration
	// lastWord is how long a ledger takes to note an end.
	lastWord time.Duration

	mu     sync.Mutex
	broken map[int]string // shards that fail, and why
	done   map[string]int // how often a shard of a migration was done
	events []task.Event
	last   task.State
}

const rowsPerShard = 1000

// newRig makes a rig with a task queue of its own and starts its worker.
func newRig(t *testing.T) *rig { return newRigOn(t, server()) }

func newRigOn(t *testing.T, s *clustertest.Server) *rig {
	r := &rig{
		t: t, server: s, queue: "rig-" + filepath.Base(t.TempDir()) + "-" + strings.ReplaceAll(t.Name(), "/", "-"),
		shards: 3, gate: make(chan struct{}), broken: map[int]string{}, done: map[string]int{},
	}
	close(r.gate)
	r.startWorker()
	return r
}

func (r *rig) startWorker() {
	c := r.server.Dial()
	connections, err := connection.Load("", r.connections)
	require.NoError(r.t, err)
	capacity := activities.New(connections, nil, "rig")
	r.worker = worker.New(c.Client, r.queue, worker.Options{MaxHeartbeatThrottleInterval: 100 * time.Millisecond})
	workflows.Register(r.worker)
	for name, function := range map[string]any{
		task.PreflightActivity: r.preflight, task.BackupActivity: r.backup,
		task.PrepareTransformActivity: r.prepare, task.TransformShardActivity: r.transform, task.FinishTransformActivity: r.finish,
		task.PrepareVerifyActivity: r.prepare, task.VerifyShardActivity: r.verify, task.FinishVerifyActivity: r.verified,
		task.CutoverActivity: r.cutover, task.CleanupActivity: r.phase, task.RollbackActivity: r.phase, task.TendActivity: r.tend,
		task.ClaimPlaceActivity: capacity.ClaimPlace, task.SurveyPlacesActivity: capacity.SurveyPlaces, task.LookForPipelineActivity: capacity.LookForPipeline,
		task.OpenPipelineActivity: r.openPipeline, task.RecordStepsActivity: r.recordSteps,
		task.RecordActivity: r.record, task.PlanActivity: r.plan, task.EventsActivity: r.readEvents, task.LedgerStatusActivity: r.ledgerStatus,
	} {
		r.worker.RegisterActivityWithOptions(function, activity.RegisterOptions{Name: name})
	}
	require.NoError(r.t, r.worker.Start())
	r.stop = sync.OnceFunc(func() {
		r.worker.Stop()
		c.Close()
	})
	r.t.Cleanup(r.stop)
}

// block makes shards wait until the returned function is called.
func (r *rig) block() (release func()) {
	r.gate = make(chan struct{})
	release = sync.OnceFunc(func() { close(r.gate) })
	r.t.Cleanup(release)
	return release
}

func (r *rig) breakShard(shard int, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken[shard] = why; why == "" {
		delete(r.broken, shard)
	}
}

func (r *rig) timesDone(id string, shard int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done[key(id, shard)]
}

func key(id string, shard int) string { return fmt.Sprintf("%s %d", id, shard) }

func (r *rig) preflight(context.Context, task.PreflightInput) (task.PreflightResult, error) {
	return task.PreflightResult{Tables: 1, RowsTotal: int64(r.shards * rowsPerShard)}, nil
}

func (r *rig) backup(context.Context, task.PhaseInput) (task.BackupResult, error) {
	return task.BackupResult{}, nil
}

func (r *rig) prepare(_ context.Context, in task.PhaseInput) (task.Work, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	work := task.Work{Shards: r.shards, RowsTotal: int64(r.shards * rowsPerShard)}
	for shard := 1; shard <= r.shards; shard++ {
		if in.Phase == task.Transform && r.done[key(in.ID, shard)] > 0 {
			work.Done++
			work.RowsDone += rowsPerShard
			continue
		}
		work.Open = append(work.Open, shard)
		work.Labels = append(work.Labels, fmt.Sprintf("shop.orders %d/%d", shard, r.shards))
	}
	return work, nil
}

func (r *rig) transform(ctx context.Context, in task.ShardInput) (task.ShardResult, error) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for waiting := true; waiting; {
		activity.RecordHeartbeat(ctx, task.Heartbeat{
			Phase: in.Phase, Table: "shop.orders", Shard: in.Shard, Rows: rowsPerShard / 2, RowsTotal: rowsPerShard, Percent: 50, RowsPerSecond: 250,
		})
		select {
		case <-ctx.Done():
			return task.ShardResult{}, temporal.NewCanceledError()
		case <-r.gate:
			waiting = false
		case <-ticker.C:
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if why := r.broken[in.Shard]; why != "" {
		return task.ShardResult{}, temporal.NewNonRetryableApplicationError(why, string(task.Data), nil)
	}
	r.done[key(in.ID, in.Shard)]++
	return task.ShardResult{Shard: in.Shard, Table: "shop.orders", Rows: rowsPerShard, Bytes: 100 * rowsPerShard}, nil
}

func (r *rig) finish(context.Context, task.PhaseInput) (task.Work, error) { return task.Work{}, nil }

func (r *rig) verify(_ context.Context, in task.ShardInput) (task.ShardResult, error) {
	return task.ShardResult{Shard: in.Shard, Table: "shop.orders", Rows: rowsPerShard, Bytes: 100 * rowsPerShard}, nil
}

func (r *rig) verified(context.Context, task.PhaseInput) (task.VerifySummary, error) {
	return task.VerifySummary{Mode: "checksum", Tables: 1, Rows: int64(r.shards * rowsPerShard)}, nil
}

func (r *rig) cutover(context.Context, task.PhaseInput) (task.CutoverResult, error) {
	if r.keepFor == 0 {
		return task.CutoverResult{}, nil
	}
	kept := task.BackupItem{What: "table public.orders", Where: "public.orders_before", Bytes: 4096, Restore: "rename it back"}
	return task.CutoverResult{Kept: []task.BackupItem{kept}, KeepFor: r.keepFor}, nil
}

func (r *rig) openPipeline(context.Context, task.OpenPipelineInput) error { return nil }

func (r *rig) recordSteps(context.Context, task.RecordStepsInput) error { return nil }

func (r *rig) phase(context.Context, task.PhaseInput) error { return nil }

func (r *rig) tend(context.Context, task.PhaseInput) (task.TendResult, error) {
	return task.TendResult{}, nil
}

func (r *rig) record(_ context.Context, in task.RecordInput) error {
	if in.State.Final() {
		time.Sleep(r.lastWord)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = in.State
	r.events = append(r.events, task.Event{
		No: int64(len(r.events) + 1), At: time.Now().UTC(), What: in.Event, Phase: in.Phase, Detail: in.Detail, Error: in.Error, Stack: "where it happened",
	})
	return nil
}

func (r *rig) plan(context.Context, task.PlanInput) (task.Plan, error) {
	return task.Plan{
		Kind: task.Copy, Name: "legacy → warehouse", Source: "legacy: MariaDB 10.11", Target: "warehouse: PostgreSQL 15",
		Tables:     []task.TablePlan{{Source: "shop.orders", Target: "public.orders", Rows: 3000, Bytes: 300000, Shards: 3, Key: []string{"id"}}},
		Statements: []string{"CREATE TABLE public.orders (id bigint)"}, RowsTotal: 3000, BytesTotal: 300000, Shards: 3,
		Estimate: 2 * time.Second, Advice: "leave it",
	}, nil
}

func (r *rig) readEvents(_ context.Context, in task.EventsInput) (task.EventsPage, error) {
	until := time.Now().Add(in.Wait)
	for {
		r.mu.Lock()
		page := task.EventsPage{Events: append([]task.Event{}, r.events[min(int(in.After), len(r.events)):]...), State: r.last}
		r.mu.Unlock()
		if len(page.Events) > 0 || page.State.Final() || time.Now().After(until) {
			return page, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (r *rig) ledgerStatus(_ context.Context, in task.Ref) (task.Status, error) {
	if in.Ledger != "warehouse" {
		return task.Status{}, temporal.NewNonRetryableApplicationError("there is no connection "+in.Ledger, string(task.Config), nil)
	}
	return task.Status{ID: in.ID, Kind: task.Copy, Name: "legacy → warehouse", State: task.Success, Source: "ledger"}, nil
}
