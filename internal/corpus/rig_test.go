package corpus

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
	"go.temporal.io/sdk/worker"

	"godwit/activities"
	"godwit/internal/cluster"
	"godwit/internal/cluster/clustertest"
	"godwit/internal/connection"
	"godwit/internal/kind"
	"godwit/internal/kind/ddl"
	"godwit/internal/sandbox"
	"godwit/internal/task"
	"godwit/starter/control"
	"godwit/workflows"
)

// rig is what all trials run on: a Temporal server, and for each engine a
// database server and a worker that knows the trials' databases.
type rig struct {
	t       *testing.T
	cluster *cluster.Client
	names   []string // of cases
	turns   chan struct{}

	mu      sync.Mutex
	engines map[sandbox.Kind]*ground
	failed  error // of an engine that could not be started
}

// ground is an engine's part of it.
type ground struct {
	server *sandbox.Server
	desk   *control.Desk
}

// atOnce is how many trials run at the same time: they mostly wait.
const atOnce = 5

func newRig(t *testing.T, names []string) *rig {
	t.Helper()
	r := &rig{t: t, names: names, turns: make(chan struct{}, atOnce), engines: map[sandbox.Kind]*ground{}}
	r.cluster = clustertest.Start(t).Dial()
	t.Cleanup(r.cluster.Close)
	_, err := cluster.Setup(t.Context(), r.cluster, r.cluster.Namespace, cluster.DefaultRetention)
	require.NoError(t, err)
	return r
}

// ground is an engine's, which is started when the first trial needs it.
func (r *rig) ground(engine sandbox.Kind) (*ground, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g := r.engines[engine]; g != nil || r.failed != nil {
		return g, r.failed
	}
	g, err := r.start(engine)
	r.engines[engine], r.failed = g, err
	return g, err
}

// start starts an engine's servers, which end with the test as a whole.
func (r *rig) start(engine sandbox.Kind) (*ground, error) {
	queue := "corpus-" + string(engine)
	server, err := sandbox.Start(context.Background(), engine, sandbox.Options{Settings: map[string]string{"max_connections": "400"}})
	if err != nil {
		return nil, err
	}
	r.t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			r.t.Error(err)
		}
	})
	var file strings.Builder
	for _, name := range r.names {
		fmt.Fprintf(&file, "%s: %q\n", connectionName(engine, name), server.URL(databaseName(name)))
	}
	path := filepath.Join(server.Dir, "connections.yaml")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		return nil, err
	}
	connections, err := connection.Load(path, nil)
	if err != nil {
		return nil, err
	}
	r.t.Cleanup(connections.Close)
	w := worker.New(r.cluster.Client, queue, worker.Options{
		MaxConcurrentActivityExecutionSize: 4 * atOnce, WorkerStopTimeout: 10 * time.Second,
		MaxHeartbeatThrottleInterval: 200 * time.Millisecond, DefaultHeartbeatThrottleInterval: 200 * time.Millisecond,
	})
	workflows.Register(w)
	w.RegisterActivity(activities.New(connections, map[task.Kind]kind.Kind{task.DDL: ddl.New("corpus")}, queue))
	if err := w.Start(); err != nil {
		return nil, err
	}
	r.t.Cleanup(w.Stop)
	return &ground{server: server, desk: control.New(r.cluster, queue)}, nil
}

func connectionName(engine sandbox.Kind, name string) string { return string(engine) + "-" + name }

// turn waits until a trial may begin.
func (r *rig) turn(t *testing.T) {
	r.turns <- struct{}{}
	t.Cleanup(func() { <-r.turns })
}

// lasts is how long a migration may take.
const lasts = 3 * time.Minute

// migration is one that a trial has started.
type migration struct {
	t    *testing.T
	desk *control.Desk
	id   string
}

func (m *migration) status() task.Status {
	m.t.Helper()
	answer, err := m.desk.Status(context.Background(), m.id)
	require.NoError(m.t, err)
	return answer.Status
}

// comes waits for a final state, or for the end of it all.
func (m *migration) comes(to task.State, await func(context.Context, string, control.Outage) (task.State, error)) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), lasts)
	defer cancel()
	state, err := await(ctx, m.id, func(error) {})
	st := m.status()
	require.NoError(m.t, err, "it is %s in %s, waits for %q, failures %v", st.State, st.Phase, st.WaitingFor, st.Failures)
	require.Equal(m.t, to, state, "it is in phase %s, error %+v, attempts %v", st.Phase, st.Error, st.Failures)
}
