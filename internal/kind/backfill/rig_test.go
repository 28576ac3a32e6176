package backfill

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/connection"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/sandbox"
	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/internal/throttle"
)

var servers struct {
	sync.Mutex
	byKind map[sandbox.Kind]*sandbox.Server
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

// server starts each engine once for all tests.
func server(t *testing.T, kind sandbox.Kind) *sandbox.Server {
	servers.Lock()
	defer servers.Unlock()
	if s := servers.byKind[kind]; s != nil {
		return s
	}
	s, err := sandbox.Start(context.Background(), kind, sandbox.Options{})
	require.NoError(t, err)
	if servers.byKind == nil {
		servers.byKind = map[sandbox.Kind]*sandbox.Server{}
	}
	servers.byKind[kind] = s
	return s
}

// everywhere runs a test on each engine, in a database of its own.
func everywhere(t *testing.T, test func(t *testing.T, r *rig)) {
	for _, k := range sandbox.Kinds() {
		t.Run(string(k), func(t *testing.T) { test(t, newRig(t, k)) })
	}
}

var databases struct {
	sync.Mutex
	n int
}

// rig is a database with the means to run a backfill's phases in it.
type rig struct {
	t      *testing.T
	kind   sandbox.Kind
	db     *site
	conns  *connection.Registry
	store  *ledger.Store
	schema string // of tables
}

func newRig(t *testing.T, k sandbox.Kind) *rig {
	s := server(t, k)
	databases.Lock()
	databases.n++
	name := fmt.Sprintf("shop%d", databases.n)
	databases.Unlock()
	require.NoError(t, s.Exec(context.Background(), "", "CREATE DATABASE "+name))
	conns, err := connection.Load("", []string{"GODWIT_CONNECTION_SHOP=" + s.URL(name)})
	require.NoError(t, err)
	t.Cleanup(conns.Close)
	c, err := conns.Get("shop")
	require.NoError(t, err)
	db, err := kind.OpenDatabase(context.Background(), c)
	require.NoError(t, err)
	store, err := ledger.Open(context.Background(), db, "test")
	require.NoError(t, err)
	r := &rig{t: t, kind: k, db: &site{kind.Site{Database: db, Conn: c}}, conns: conns, store: store, schema: "public"}
	if k != sandbox.Postgres {
		r.schema = name
	}
	return r
}

func (r *rig) postgres() bool { return r.kind == sandbox.Postgres }

func (r *rig) exec(statements ...string) {
	r.t.Helper()
	for _, s := range statements {
		_, err := r.db.Exec(context.Background(), s)
		require.NoError(r.t, err, s)
	}
}

// table qualifies a table's name.
func (r *rig) table(name string) string { return r.schema + "." + name }

// ask reads one value.
func (r *rig) ask(query string) string {
	r.t.Helper()
	value, err := kind.Answer(context.Background(), r.db, query)
	require.NoError(r.t, err, query)
	return value
}

// orders makes a table of so many rows: id, country, region NULL, balance = id.
func (r *rig) orders(rows int) {
	r.t.Helper()
	r.exec("CREATE TABLE "+r.table("orders")+" (id bigint NOT NULL PRIMARY KEY, country varchar(2) NOT NULL, region varchar(8), balance bigint NOT NULL, note varchar(40))",
		"INSERT INTO "+r.table("orders")+" (id, country, balance) "+r.numbers(rows, "n, CASE n % 3 WHEN 0 THEN 'CN' WHEN 1 THEN 'JP' ELSE 'DE' END, n"))
}

// numbers is a SELECT of expressions over n from 1 to rows.
func (r *rig) numbers(rows int, exprs string) string {
	if r.postgres() {
		return fmt.Sprintf("SELECT %s FROM generate_series(1, %d) n", exprs, rows)
	}
	digits := "(SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
	return fmt.Sprintf("SELECT %s FROM (SELECT 1 + a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d AS n FROM %s a, %s b, %s c, %s e, %s f) numbers WHERE n <= %d",
		exprs, digits, digits, digits, digits, digits, rows)
}

// spec parses a backfill of the table orders.
func (r *rig) spec(more string) *spec.Spec {
	r.t.Helper()
	s, err := spec.Parse("s.yaml", []byte("kind: backfill\ndatabase: shop\ntable: "+r.table("orders")+"\n"+more))
	require.NoError(r.t, err)
	return s
}

// job is one migration.
type job struct {
	r    *rig
	b    *Backfill
	id   string
	spec *spec.Spec
	stop chan struct{}
}

func (r *rig) job(id, more string) *job {
	return &job{r: r, b: New("test"), id: id, spec: r.spec(more), stop: make(chan struct{})}
}

// run is what a call of the kind gets.
func (j *job) run(phase task.Phase, shard int) *kind.Run {
	j.r.t.Helper()
	l := j.r.store.Migration(j.id)
	run := &kind.Run{Ref: task.Ref{ID: j.id, Kind: task.Backfill, Ledger: "shop"}, Spec: j.spec, Connections: j.r.conns, Ledger: l,
		Beat: func(task.Heartbeat) {}, Touch: func() {}, Alive: func(context.Context) error { return nil }, Stop: j.stop}
	m, err := l.Load(context.Background())
	require.NoError(j.r.t, err)
	if m != nil {
		g := throttle.New(throttle.Config{Spec: j.spec, Written: "shop", Connections: j.r.conns, Ledger: l})
		j.r.t.Cleanup(g.Close)
		run.Throttle, err = g.Share(context.Background(), phase, shard, j.stop)
		require.NoError(j.r.t, err)
		j.r.t.Cleanup(run.Throttle.Close)
	}
	return run
}

func (j *job) preflight() (task.PreflightResult, error) {
	return j.b.Preflight(context.Background(), j.run(task.Preflight, 0))
}

// transform runs everything from preflight to the end of the transform phase.
func (j *job) transform() error {
	ctx := context.Background()
	if _, err := j.preflight(); err != nil {
		return err
	}
	if _, err := j.b.Backup(ctx, j.run(task.Backup, 0)); err != nil {
		return err
	}
	work, err := j.b.PrepareTransform(ctx, j.run(task.Transform, 0))
	for err == nil && len(work.Open) > 0 {
		for _, no := range work.Open {
			if err := j.shard(no); err != nil {
				return err
			}
		}
		work, err = j.b.FinishTransform(ctx, j.run(task.Transform, 0))
	}
	return err
}

func (j *job) shard(no int) error {
	in := task.ShardInput{Ref: task.Ref{ID: j.id}, Phase: task.Transform, Shard: no}
	_, err := j.b.TransformShard(context.Background(), j.run(task.Transform, no), in)
	return err
}

func (j *job) verify() (task.VerifySummary, error) {
	ctx := context.Background()
	work, err := j.b.PrepareVerify(ctx, j.run(task.Verify, 0))
	if err != nil {
		return task.VerifySummary{}, err
	}
	for _, no := range work.Open {
		in := task.ShardInput{Ref: task.Ref{ID: j.id}, Phase: task.Verify, Shard: no}
		if _, err := j.b.VerifyShard(ctx, j.run(task.Verify, no), in); err != nil {
			return task.VerifySummary{}, err
		}
	}
	return j.b.FinishVerify(ctx, j.run(task.Verify, 0))
}

func (j *job) cutover() error {
	_, err := j.b.Cutover(context.Background(), j.run(task.Cutover, 0))
	return err
}

// all runs a whole migration but for its cleanup.
func (j *job) all() task.VerifySummary {
	j.r.t.Helper()
	require.NoError(j.r.t, j.transform())
	summary, err := j.verify()
	require.NoError(j.r.t, err)
	require.NoError(j.r.t, j.cutover())
	return summary
}

func (j *job) cleanup() {
	j.r.t.Helper()
	require.NoError(j.r.t, j.b.Cleanup(context.Background(), j.run(task.Cleanup, 0)))
}

func (j *job) rollback() error {
	return j.b.Rollback(context.Background(), j.run(task.Cleanup, 0))
}

// events are the details of the events of a name.
func (j *job) events(what string) (details []string) {
	j.r.t.Helper()
	events, err := j.r.store.Migration(j.id).Events(context.Background(), 0, 10_000)
	require.NoError(j.r.t, err)
	for _, e := range events {
		if e.What == what {
			details = append(details, e.Detail)
		}
	}
	return details
}

// savedTables are the tables of old values that there are.
func (r *rig) savedTables() string {
	return r.ask("SELECT count(*) FROM information_schema.tables WHERE table_name LIKE '%saved\\_%' AND table_schema IN ('godwit', '" + r.schema + "')")
}

// snapshot is the whole table as text, for comparison.
func (r *rig) snapshot() []string {
	r.t.Helper()
	rows, err := r.db.Query(context.Background(), "SELECT id, country, coalesce(region, '-'), balance, coalesce(note, '-') FROM "+r.table("orders")+" ORDER BY id")
	require.NoError(r.t, err)
	defer rows.Close() //nolint:errcheck // Err tells
	var lines []string
	for rows.Next() {
		var id, balance int64
		var country, region, note string
		require.NoError(r.t, rows.Scan(&id, &country, &region, &balance, &note))
		lines = append(lines, fmt.Sprint(id, country, region, balance, note))
	}
	require.NoError(r.t, rows.Err())
	return lines
}

// locked holds a lock on rows for a while, in a transaction that is ended by
// the function that it returns.
func (r *rig) locked(query string) (release func()) {
	r.t.Helper()
	tx, err := r.db.Begin(context.Background())
	require.NoError(r.t, err)
	_, err = tx.Exec(context.Background(), query)
	require.NoError(r.t, err)
	var once sync.Once
	release = func() { once.Do(func() { _ = tx.Rollback(context.Background()) }) }
	r.t.Cleanup(release)
	return release
}

// soon fails the test when something does not come about.
func soon(t *testing.T, what string, come func() bool) {
	t.Helper()
	require.Eventually(t, come, 20*time.Second, 20*time.Millisecond, what)
}
