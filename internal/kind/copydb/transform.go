package copydb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"godwit/internal/engine"
	"godwit/internal/engine/postgres"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/shard"
	"godwit/internal/task"
)

// TransformShard copies one shard, chunk by chunk, from its checkpoint on.
func (c *Copy) TransformShard(ctx context.Context, run *kind.Run, in task.ShardInput) (task.ShardResult, error) {
	dbs, err := open(ctx, run)
	if err != nil {
		return task.ShardResult{}, err
	}
	items, err := load(ctx, run)
	if err != nil {
		return task.ShardResult{}, err
	}
	conn, err := dbs.to.Acquire(ctx)
	if err != nil {
		return task.ShardResult{}, err
	}
	sound := false
	defer func() {
		if sound {
			conn.Release()
			return
		}
		// A session that an error may have left in an unknown state is not used again.
		conn.Destroy()
	}()
	result, err := run.Attempt(ctx, in, conn.Session(), func(lease *ledger.Lease) error {
		it, err := find(items, lease.Table)
		if err != nil {
			return err
		}
		if err := unchanged(ctx, dbs.from, it); err != nil {
			return err
		}
		hook.At("shard claimed")
		w := &shardCopy{run: run, dbs: dbs, item: it, lease: lease, conn: conn,
			sizer: shard.NewSizer(shard.DefaultLimits.For(it.Source.Rows, it.Source.Bytes)), began: time.Now()}
		return w.do(ctx)
	})
	sound = err == nil
	return result, err
}

// unchanged refuses to go on when the source's table is not what was planned.
func unchanged(ctx context.Context, from source, it *item) error {
	now, err := from.Table(ctx, it.Source.Name)
	if err != nil {
		return err
	}
	if engine.Definition(now) != engine.Definition(it.Source) {
		return fault.About(it.target(), task.Config,
			"the definition of %s has changed since the migration began: put it back and retry, or roll back and start a new migration", it.source())
	}
	return nil
}

// shardCopy is one attempt at one shard.
type shardCopy struct {
	run   *kind.Run
	dbs   *databases
	item  *item
	lease *ledger.Lease
	conn  *postgres.Conn
	sizer *shard.Sizer
	began time.Time
	rows  int64 // copied by this attempt
}

func (w *shardCopy) do(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	left := w.lease.Range
	if w.lease.Checkpoint != nil {
		left.After = w.lease.Checkpoint
	}
	f := newFeed(w.dbs.from, w.item, left, w.sizer, w.run)
	go f.run(ctx)
	w.beat(0, 0)
	r := &chunkReader{ctx: ctx, feed: f}
	for {
		more, err := r.begin()
		if err != nil {
			return err
		}
		if !more {
			return fault.New(task.Stopping, "stopped at %s", w.lease.Checkpoint)
		}
		if err := w.write(ctx, r); err != nil {
			return err
		}
		if r.end.last {
			return nil
		}
	}
}

// write loads one chunk and records it, in one transaction.
func (w *shardCopy) write(ctx context.Context, r *chunkReader) error {
	began := time.Now()
	tx, err := w.conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	hook.At("before load")
	loaded, err := tx.Load(ctx, w.item.Target.Name, w.item.Row.TargetColumns(), r)
	if err != nil {
		return w.explain(ctx, r, err)
	}
	if loaded != r.end.rows {
		return fmt.Errorf("%s: %d rows were read and %d were loaded in the chunk from %s", w.item.target(), r.end.rows, loaded, r.end.bounds)
	}
	p := ledger.Progress{Checkpoint: r.end.bounds.Until, Rows: r.end.rows, Bytes: r.end.bytes, Done: r.end.last}
	if err := w.lease.Advance(ctx, tx, p); err != nil {
		return err
	}
	hook.At("before commit")
	commit := time.Now()
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	committed := time.Since(commit)
	w.run.Throttle.Committed(committed)
	hook.At("after commit")
	w.lease.Committed(p)
	w.rows += p.Rows
	took := time.Since(began)
	w.sizer.Done(p.Rows, p.Bytes, took)
	w.sizer.Commit(p.Rows, committed, w.run.Throttle.CommitLimit())
	w.beat(p.Rows, took)
	return nil
}

func (w *shardCopy) beat(chunkRows int64, took time.Duration) {
	h := task.Heartbeat{Phase: task.Transform, Table: w.lease.Label(), Shard: w.lease.No, Rows: w.lease.Rows, RowsTotal: max(w.lease.RowsEstimate, w.lease.Rows),
		Bytes: w.lease.Bytes, ChunkRows: chunkRows, ChunkSeconds: took.Seconds()}
	if w.lease.Checkpoint != nil {
		h.Checkpoint = shortKey(w.lease.Checkpoint)
	}
	if took := time.Since(w.began).Seconds(); took > 0 {
		h.RowsPerSecond = float64(w.rows) / took
	}
	if h.RowsTotal > 0 {
		h.Percent = 100 * float64(h.Rows) / float64(h.RowsTotal)
	}
	w.run.Beat(h)
}

func shortKey(k engine.Key) string {
	const most = 100
	text := k.String()
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}

// explain finds the row that the target has refused.
func (w *shardCopy) explain(ctx context.Context, r *chunkReader, cause error) error {
	var refusal *pgconn.PgError
	if class, known := postgres.Classify(cause); !known || class != task.Data || !errors.As(cause, &refusal) {
		return cause
	}
	d := postgres.Describe(refusal)
	bounds, keyed := w.chunkBounds(r)
	if !keyed || d.Line == 0 {
		return fault.About(w.item.target(), task.Data, "%s → %s, in the rows %s: %w%s", w.item.source(), w.item.target(), bounds, cause, detail(d))
	}
	raw, err := w.sourceRow(ctx, bounds, d.Line)
	if err != nil {
		return errors.Join(cause, err)
	}
	columns := []string{d.Column}
	if d.Column == "" {
		if columns, err = w.dbs.to.ConstraintColumns(ctx, w.item.Target.Name, d.Constraint); err != nil {
			return errors.Join(cause, err)
		}
	}
	return fault.About(w.item.target(), task.Data, "%s, row %s%s: refused by %s: %w", w.item.source(), w.item.keyText(raw), w.item.valuesText(raw, columns), w.item.target(), cause)
}

// sourceRow reads the row at a line of a chunk again.
func (w *shardCopy) sourceRow(ctx context.Context, bounds engine.Range, line int64) ([][]byte, error) {
	sel := w.item.sourceSelect(bounds)
	sel.Limit, sel.Offset = 1, line-1
	stream, err := w.dbs.from.Stream(ctx, sel)
	if err != nil {
		return nil, err
	}
	defer stream.Close() //nolint:errcheck // Next tells
	row, err := stream.Next()
	if err != nil {
		return nil, fmt.Errorf("the row at line %d after %s cannot be read again: %w", line, bounds.After, err)
	}
	// The slices are the stream's.
	kept := make([][]byte, len(row))
	for i, value := range row {
		kept[i] = bytes.Clone(value)
	}
	return kept, nil
}

func detail(d postgres.Description) string {
	if d.Detail == "" {
		return ""
	}
	return ": " + d.Detail
}

// chunkBounds are those of the chunk that is being loaded. Its end may not be
// read yet, so its upper bound is the shard's then; the row is found by its
// distance from the lower one.
func (w *shardCopy) chunkBounds(r *chunkReader) (engine.Range, bool) {
	bounds := w.lease.Range
	if w.lease.Checkpoint != nil {
		bounds.After = w.lease.Checkpoint
	}
	if r.end != nil {
		bounds = r.end.bounds
	}
	return bounds, len(w.item.Source.Key) > 0
}

// valuesText shows the values of the target's columns that a refusal is about.
func (it *item) valuesText(raw [][]byte, columns []string) string {
	text := ""
	for _, name := range columns {
		for i := range it.Row.Columns {
			if it.Row.Columns[i].Target == name {
				text += fmt.Sprintf(", column %s, value %s", name, show(raw[i]))
			}
		}
	}
	return text
}
