package statement

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/connection"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/sandbox"
	"godwit/internal/spec"
	"godwit/internal/task"
)

var servers struct {
	sync.Mutex
	byKind map[sandbox.Kind]*sandbox.Server
	n      int
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, s := range servers.byKind {
		if err := s.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// rig is a database with the means to run a migration's phases in it.
type rig struct {
	t     *testing.T
	kind  sandbox.Kind
	db    kind.Site
	conns *connection.Registry
	store *ledger.Store
}

// everywhere runs a test on each engine, in a database of its own.
func everywhere(t *testing.T, test func(t *testing.T, r *rig)) {
	for _, k := range sandbox.Kinds() {
		t.Run(string(k), func(t *testing.T) { test(t, newRig(t, k)) })
	}
}

func newRig(t *testing.T, k sandbox.Kind) *rig {
	t.Helper()
	ctx := context.Background()
	servers.Lock()
	defer servers.Unlock()
	s := servers.byKind[k]
	if s == nil {
		var err error
		s, err = sandbox.Start(ctx, k, sandbox.Options{})
		require.NoError(t, err)
		if servers.byKind == nil {
			servers.byKind = map[sandbox.Kind]*sandbox.Server{}
		}
		servers.byKind[k] = s
	}
	servers.n++
	name := fmt.Sprintf("shop%d", servers.n)
	require.NoError(t, s.Exec(ctx, "", "CREATE DATABASE "+name))
	r := &rig{t: t, kind: k}
	var err error
	r.conns, err = connection.Load("", []string{"GODWIT_CONNECTION_SHOP=" + s.URL(name)})
	require.NoError(t, err)
	t.Cleanup(r.conns.Close)
	c, err := r.conns.Get("shop")
	require.NoError(t, err)
	db, err := kind.OpenDatabase(ctx, c)
	require.NoError(t, err)
	r.db = kind.Site{Database: db, Conn: c}
	r.store, err = ledger.Open(ctx, db, "test")
	require.NoError(t, err)
	r.exec("CREATE TABLE " + r.table() + " (id bigint NOT NULL PRIMARY KEY, note varchar(40))")
	return r
}

// table is the one that statements are about, for the rig's own statements.
func (r *rig) table() string {
	if r.kind == sandbox.Postgres {
		return "public.orders"
	}
	return "orders"
}

func (r *rig) exec(statement string) {
	r.t.Helper()
	_, err := r.db.Exec(context.Background(), statement)
	require.NoError(r.t, err, statement)
}

func (r *rig) answer(query string) string {
	r.t.Helper()
	got, err := kind.Answer(context.Background(), r.db, query)
	require.NoError(r.t, err, query)
	return got
}

func (r *rig) rows() string { return r.answer("SELECT count(*) FROM " + r.table()) }

// job is one migration.
type job struct {
	r      *rig
	id     string
	spec   *spec.Spec
	cancel bool
	runID  string
}

func (r *rig) job(id, lines string) *job {
	r.t.Helper()
	s, err := spec.Parse("s.yaml", []byte("kind: sql\ndatabase: shop\n"+lines))
	require.NoError(r.t, err)
	return &job{r: r, id: id, spec: s, runID: "first"}
}

func (j *job) run() *kind.Run {
	j.r.t.Helper()
	l := j.r.store.Migration(j.id)
	_, err := l.Load(context.Background())
	require.NoError(j.r.t, err)
	return &kind.Run{Ref: task.Ref{ID: j.id, Kind: task.SQL, Ledger: "shop"}, Spec: j.spec, Connections: j.r.conns, Ledger: l, Cancel: j.cancel, RunID: j.runID,
		Beat: func(task.Heartbeat) {}, Touch: func() {}, Alive: func(context.Context) error { return nil }, Stop: make(chan struct{})}
}

// begin runs everything before the statement.
func (j *job) begin() {
	j.r.t.Helper()
	ctx, k := context.Background(), New("test")
	_, err := k.Preflight(ctx, j.run())
	require.NoError(j.r.t, err)
	_, err = k.Backup(ctx, j.run())
	require.NoError(j.r.t, err)
	_, err = k.PrepareTransform(ctx, j.run())
	require.NoError(j.r.t, err)
}

// try is one attempt at the statement.
func (j *job) try(ctx context.Context) error {
	_, err := New("test").TransformShard(ctx, j.run(), task.ShardInput{Ref: task.Ref{ID: j.id}, Phase: task.Transform, Shard: shardNo})
	return err
}

func (j *job) all() task.CutoverResult {
	j.r.t.Helper()
	j.begin()
	require.NoError(j.r.t, j.try(context.Background()))
	_, err := New("test").FinishVerify(context.Background(), j.run())
	require.NoError(j.r.t, err)
	cut, err := New("test").Cutover(context.Background(), j.run())
	require.NoError(j.r.t, err)
	return cut
}

func (j *job) rollback() error { return New("test").Rollback(context.Background(), j.run()) }
