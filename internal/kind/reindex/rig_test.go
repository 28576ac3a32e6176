package reindex

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
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

// onPostgres and onMySQL run a test on the engines that it is about.
func onMySQL(t *testing.T, test func(t *testing.T, r *rig)) {
	for _, k := range sandbox.Kinds() {
		if k != sandbox.Postgres {
			t.Run(string(k), func(t *testing.T) { test(t, newRig(t, k)) })
		}
	}
}

func onPostgres(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run(string(sandbox.Postgres), func(t *testing.T) { test(t, newRig(t, sandbox.Postgres)) })
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
	sql      *sql.DB // the application's way
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
	var err error
	r.conns, err = connection.Load("", []string{"GODWIT_CONNECTION_SHOP=" + s.URL(name)})
	require.NoError(t, err)
	t.Cleanup(r.conns.Close)
	c, err := r.conns.Get("shop")
	require.NoError(t, err)
	db, err := kind.OpenDatabase(context.Background(), c)
	require.NoError(t, err)
	r.db = &site{kind.Site{Database: db, Conn: c}}
	r.store, err = ledger.Open(context.Background(), db, "test")
	require.NoError(t, err)
	r.open()
	return r
}

// open is the application's own pool.
func (r *rig) open() {
	address, err := url.Parse(r.server.URL(r.database))
	require.NoError(r.t, err)
	driver, name := "pgx", address.String()+"&search_path=public" // and not the ledger's schema, which has the user's name
	if !r.postgres() {
		config := mysql.NewConfig()
		config.User, config.Net, config.Addr, config.DBName = address.User.Username(), "tcp", address.Host, r.database
		config.Passwd, _ = address.User.Password()
		driver, name = "mysql", config.FormatDSN()
	}
	r.sql, err = sql.Open(driver, name)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = r.sql.Close() })
}

func (r *rig) postgres() bool { return r.kind == sandbox.Postgres }

func (r *rig) exec(statements ...string) {
	r.t.Helper()
	for _, s := range statements {
		_, err := r.sql.Exec(s)
		require.NoError(r.t, err, s)
	}
}

// table qualifies a table's name.
func (r *rig) table(name string) string { return r.schema + "." + name }

// pick is what the engine calls a thing.
func (r *rig) pick(postgres, mysql string) string {
	if r.postgres() {
		return postgres
	}
	return mysql
}

// texts asks for one column of texts.
func (r *rig) texts(query string) (found []string) {
	r.t.Helper()
	rows, err := r.sql.Query(query)
	require.NoError(r.t, err, query)
	defer rows.Close()
	for rows.Next() {
		var text string
		require.NoError(r.t, rows.Scan(&text))
		found = append(found, text)
	}
	require.NoError(r.t, rows.Err())
	return found
}

// orders makes a table of so many rows with a primary key and two indexes.
func (r *rig) orders(rows int) {
	r.t.Helper()
	r.exec("CREATE TABLE orders (id bigint NOT NULL PRIMARY KEY, customer bigint NOT NULL, note varchar(60) NOT NULL)",
		"CREATE INDEX orders_customer ON orders (customer)", "CREATE UNIQUE INDEX orders_note ON orders (note, id)")
	const step = 5000
	for low := 1; low <= rows; low += step {
		var values []string
		for id := low; id < low+step && id <= rows; id++ {
			values = append(values, fmt.Sprintf("(%d, %d, 'the note of order %d')", id, id%1000, id))
		}
		r.exec("INSERT INTO orders VALUES " + strings.Join(values, ", "))
	}
	if r.postgres() {
		r.exec("ANALYZE orders")
	} else {
		r.exec("ANALYZE TABLE orders")
	}
}

// indexes are those of all tables of the application's, with their definitions,
// and what is wrong with them.
func (r *rig) indexes() []string {
	r.t.Helper()
	if r.postgres() {
		return r.texts(`SELECT pg_get_indexdef(x.indexrelid) || CASE WHEN x.indisvalid AND x.indisready AND x.indislive THEN '' ELSE ' INVALID' END
			FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' ORDER BY 1`)
	}
	return r.texts(`SELECT CONCAT(TABLE_NAME, '.', INDEX_NAME, IF(NON_UNIQUE, ' ', ' unique '), GROUP_CONCAT(COALESCE(COLUMN_NAME, '?') ORDER BY SEQ_IN_INDEX))
		FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = '` + r.schema + `' AND TABLE_NAME NOT LIKE '\_godwit%' GROUP BY TABLE_NAME, INDEX_NAME, NON_UNIQUE ORDER BY 1`)
}

// number is by what an index is told from the one before it.
func (r *rig) number(index string) string {
	r.t.Helper()
	if r.postgres() {
		return r.texts("SELECT '" + index + "'::regclass::oid::text")[0]
	}
	prefix := "INNODB_"
	if r.kind == sandbox.MariaDB {
		prefix = "INNODB_SYS_"
	}
	return r.texts("SELECT i.INDEX_ID FROM information_schema." + prefix + "INDEXES i JOIN information_schema." + prefix + "TABLES t ON t.TABLE_ID = i.TABLE_ID WHERE t.NAME = '" +
		r.database + "/orders' AND i.NAME = '" + index + "'")[0]
}

// job is one migration.
type job struct {
	r    *rig
	k    *Reindex
	id   string
	spec *spec.Spec
	stop chan struct{}

	mu    sync.Mutex
	beats []task.Heartbeat
}

// job makes a migration.
func (r *rig) job(id, lines string) *job {
	r.t.Helper()
	text := "kind: reindex\ndatabase: shop\n" + lines
	s, err := spec.Parse("s.yaml", []byte(text))
	require.NoError(r.t, err, text)
	return &job{r: r, k: New("test"), id: id, spec: s, stop: make(chan struct{})}
}

// run is what a call of the kind gets.
func (j *job) run(phase task.Phase) *kind.Run {
	j.r.t.Helper()
	l := j.r.store.Migration(j.id)
	run := &kind.Run{Ref: task.Ref{ID: j.id, Kind: task.Reindex, Ledger: "shop"}, Spec: j.spec, Connections: j.r.conns, Ledger: l,
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
	h.At = time.Now()
	j.beats = append(j.beats, h)
}

// waited reports whether a heartbeat said that it waits for something.
func (j *job) waited(text string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, h := range j.beats {
		if strings.Contains(h.WaitingFor, text) {
			return true
		}
	}
	return false
}

func (j *job) preflight() (task.PreflightResult, error) {
	return j.k.Preflight(context.Background(), j.run(task.Preflight))
}

// begin runs everything before the shards.
func (j *job) begin() task.Work {
	j.r.t.Helper()
	ctx := context.Background()
	_, err := j.preflight()
	require.NoError(j.r.t, err)
	_, err = j.k.Backup(ctx, j.run(task.Backup))
	require.NoError(j.r.t, err)
	work, err := j.k.PrepareTransform(ctx, j.run(task.Transform))
	require.NoError(j.r.t, err)
	return work
}

// shard does one attempt at a shard.
func (j *job) shard(ctx context.Context, phase task.Phase, no int) error {
	do := j.k.TransformShard
	if phase == task.Verify {
		do = j.k.VerifyShard
	}
	_, err := do(ctx, j.run(phase), task.ShardInput{Ref: task.Ref{ID: j.id}, Phase: phase, Shard: no})
	return err
}

// transform does everything up to the verification.
func (j *job) transform() error {
	j.r.t.Helper()
	for _, no := range j.begin().Open {
		if err := j.shard(context.Background(), task.Transform, no); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) verify() (task.VerifySummary, error) {
	ctx := context.Background()
	work, err := j.k.PrepareVerify(ctx, j.run(task.Verify))
	if err != nil {
		return task.VerifySummary{}, err
	}
	for _, no := range work.Open {
		if err := j.shard(ctx, task.Verify, no); err != nil {
			return task.VerifySummary{}, err
		}
	}
	return j.k.FinishVerify(ctx, j.run(task.Verify))
}

// all runs a whole migration but for its cleanup.
func (j *job) all() task.VerifySummary {
	j.r.t.Helper()
	require.NoError(j.r.t, j.transform())
	summary, err := j.verify()
	require.NoError(j.r.t, err)
	_, err = j.k.Cutover(context.Background(), j.run(task.Cutover))
	require.NoError(j.r.t, err)
	return summary
}

func (j *job) cleanup() {
	j.r.t.Helper()
	require.NoError(j.r.t, j.k.Cleanup(context.Background(), j.run(task.Cleanup)))
}

func (j *job) rollback() error { return j.k.Rollback(context.Background(), j.run(task.Cleanup)) }

// plan is what Plan says.
func (j *job) plan() (*task.Plan, error) {
	run := j.run(task.Preflight)
	run.Ledger = nil
	return j.k.Plan(context.Background(), run)
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

// transaction begins one of the application's that has written to orders; it is
// ended by the function that it returns.
func (r *rig) transaction(statement string) (end func()) {
	r.t.Helper()
	tx, err := r.sql.Begin()
	require.NoError(r.t, err)
	_, err = tx.Exec(statement)
	require.NoError(r.t, err, statement)
	var once sync.Once
	end = func() { once.Do(func() { _ = tx.Rollback() }) }
	r.t.Cleanup(end)
	return end
}

// soon fails the test when something does not come about.
func soon(t *testing.T, what string, come func() bool) {
	t.Helper()
	require.Eventually(t, come, 20*time.Second, 20*time.Millisecond, what)
}
