package capture_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/capture"
	"godwit/internal/engine"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// copying is a copy of a captured table, with its shards in a ledger.
type copying struct {
	r      *rig
	c      *engine.Capture
	p      *engine.Projection
	ledger *ledger.Ledger
	chunk  int64
	seed   uint64
	again  int // chunks that clashed
	mu     sync.Mutex
}

// copying plans the shards of a table's copy.
func (r *rig) copying(c *engine.Capture, p *engine.Projection, shardRows, chunkRows int64, seed uint64) *copying {
	r.t.Helper()
	ctx := context.Background()
	store, err := ledger.Open(ctx, r.db, "test")
	require.NoError(r.t, err)
	l := store.Migration("copy-" + c.Table.Name.Table)
	_, err = l.Take(ctx, task.Backfill)
	require.NoError(r.t, err)
	bounds, err := r.db.Split(ctx, engine.Select{Table: c.Table, Exprs: []string{"1"}}, shardRows)
	require.NoError(r.t, err)
	shards := []ledger.Shard{}
	var low engine.Key
	for i := range len(bounds) + 1 {
		s := ledger.Shard{No: i + 1, Part: i + 1, Parts: len(bounds) + 1, Table: c.Table.Name.String(), Range: engine.Range{After: low}}
		if i < len(bounds) {
			s.Range.Until, low = bounds[i], bounds[i]
		}
		shards = append(shards, s)
	}
	require.NoError(r.t, l.PlanShards(ctx, task.Transform, shards))
	return &copying{r: r, c: c, p: p, ledger: l, chunk: chunkRows, seed: seed}
}

// covered is what the copy has passed by now.
func (y *copying) covered(ctx context.Context) (capture.Coverage, error) {
	shards, err := y.ledger.Shards(ctx, task.Transform)
	return capture.Covered(shards), err
}

func (y *copying) drainer(session capture.Session) *capture.Drainer {
	return capture.NewDrainer(y.r.db, y.c, session, &capture.Local{DB: y.r.db, Capture: y.c, Projection: y.p, Fence: y.ledger.Steers}, y.covered)
}

// copy copies the shards, some at once.
func (y *copying) copy(streams int) error {
	shards, err := y.ledger.Shards(context.Background(), task.Transform)
	if err != nil {
		return err
	}
	work := make(chan int, len(shards))
	for _, i := range rand.New(rand.NewPCG(y.seed, 1)).Perm(len(shards)) { // in no order
		work <- i + 1
	}
	close(work)
	var failed error
	at(streams, func(int) error {
		for no := range work {
			if err := y.shard(no); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) { failed = errors.Join(failed, err) })
	return failed
}

func (y *copying) shard(no int) error {
	ctx := context.Background()
	random := rand.New(rand.NewPCG(y.seed, uint64(no)))
	lease, err := y.ledger.ClaimShard(ctx, task.ShardInput{Phase: task.Transform, Shard: no}, "")
	if err != nil {
		return err
	}
	for tries := 0; ; {
		last, err := y.step(ctx, lease, random, tries > 0)
		switch {
		case err == nil && last:
			return nil
		case err == nil:
			tries = 0
		case tries < 300 && (y.r.db.IsClash(err) || errors.Is(err, errGivenUp) || kind.Classify(err).Class == task.Busy):
			tries++
			y.mu.Lock()
			y.again++
			y.mu.Unlock()
			time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		default:
			return err
		}
	}
}

var errGivenUp = errors.New("the attempt was given up")

// step copies a chunk; one of twenty is broken off before its commit.
func (y *copying) step(ctx context.Context, lease *ledger.Lease, random *rand.Rand, tolerant bool) (last bool, err error) {
	left := lease.Range
	if lease.Checkpoint != nil {
		left.After = lease.Checkpoint
	}
	until, found, err := y.r.db.Bound(ctx, engine.Select{Table: y.c.Table, Exprs: []string{"1"}, Range: left}, y.chunk)
	if err != nil {
		return false, err
	}
	if found {
		left.Until = until
	}
	tx, err := y.r.db.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer tx.Rollback(ctx) //nolint:errcheck // after Commit it does nothing
	rows, err := (&capture.Local{DB: y.r.db, Capture: y.c, Projection: y.p}).CopyRange(ctx, tx, left, tolerant)
	if err != nil {
		return false, err
	}
	time.Sleep(time.Duration(random.IntN(15)) * time.Millisecond) // between reading and commit
	p := ledger.Progress{Rows: rows, Done: !found}
	if found {
		p.Checkpoint = until
	}
	if err := lease.Advance(ctx, tx, p); err != nil {
		return false, err
	}
	if random.IntN(20) == 0 {
		return false, errGivenUp
	}
	if err := tx.Commit(ctx); err != nil {
		return false, err
	}
	lease.Committed(p)
	return !found, nil
}

// settle drains until nothing is left.
func settle(t *testing.T, r *rig, c *engine.Capture, d *capture.Drainer) {
	t.Helper()
	for range 20 {
		_, err := d.Sweep(context.Background())
		require.NoError(t, err)
		p, err := r.db.Pending(context.Background(), c)
		require.NoError(t, err)
		if p.Rows == 0 {
			return
		}
	}
	t.Fatalf("the changelog does not become empty: %q", r.log(c))
}

func TestACopyAgreesWithItsTableUnderManyWriters(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		const rows = 12_000
		seed := newSeed(t)
		r.accounts(rows)
		r.exec("CREATE TABLE " + r.quoted("copied") + " (id bigint NOT NULL PRIMARY KEY, code varchar(30), n bigint NOT NULL, note varchar(60), twice bigint NOT NULL, UNIQUE (code))")
		c := r.db.CaptureOf(r.table("accounts"))
		p := r.same(c, "copied", engine.Assignment{Column: "twice", Expr: "n * 2"})
		w := r.write(12, rows, seed)
		require.NoError(t, r.db.CreateCapture(context.Background(), c), "under the writers")
		y := r.copying(c, p, 2000, 300, seed)

		copied := make(chan error, 1)
		go func() { copied <- y.copy(2) }()
		var total capture.Drained
		drainer, rival := y.drainer(r.db), y.drainer(r.db)
		var finished bool
		for until := time.Now().Add(2500 * time.Millisecond); !finished || time.Now().Before(until); {
			select {
			case err := <-copied:
				require.NoError(t, err)
				finished = true
			default:
			}
			at(2, func(i int) error { // the second one is a zombie that nobody has ended
				done, err := []*capture.Drainer{drainer, rival}[i].Sweep(context.Background())
				y.mu.Lock()
				defer y.mu.Unlock()
				total.Entries += done.Entries
				total.Keys += done.Keys
				return err
			}, func(err error) { require.NoError(t, err) })
		}
		w.end(t)
		settle(t, r, c, drainer)
		t.Logf("%d transactions, %d entries of %d keys drained, %d chunks again", w.begun.Load(), total.Entries, total.Keys, y.again)
		require.Greater(t, w.begun.Load(), int64(100))

		want, source := w.remembered(), r.rows("SELECT id, code, n FROM "+r.quoted("accounts"), 3)
		slices.Sort(want)
		slices.Sort(source)
		require.Equal(t, want, source, "the table is what its writers were told")
		table := r.rows("SELECT id, code, n, note, n * 2 FROM "+r.quoted("accounts")+" ORDER BY id", 5)
		require.Equal(t, table, r.rows("SELECT id, code, n, note, twice FROM "+r.quoted("copied")+" ORDER BY id", 5))
	})
}
