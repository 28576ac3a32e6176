package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"godwit/internal/sandbox"
	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/starter/control"
)

// Of a burst: the servers' connections, how many migrations it has, and what
// may run at once. The workers' pools are far too large for the servers, so
// that nothing but the limits keeps them from being exhausted.
const (
	burstConnections = 40
	burstSize        = 100
	burstMigrations  = 6
	burstShards      = 6
	burstPool        = 60
)

// burst is many migrations that are started at once.
type burst struct {
	*stage
	desk   *control.Desk
	orders []control.Order
}

// newBurst makes a stage whose servers have few connections, and which this
// test has for itself.
func newBurst(t *testing.T) *burst {
	t.Helper()
	r := &rig{}
	var err error
	r.temporal, err = startTemporal(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.temporal.stop()) })
	few := sandbox.Options{Settings: map[string]string{"max_connections": fmt.Sprint(burstConnections)}}
	for server, kind := range map[**sandbox.Server]sandbox.Kind{&r.source: sandbox.MariaDB, &r.target: sandbox.Postgres} {
		started, err := sandbox.Start(t.Context(), kind, few)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, started.Stop()) })
		*server = started
	}
	b := &burst{stage: newStage(t, r)}
	b.desk = control.New(r.temporal.client, b.name)
	return b
}

// copies adds copies of so many tables, one each, of any priority.
func (b *burst) copies(n int) *burst {
	var statements []string
	for i := range n {
		statements = append(statements, fmt.Sprintf(
			"CREATE TABLE t%03d (id int PRIMARY KEY, name varchar(60)); INSERT INTO t%03d SELECT seq, CONCAT('%d of ', seq) FROM seq_1_to_%d", i, i, i, burstRows(i)))
		b.order(fmt.Sprintf("copy-%03d", i), 1+i*7%5,
			fmt.Sprintf("kind: copy\nsource: legacy\ntarget: warehouse\ntables: [t%03d]\nshards: {rows: 400, parallel: 4}\n", i))
	}
	b.ownSource(strings.Join(statements, ";\n"))
	return b
}

// backfills adds backfills of so many tables of the target, one each, of any priority.
func (b *burst) backfills(n int) *burst {
	var statements []string
	for i := range n {
		statements = append(statements, fmt.Sprintf(
			"CREATE TABLE f%03d AS SELECT n AS id, n::bigint AS balance FROM generate_series(1, %d) n; ALTER TABLE f%03d ADD PRIMARY KEY (id)", i, burstRows(i), i))
		b.order(fmt.Sprintf("backfill-%03d", i), 1+i*7%5,
			fmt.Sprintf("kind: backfill\ndatabase: warehouse\ntable: f%03d\nset: {balance: balance * 100}\nshards: {rows: 400, parallel: 4}\n", i))
	}
	b.onTarget(strings.Join(statements, ";\n"))
	return b
}

// burstRows is how many rows the table of a migration has.
func burstRows(i int) int { return 500 + 5*i }

// order adds a migration from its spec.
func (b *burst) order(id string, priority int, text string) {
	b.t.Helper()
	s, err := spec.Parse(id, []byte(text))
	require.NoError(b.t, err)
	s.Priority = priority
	require.NoError(b.t, s.Validate())
	b.orders = append(b.orders, control.Order{ID: id, Spec: s})
}

// start starts all of them, in no order, as the command line does.
func (b *burst) start() {
	b.t.Helper()
	orders := slices.Clone(b.orders)
	dice(b.t).Shuffle(len(orders), func(i, j int) { orders[i], orders[j] = orders[j], orders[i] })
	var starts errgroup.Group
	starts.SetLimit(20)
	for _, order := range orders {
		starts.Go(func() error {
			_, err := b.desk.Start(context.Background(), order)
			return err
		})
	}
	require.NoError(b.t, starts.Wait())
}

// states counts the migrations by state; nil while Temporal does not answer.
func (b *burst) states() map[task.State]int {
	listed, _, err := b.desk.List(context.Background(), control.Filter{})
	if err != nil {
		return nil
	}
	counts := map[task.State]int{}
	for _, m := range listed {
		counts[m.State]++
	}
	return counts
}

// awaitDone waits until so many have succeeded.
func (b *burst) awaitDone(n int) {
	b.t.Helper()
	await(b.t, limit, fmt.Sprintf("%d successes", n), func() bool {
		counts := b.states()
		require.Zero(b.t, counts[task.Failed]+counts[task.TimedOut], "%v", counts)
		return counts[task.Success] >= n
	})
}

// pileUp locks a table of the ledger for a while, so that whatever comes to it
// stays there, with its connections: without limits, this takes all of them.
func (b *burst) pileUp(d time.Duration) {
	b.t.Helper()
	ctx := context.Background()
	tx, err := b.db.Begin(ctx)
	require.NoError(b.t, err)
	_, err = tx.Exec(ctx, "LOCK TABLE godwit.shard IN ACCESS EXCLUSIVE MODE")
	require.NoError(b.t, err)
	time.Sleep(d)
	require.NoError(b.t, tx.Rollback(ctx))
}

// sampler counts the target's connections all the time.
type sampler struct {
	stop func()
	most int
	took int // samples
	err  error
}

func (b *burst) sample() *sampler {
	b.t.Helper()
	conn, err := pgx.Connect(context.Background(), b.target.URL(b.name))
	require.NoError(b.t, err)
	s, stop, done := &sampler{}, make(chan struct{}), make(chan struct{})
	s.stop = sync.OnceFunc(func() {
		close(stop)
		<-done
		_ = conn.Close(context.Background())
	})
	b.t.Cleanup(s.stop)
	go func() {
		defer close(done)
		for {
			var now int
			if s.err = conn.QueryRow(context.Background(), "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'").Scan(&now); s.err != nil {
				return
			}
			s.most, s.took = max(s.most, now), s.took+1
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return s
}

// TestABurstOfMigrationsLeavesTheServersTheirConnections starts a hundred at
// once; a worker and Temporal are killed in the middle.
func TestABurstOfMigrationsLeavesTheServersTheirConnections(t *testing.T) {
	t.Parallel()
	b := newBurst(t).copies(burstSize / 2).backfills(burstSize / 2)
	b.limited()
	connections := b.sample()
	first := b.worker()
	b.worker()
	began := time.Now()
	b.start()
	t.Logf("all are started after %s", time.Since(began))
	b.isListedWithItsPlace()

	b.awaitDone(burstSize / 10)
	b.pileUp(5 * time.Second)
	b.awaitDone(burstSize / 5)
	first.kill()
	b.worker()
	b.awaitDone(burstSize / 2)
	require.NoError(t, b.temporal.kill())
	time.Sleep(time.Second)
	require.NoError(t, b.temporal.start(t.Context()))
	b.awaitDone(len(b.orders))
	connections.stop()

	require.NoError(t, connections.err, "there was always a connection left for others")
	most := b.mostOfSource()
	t.Logf("%s; at most %d connections on the target (%d samples), %d on the source", time.Since(began), connections.most, connections.took, most)
	require.Less(t, connections.most, burstConnections)
	require.Less(t, most, burstConnections)
	require.Greater(t, connections.took, 50)
	b.neverTooMany()
	b.followedPriority()
	for i := range burstSize / 2 {
		if i%20 == 0 {
			b.arrived(fmt.Sprintf("t%03d", i))
		}
		require.EqualValues(t, burstRows(i), one[int64](b.stage, fmt.Sprintf("SELECT count(*) FROM t%03d", i)))
		require.EqualValues(t, burstRows(i), one[int64](b.stage, fmt.Sprintf("SELECT count(*) FROM f%03d WHERE balance = id * 100", i)))
	}
}

// limited gives the workers pools that are too large, and limits.
func (b *burst) limited() {
	for name, url := range map[string]string{"LEGACY": b.source.URL(b.from), "WAREHOUSE": b.target.URL(b.name)} {
		separator := "?"
		if strings.Contains(url, "?") {
			separator = "&"
		}
		b.extra = append(b.extra, fmt.Sprintf("GODWIT_CONNECTION_%s=%s%spool=%d&migrations=%d&shards=%d", name, url, separator, burstPool, burstMigrations, burstShards))
	}
}

// isListedWithItsPlace looks at one that waits, as an operator would.
func (b *burst) isListedWithItsPlace() {
	b.t.Helper()
	await(b.t, limit, "most of them to wait", func() bool {
		capacity, err := b.desk.Capacity(context.Background())
		return err == nil && len(capacity.Waiting) >= len(b.orders)/2
	})
	var pending []task.Status
	b.read(&pending, "list", "--pending", "--all")
	pending = slices.DeleteFunc(pending, func(m task.Status) bool { return m.Queue == nil })
	require.Greater(b.t, len(pending), len(b.orders)/4)
	require.Equal(b.t, burstMigrations, pending[0].Queue.Limit)
	require.True(b.t, slices.IsSortedFunc(pending, func(x, y task.Status) int { return x.Queue.Place - y.Queue.Place }))
	require.Regexp(b.t, `PENDING \d+/\d+ `, b.must("list", "--pending", "--all").out)
	require.Contains(b.t, b.must("status", pending[len(pending)-1].ID).out, "capacity of connection ")
	var capacity task.CapacityStatus
	b.read(&capacity, "capacity")
	require.Len(b.t, capacity.Connections, 2)
	require.Equal(b.t, task.Limits{Migrations: burstMigrations, Shards: burstShards}, capacity.Connections[0].Limits)
}

// mostOfSource is how many connections the source had at most.
func (b *burst) mostOfSource() (most int) {
	b.t.Helper()
	out, err := b.source.Client("--batch", "--skip-column-names", "-e", "SHOW GLOBAL STATUS LIKE 'Max_used_connections'").Output()
	require.NoError(b.t, err)
	_, err = fmt.Sscanf(string(out), "Max_used_connections %d", &most)
	require.NoError(b.t, err)
	return most
}

// neverTooMany fails the test when more migrations were at work at the same
// time than may be, by the ledger.
func (b *burst) neverTooMany() {
	b.t.Helper()
	type span struct{ From, To time.Time }
	spans := ask(b.stage, pgx.RowToStructByPos[span], `SELECT min(at) FILTER (WHERE what = 'preflight passed'), max(at) FILTER (WHERE what = 'cutover finished')
		FROM godwit.event GROUP BY migration`)
	require.Len(b.t, spans, len(b.orders))
	for _, s := range spans {
		atWork := 0
		for _, other := range spans {
			if !other.From.After(s.From) && other.To.After(s.From) {
				atWork++
			}
		}
		require.LessOrEqual(b.t, atWork, burstMigrations)
	}
}
