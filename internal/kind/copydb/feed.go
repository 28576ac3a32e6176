package copydb

import (
	"context"
	"errors"
	"io"
	"runtime/debug"

	"golang.org/x/sync/semaphore"

	"godwit/internal/codec"
	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/shard"
	"godwit/internal/task"
	"godwit/internal/throttle"
)

const (
	blockSize = 128 << 10 // bytes of a buffer, unless a single row is larger
	blocks    = 6         // buffers of a feed
	// budget is how many bytes of rows are handed over and not yet written, so
	// that huge rows do not fill all of the buffers at once. A single row that
	// is larger goes alone.
	budget = 4 << 20
)

// feed reads a shard of the source chunk by chunk, encodes it for the target,
// and hands it over in buffers. It runs ahead of the writing as far as its
// buffers reach, so that reading, writing and committing overlap.
type feed struct {
	source source
	item   *item
	bounds engine.Range // what is left of the shard
	sizer  *shard.Sizer
	hold   *throttle.Share
	stop   <-chan struct{}
	touch  func() // says that the work goes on

	full  chan block
	free  chan []byte
	bytes *semaphore.Weighted
}

// block is a buffer full of rows, or the end of a chunk.
type block struct {
	data []byte
	end  *chunk
	err  error
}

// chunk is a stretch of the shard that is committed as one.
type chunk struct {
	bounds engine.Range
	rows   int64
	bytes  int64
	last   bool // the shard ends with it
}

func newFeed(src source, it *item, bounds engine.Range, sizer *shard.Sizer, run *kind.Run) *feed {
	f := &feed{source: src, item: it, bounds: bounds, sizer: sizer, hold: run.Throttle, stop: run.Stop, touch: run.Touch,
		full: make(chan block, blocks), free: make(chan []byte, blocks), bytes: semaphore.NewWeighted(budget)}
	for range blocks {
		f.free <- nil // made when it is needed: a small table needs few
	}
	return f
}

// run reads until the shard ends, a stop is asked for, or something fails; the
// error is handed over like a block. It closes full.
func (f *feed) run(ctx context.Context) {
	defer close(f.full)
	defer func() {
		// A worker serves many migrations: one must not take the others down.
		if r := recover(); r != nil {
			f.send(ctx, block{err: fault.New(task.Internal, "panic: %v\n%s", r, debug.Stack())})
		}
	}()
	for {
		select {
		case <-f.stop:
			return
		default:
		}
		c, err := f.next(ctx)
		if err == nil {
			err = f.read(ctx, c)
			hook.At("chunk read")
		}
		if err == nil && f.keyed() {
			// How many bytes it has is only known now, and how many rows the last
			// chunk has: what comes next waits for them.
			f.owe(c)
		}
		if err != nil {
			f.send(ctx, block{err: err})
			return
		}
		if !f.send(ctx, block{end: c}) || c.last {
			return
		}
		f.bounds.After = c.bounds.Until
	}
}

// next fixes the bound of the next chunk before it is read.
func (f *feed) next(ctx context.Context) (*chunk, error) {
	c := &chunk{bounds: f.bounds, last: true}
	if !f.keyed() {
		return c, f.hold.Wait(ctx, 0, 0)
	}
	rows := f.hold.Chunk(f.sizer.Rows())
	until, found, err := f.source.Bound(ctx, f.selection(f.bounds), rows)
	if err != nil {
		return nil, err
	}
	if !found {
		return c, f.hold.Wait(ctx, 0, 0)
	}
	c.bounds.Until, c.last = until, false
	return c, f.hold.Wait(ctx, rows, 0)
}

// owe tells the throttle of what next did not know of a chunk.
func (f *feed) owe(c *chunk) {
	rows := int64(0)
	if c.last {
		rows = c.rows
	}
	f.hold.Owe(rows, c.bytes)
}

// keyed reports whether the table can be read in chunks.
func (f *feed) keyed() bool { return len(f.item.Source.Key) > 0 }

func (f *feed) selection(bounds engine.Range) engine.Select {
	return f.item.sourceSelect(bounds)
}

// read streams one chunk into buffers.
func (f *feed) read(ctx context.Context, c *chunk) error {
	stream, err := f.source.Stream(ctx, f.selection(c.bounds))
	if err != nil {
		return err
	}
	defer stream.Close() //nolint:errcheck // Next tells
	buffer, err := f.buffer(ctx)
	if err != nil {
		return err
	}
	var waited chunk // rows and bytes that the throttle has let through
	for {
		raw, err := stream.Next()
		if err == io.EOF { //nolint:errorlint // a wrapped one is a broken connection
			break
		}
		if err != nil {
			return err
		}
		before := len(buffer)
		if buffer, err = f.item.Row.Append(buffer, raw); err != nil {
			return f.valueError(raw, err)
		}
		c.rows++
		c.bytes += int64(len(buffer) - before)
		if len(buffer) < blockSize {
			continue
		}
		if err := f.hand(ctx, buffer); err != nil {
			return err
		}
		if !f.keyed() {
			if err := f.hold.Pace(ctx, c.rows-waited.rows, c.bytes-waited.bytes); err != nil {
				return err
			}
			waited = *c
		}
		if buffer, err = f.buffer(ctx); err != nil {
			return err
		}
	}
	if len(buffer) == 0 {
		f.free <- buffer
		return nil
	}
	return f.hand(ctx, buffer)
}

// hand sends a buffer when its bytes are within the budget.
func (f *feed) hand(ctx context.Context, buffer []byte) error {
	f.touch()
	if err := f.bytes.Acquire(ctx, weight(buffer)); err != nil {
		return err
	}
	if !f.send(ctx, block{data: buffer}) {
		return context.Cause(ctx)
	}
	return nil
}

func weight(buffer []byte) int64 { return int64(min(len(buffer), budget)) }

func (f *feed) buffer(ctx context.Context) ([]byte, error) {
	select {
	case b := <-f.free:
		if b == nil {
			b = make([]byte, 0, blockSize+blockSize/4)
		}
		return b[:0], nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// send hands a block over; false when nobody takes it any more.
func (f *feed) send(ctx context.Context, b block) bool {
	select {
	case f.full <- b:
		return true
	case <-ctx.Done():
		return false
	}
}

// valueError names the row of a value that cannot be migrated.
func (f *feed) valueError(raw [][]byte, err error) error {
	var bad *codec.ValueError
	if !errors.As(err, &bad) {
		return err
	}
	return f.item.badValue(raw, bad)
}

// chunkReader is one chunk as the target's COPY reads it.
type chunkReader struct {
	ctx  context.Context
	feed *feed
	rest []byte // of the current block
	used []byte // the current block, to be given back
	end  *chunk
}

// begin waits for the first block of a chunk, so that no transaction is open
// while the source is still looking. It returns false when there is no chunk
// any more, because the shard is done or a stop was asked for.
func (r *chunkReader) begin() (bool, error) {
	r.end, r.rest = nil, nil
	select {
	case b, open := <-r.feed.full:
		if !open {
			return false, nil
		}
		return true, r.take(b)
	case <-r.ctx.Done():
		return false, context.Cause(r.ctx)
	}
}

func (r *chunkReader) take(b block) error {
	r.rest, r.used, r.end = b.data, b.data, b.end
	return b.err
}

// Read implements io.Reader over the blocks of one chunk.
func (r *chunkReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.used != nil {
			r.feed.touch()
			r.feed.bytes.Release(weight(r.used))
			r.feed.free <- r.recycled()
			r.used = nil
		}
		if r.end != nil {
			return 0, io.EOF
		}
		select {
		case b, open := <-r.feed.full:
			if !open {
				return 0, io.ErrUnexpectedEOF // a chunk always has an end
			}
			if err := r.take(b); err != nil {
				return 0, err
			}
		case <-r.ctx.Done():
			return 0, context.Cause(r.ctx)
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// recycled keeps an ordinary buffer and lets go of one that a huge row has
// blown up.
func (r *chunkReader) recycled() []byte {
	if cap(r.used) > 2*blockSize {
		return nil
	}
	return r.used
}
