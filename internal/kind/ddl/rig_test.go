package ddl

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"godwit/internal/connection"
	"godwit/internal/engine"
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

// onPostgres and onMySQL run a test on the engines that it is about.
func onPostgres(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run(string(sandbox.Postgres), func(t *testing.T) { test(t, newRig(t, sandbox.Postgres)) })
}

func onMySQL(t *testing.T, test func(t *testing.T, r *rig)) {
	for _, k := range sandbox.Kinds() {
		if k != sandbox.Postgres {
			t.Run(string(k), func(t *testing.T) { test(t, newRig(t, k)) })
		}
	}
}

var databases struct {
	sync.Mutex
	n int
}

// rig is a database with the means to run a migration's phases in it.
type rig struct {
	t        *testing.T
	kind     sandbox.Kind
	server   *sandbox.Server
	db       *site
	conns    *connection.Registry
	store    *ledger.Store
	schema   string // of tables
	database string
}

func newRig(t *testing.T, k sandbox.Kind) *rig {
	s := server(t, k)
	databases.Lock()
	databases.n++
	name := fmt.Sprintf("shop%d", databases.n)
	databases.Unlock()
	require.NoError(t, s.Exec(context.Background(), "", "CREATE DATABASE "+name))
	r := &rig{t: t, kind: k, server: s, schema: "public", database: name}
	if k != sandbox.Postgres {
		r.schema = name
	}
	r.conns = r.connections(name)
	c, err := r.conns.Get("shop")
	require.NoError(t, err)
	db, err := kind.OpenDatabase(context.Background(), c)
	require.NoError(t, err)
	r.db = &site{kind.Site{Database: db, Conn: c}}
	r.store, err = ledger.Open(context.Background(), db, "test")
	require.NoError(t, err)
	return r
}

func (r *rig) connections(database string) *connection.Registry {
	conns, err := connection.Load("", []string{"GODWIT_CONNECTION_SHOP=" + r.server.URL(database)})
	require.NoError(r.t, err)
	r.t.Cleanup(conns.Close)
	return conns
}

func (r *rig) postgres() bool { return r.kind == sandbox.Postgres }

// pick is what the engine calls a thing.
func (r *rig) pick(postgres, mysql string) string {
	if r.postgres() {
		return postgres
	}
	return mysql
}

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
	rows, err := r.db.Query(context.Background(), query)
	require.NoError(r.t, err, query)
	defer rows.Close() //nolint:errcheck // Err tells
	require.True(r.t, rows.Next(), query)
	var value any
	require.NoError(r.t, rows.Scan(&value))
	for rows.Next() { //nolint:revive // to its end
	}
	require.NoError(r.t, rows.Err())
	return show(value)
}

// orders makes a table of ten rows: id, customer (NULL for none of them), note, price.
func (r *rig) orders() {
	r.t.Helper()
	r.exec("CREATE TABLE " + r.table("orders") + " (id bigint NOT NULL PRIMARY KEY, customer bigint, note varchar(20), price numeric(8,2) NOT NULL, state varchar(10) NOT NULL DEFAULT 'new')")
	for id := 1; id <= 10; id++ {
		r.exec(fmt.Sprintf("INSERT INTO %s (id, customer, note, price) VALUES (%d, %d, 'n%d', %d)", r.table("orders"), id, 100+id, id, id))
	}
}

// shape is the table's definition as lines.
func (r *rig) shape() engine.Shape {
	r.t.Helper()
	shape, err := r.db.shape(context.Background(), engine.ParseName(r.table("orders")))
	require.NoError(r.t, err)
	return shape
}

// column describes a column of orders; empty where there is none.
func (r *rig) column(name string) string {
	r.t.Helper()
	for _, line := range r.shape() {
		if rest, found := cutPrefix(line, fmt.Sprintf("column %q ", name)); found {
			return rest
		}
	}
	return ""
}

func cutPrefix(text, prefix string) (string, bool) {
	if len(text) < len(prefix) || text[:len(prefix)] != prefix {
		return "", false
	}
	return text[len(prefix):], true
}

// leftovers are what a migration must leave nothing of: clones, constraints that
// are not valid or are Godwit's own, indexes that are not valid.
func (r *rig) leftovers() []string {
	r.t.Helper()
	query := "SELECT table_name FROM information_schema.tables WHERE table_schema = '" + r.schema + "' AND table_name LIKE '%godwit\\_try%'"
	if r.postgres() {
		query = `SELECT conname::text FROM pg_constraint WHERE NOT convalidated OR conname LIKE '%\_\_gw'
			UNION ALL SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid`
	}
	rows, err := r.db.Query(context.Background(), query)
	require.NoError(r.t, err)
	defer rows.Close() //nolint:errcheck // Err tells
	var found []string
	for rows.Next() {
		var name string
		require.NoError(r.t, rows.Scan(&name))
		found = append(found, name)
	}
	require.NoError(r.t, rows.Err())
	return found
}

// job is one migration.
type job struct {
	r    *rig
	d    *DDL
	id   string
	spec *spec.Spec
	stop chan struct{}

	mu    sync.Mutex
	waits []string // what the heartbeats said it waits for
}

// job makes a migration of the table orders.
func (r *rig) job(id, alter, more string) *job {
	r.t.Helper()
	text := fmt.Sprintf("kind: ddl\ndatabase: shop\ntable: %s\nalter: |\n  %s\n%s", r.table("orders"), alter, more)
	s, err := spec.Parse("s.yaml", []byte(text))
	require.NoError(r.t, err, text)
	return &job{r: r, d: New("test"), id: id, spec: s, stop: make(chan struct{})}
}

// run is what a call of the kind gets.
func (j *job) run(phase task.Phase) *kind.Run {
	j.r.t.Helper()
	l := j.r.store.Migration(j.id)
	run := &kind.Run{Ref: task.Ref{ID: j.id, Kind: task.DDL, Ledger: "shop"}, Spec: j.spec, Connections: j.r.conns, Ledger: l,
		Beat: j.beat, Touch: func() {}, Alive: func(context.Context) error { return nil }, Stop: j.stop}
	m, err := l.Load(context.Background())
	require.NoError(j.r.t, err)
	if m != nil {
		g := throttle.New(throttle.Config{Spec: j.spec, Written: "shop", Connections: j.r.conns, Ledger: l})
		j.r.t.Cleanup(g.Close)
		run.Throttle, err = g.Share(context.Background(), phase, 0, j.stop)
		require.NoError(j.r.t, err)
		j.r.t.Cleanup(run.Throttle.Close)
	}
	return run
}

func (j *job) beat(h task.Heartbeat) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if h.WaitingFor != "" {
		j.waits = append(j.waits, h.WaitingFor)
	}
}

// waited reports whether a heartbeat said that it waits for something.
func (j *job) waited(matches func(string) bool) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.waits, matches)
}

func (j *job) preflight() (task.PreflightResult, error) {
	return j.d.Preflight(context.Background(), j.run(task.Preflight))
}

// prepare runs everything up to the verification.
func (j *job) prepare() error {
	ctx := context.Background()
	if _, err := j.preflight(); err != nil {
		return err
	}
	if _, err := j.d.Backup(ctx, j.run(task.Backup)); err != nil {
		return err
	}
	return j.transform()
}

func (j *job) transform() error {
	ctx := context.Background()
	work, err := j.d.PrepareTransform(ctx, j.run(task.Transform))
	if err != nil {
		return err
	}
	for {
		if err := j.shards(task.Transform, work, j.d.TransformShard); err != nil {
			return err
		}
		if work, err = j.d.FinishTransform(ctx, j.run(task.Transform)); err != nil || len(work.Open) == 0 {
			return err
		}
	}
}

// shards does the open shards of a phase, two at once.
func (j *job) shards(phase task.Phase, work task.Work, do func(context.Context, *kind.Run, task.ShardInput) (task.ShardResult, error)) error {
	var g errgroup.Group
	g.SetLimit(2)
	for _, no := range work.Open {
		run := j.run(phase)
		g.Go(func() error {
			_, err := do(context.Background(), run, task.ShardInput{Ref: task.Ref{ID: j.id}, Phase: phase, Shard: no})
			return err
		})
	}
	return g.Wait()
}

func (j *job) verify() (task.VerifySummary, error) {
	work, err := j.d.PrepareVerify(context.Background(), j.run(task.Verify))
	if err != nil {
		return task.VerifySummary{}, err
	}
	if err := j.shards(task.Verify, work, j.d.VerifyShard); err != nil {
		return task.VerifySummary{}, err
	}
	return j.d.FinishVerify(context.Background(), j.run(task.Verify))
}

func (j *job) cutover() (task.CutoverResult, error) {
	return j.d.Cutover(context.Background(), j.run(task.Cutover))
}

// all runs a whole migration but for its cleanup.
func (j *job) all() {
	j.r.t.Helper()
	require.NoError(j.r.t, j.prepare())
	_, err := j.verify()
	require.NoError(j.r.t, err)
	_, err = j.cutover()
	require.NoError(j.r.t, err)
}

func (j *job) cleanup() {
	j.r.t.Helper()
	require.NoError(j.r.t, j.d.Cleanup(context.Background(), j.run(task.Cleanup)))
}

func (j *job) rollback() error { return j.d.Rollback(context.Background(), j.run(task.Cleanup)) }

// plan is what Plan says.
func (j *job) plan() (*task.Plan, error) {
	run := j.run(task.Preflight)
	run.Ledger = nil
	return j.d.Plan(context.Background(), run)
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

// application is the database as the application reaches it, in one session that
// is not Godwit's.
func (r *rig) application() *sql.Conn {
	r.t.Helper()
	address, err := url.Parse(r.server.URL(r.database))
	require.NoError(r.t, err)
	driver, name := "pgx", address.String()
	if !r.postgres() {
		config := mysql.NewConfig()
		config.User, config.Net, config.Addr, config.DBName = address.User.Username(), "tcp", address.Host, r.database
		config.Passwd, _ = address.User.Password()
		driver, name = "mysql", config.FormatDSN()
	}
	pool, err := sql.Open(driver, name)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = pool.Close() })
	conn, err := pool.Conn(context.Background())
	require.NoError(r.t, err)
	return conn
}

// transaction begins one of the application's, which is ended by the function
// that it returns.
func (r *rig) transaction(statements ...string) (end func()) {
	r.t.Helper()
	conn := r.application()
	for _, s := range append([]string{"BEGIN"}, statements...) {
		_, err := conn.ExecContext(context.Background(), s)
		require.NoError(r.t, err, s)
	}
	var once sync.Once
	end = func() {
		once.Do(func() {
			_, _ = conn.ExecContext(context.Background(), "ROLLBACK")
			_ = conn.Close()
		})
	}
	r.t.Cleanup(end)
	return end
}

// soon fails the test when something does not come about.
func soon(t *testing.T, what string, come func() bool) {
	t.Helper()
	require.Eventually(t, come, 20*time.Second, 20*time.Millisecond, what)
}
