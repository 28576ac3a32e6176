package copydb

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"godwit/internal/digest"
	"godwit/internal/engine"
	"godwit/internal/engine/postgres"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// scope says how a verify shard finds its rows on the target. On the source
// they are always a range of the key.
type scope struct {
	// Keys: by the same range of the key. Only where both servers order the
	// key's type in the same way.
	Keys bool `json:"keys"`
	// Blocks: by where they are stored; nil without Keys for none at all. The
	// rows of a shard are then not the same on both sides, and only the sums
	// over the table can be compared.
	Blocks *postgres.BlockRange `json:"blocks,omitempty"`
}

// compared is what a verify shard has found, kept as the shard's digest.
type compared struct {
	Source    digest.Sum `json:"source"`
	Target    digest.Sum `json:"target"`
	Different int64      `json:"different,omitempty"`
}

// PrepareVerify cuts the verification as the copy was cut.
func (c *Copy) PrepareVerify(ctx context.Context, run *kind.Run) (task.Work, error) {
	if run.Spec.Verify.Mode == spec.NoVerify {
		return task.Work{}, nil
	}
	dbs, err := open(ctx, run)
	if err != nil {
		return task.Work{}, err
	}
	items, err := load(ctx, run)
	if err != nil {
		return task.Work{}, err
	}
	copied, err := run.Ledger.Shards(ctx, task.Transform)
	if err != nil {
		return task.Work{}, err
	}
	if err := run.Ledger.RepeatShards(ctx, task.Verify, compareAgain); err != nil {
		return task.Work{}, err
	}
	hook.At("verify begins")
	var shards []ledger.Shard
	for _, it := range bySize(items) {
		more, err := verifyShards(ctx, dbs, it, shardsOf(copied, it.target()), len(shards))
		if err != nil {
			return task.Work{}, err
		}
		shards = append(shards, more...)
	}
	if err := run.Ledger.PlanShards(ctx, task.Verify, shards); err != nil {
		return task.Work{}, err
	}
	return run.Ledger.Work(ctx, task.Verify)
}

// verifyShards cuts the verification of one table.
func verifyShards(ctx context.Context, dbs *databases, it *item, copied []ledger.Shard, before int) ([]ledger.Shard, error) {
	if len(copied) == 0 {
		return nil, fmt.Errorf("the ledger has no shards of %s: nothing would be compared", it.target())
	}
	keys := it.sameOrder()
	var blocks int64
	if !keys {
		var err error
		if blocks, err = dbs.to.Blocks(ctx, it.Target.Name); err != nil {
			return nil, err
		}
	}
	shards := make([]ledger.Shard, len(copied))
	for i, s := range copied {
		sc := scope{Keys: keys}
		if !keys {
			sc.Blocks = blockRange(blocks, i, len(copied))
		}
		definition, err := json.Marshal(sc)
		if err != nil {
			return nil, err
		}
		shards[i] = ledger.Shard{No: before + i + 1, Table: s.Table, Part: s.Part, Parts: s.Parts, Range: s.Range, Definition: definition, RowsEstimate: s.Rows}
	}
	return shards, nil
}

// blockRange is part i of n of a table's blocks; the last one is open above.
// A table with fewer blocks than parts has none for some, which is nil.
func blockRange(blocks int64, i, n int) *postgres.BlockRange {
	r := postgres.BlockRange{From: blocks * int64(i) / int64(n), Until: blocks * int64(i+1) / int64(n)}
	switch {
	case i == n-1:
		r.Until = 0
	case r.From == r.Until:
		return nil
	}
	return &r
}

// compareAgain picks the shards to be compared again: all, when a verification
// was carried through and is called for once more; of an unfinished one those
// that differed, since the rows may have been mended.
func compareAgain(shards []ledger.Shard) (again []int) {
	finished := !slices.ContainsFunc(shards, func(s ledger.Shard) bool { return s.State != ledger.ShardDone })
	for _, s := range shards {
		var found compared
		differs := json.Unmarshal(s.Digest, &found) == nil && found.Different > 0
		if s.State == ledger.ShardDone && (finished || differs) {
			again = append(again, s.No)
		}
	}
	return again
}

// VerifyShard digests a shard's rows on both sides, at the same time.
func (c *Copy) VerifyShard(ctx context.Context, run *kind.Run, in task.ShardInput) (task.ShardResult, error) {
	dbs, err := open(ctx, run)
	if err != nil {
		return task.ShardResult{}, err
	}
	items, err := load(ctx, run)
	if err != nil {
		return task.ShardResult{}, err
	}
	return run.Attempt(ctx, in, "", func(lease *ledger.Lease) error {
		if err := run.Throttle.Wait(ctx, 0, 0); err != nil {
			return err
		}
		it, err := find(items, lease.Table)
		if err != nil {
			return err
		}
		w := &shardVerify{run: run, dbs: dbs, item: it, lease: lease, began: time.Now()}
		return w.do(ctx)
	})
}

// shardVerify is one attempt at one verify shard.
type shardVerify struct {
	run   *kind.Run
	dbs   *databases
	item  *item
	lease *ledger.Lease
	began time.Time
	bytes int64 // read of the source
}

func (w *shardVerify) do(ctx context.Context) error {
	ctx, cancel := stoppable(ctx, w.run.Stop)
	defer cancel()
	var sc scope
	if err := json.Unmarshal(w.lease.Definition, &sc); err != nil {
		return err
	}
	found, err := w.compare(ctx, sc)
	if err != nil {
		return err
	}
	if sc.Keys && !found.Source.Equal(found.Target) {
		if found.Different, err = listDifferences(ctx, w.run, w.dbs, w.item, w.lease.Range); err != nil {
			return err
		}
	}
	hook.At("shard compared")
	p := ledger.Progress{Rows: found.Source.Rows, Bytes: w.bytes, Digest: found, Done: true}
	if err := w.lease.Advance(ctx, w.run.Ledger.DB(), p); err != nil {
		return err
	}
	w.lease.Committed(p)
	return nil
}

// stoppable ends the context when a stop is asked for: a digest has no
// checkpoint to reach first.
func stoppable(ctx context.Context, stop <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// compare digests both sides; with verify.mode count it only counts.
func (w *shardVerify) compare(ctx context.Context, sc scope) (compared, error) {
	from, to := w.item.sourceSelect(w.lease.Range), w.item.targetSelect(w.lease.Range)
	if !sc.Keys {
		to.Range = engine.Range{}
	}
	if sc.Blocks != nil {
		to.Where = sc.Blocks.Where()
	}
	from.Ordered, to.Ordered = false, false
	var found compared
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		found.Source, err = w.sum(ctx, w.dbs.from, from, w.item.Row.CanonSource, w.beat)
		return err
	})
	group.Go(func() (err error) {
		if !sc.Keys && sc.Blocks == nil {
			return nil
		}
		found.Target, err = w.sum(ctx, w.dbs.to, to, w.item.Row.CanonTarget, func(int64, int64) { w.run.Touch() })
		return err
	})
	return found, group.Wait()
}

// streamer is either side.
type streamer interface {
	Stream(ctx context.Context, sel engine.Select) (engine.Stream, error)
}

func (w *shardVerify) sum(ctx context.Context, side streamer, sel engine.Select, canon digest.Canon, progress func(rows, bytes int64)) (digest.Sum, error) {
	if w.run.Spec.Verify.Mode == spec.Count {
		return countRows(ctx, side, sel, w.run.Touch)
	}
	stream, err := side.Stream(ctx, sel)
	if err != nil {
		return digest.Sum{}, err
	}
	defer stream.Close() //nolint:errcheck // Next tells
	return digest.Stream(ctx, stream, digest.NewHasher(canon), progress)
}

func (w *shardVerify) beat(rows, bytes int64) {
	w.bytes = bytes
	h := task.Heartbeat{Phase: task.Verify, Table: w.lease.Label(), Shard: w.lease.No, Rows: rows, Bytes: bytes, RowsTotal: max(rows, w.lease.RowsEstimate)}
	if took := time.Since(w.began).Seconds(); took > 0 {
		h.RowsPerSecond = float64(rows) / took
	}
	if h.RowsTotal > 0 {
		h.Percent = 100 * float64(h.Rows) / float64(h.RowsTotal)
	}
	w.run.Beat(h)
}

// targetSelect reads back what was written, in the columns' order of the copy.
func (it *item) targetSelect(bounds engine.Range) engine.Select {
	table := *it.Target
	table.Key = nil
	for _, name := range it.Source.Key {
		for _, c := range it.Row.Columns {
			if c.Source == name {
				table.Key = append(table.Key, c.Target)
			}
		}
	}
	return engine.Select{Table: &table, Exprs: it.Row.TargetExprs(), Range: bounds}
}

// sameOrder reports whether both servers order the table's key in the same
// way. Characters they order by different collations, and UUIDs MariaDB
// orders by their time.
func (it *item) sameOrder() bool {
	for _, name := range it.Source.Key {
		for _, c := range it.Row.Columns {
			if c.Source != name {
				continue
			}
			switch c.Codec {
			case "integer", "decimal", "date", "timestamp", "timestamptz", "bytes":
			default:
				return false
			}
		}
	}
	return len(it.Source.Key) > 0
}
