package capture

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"godwit/internal/engine"
	"godwit/internal/engine/mysql"
	"godwit/internal/engine/postgres"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/shard"
	"godwit/internal/task"
)

// batchLimits bound the entries that are drained in one transaction. It is a
// small one: the application's writers feel its commit.
var batchLimits = shard.Limits{Target: 200 * time.Millisecond, MaxBytes: 16 << 20, Start: 200, Min: 1, Max: 2000}

const (
	// mostBusy is how often a batch is tried that meets a lock or a deadlock.
	mostBusy        = 60
	tolerantBatches = 20
	// firstPause and lastPause bound the time between two tries.
	firstPause, lastPause = 10 * time.Millisecond, time.Second
)

// Drainer brings a copy up to date by a changelog. It is for one goroutine. Two
// at once, a frozen worker's and its successor's, do no harm.
type Drainer struct {
	db      Database
	capture *engine.Capture
	session Session
	sink    Sink
	covered func(context.Context) (Coverage, error)
	sizer   *shard.Sizer
	held    map[string]int // in how many sweeps a row was held back
	// tolerant is for how many batches after a clash others are expected.
	tolerant int

	// Wait is called before a batch of so many entries; nil for no wait.
	Wait func(ctx context.Context, entries int64) error
}

// Session is where the transactions are: an engine.Session or an engine.DB.
type Session interface {
	Begin(ctx context.Context) (engine.Tx, error)
}

// NewDrainer makes a Drainer of a changelog. Coverage is asked for anew with
// each sweep.
func NewDrainer(db Database, c *engine.Capture, session Session, sink Sink, covered func(context.Context) (Coverage, error)) *Drainer {
	return &Drainer{db: db, capture: c, session: session, sink: sink, covered: covered, sizer: shard.NewSizer(batchLimits), held: map[string]int{}}
}

// Drained counts what a sweep has done.
type Drained struct {
	Entries int64 // that are gone from the changelog
	Keys    int64 // that were read again
}

// Sweep goes through the changelog once and drains what is covered, in batches.
// Entries that come meanwhile, or were committed late, are left to the next one.
func (d *Drainer) Sweep(ctx context.Context) (Drained, error) {
	var done Drained
	covered, err := d.covered(ctx)
	if err != nil {
		return done, err
	}
	// Up to its end as it is now: one that grows as fast as it is drained has none.
	last, err := d.db.LastEntry(ctx, d.capture)
	if err != nil {
		return done, err
	}
	for w := (engine.Window{Until: last, Ranges: covered.Ranges, Whole: covered.Whole}); ; {
		limit := d.sizer.Rows()
		if d.Wait != nil {
			if err := d.Wait(ctx, limit); err != nil {
				return done, err
			}
		}
		entries, err := d.db.Entries(ctx, d.db, d.capture, w, limit)
		if err != nil || len(entries) == 0 {
			return done, err
		}
		hook.At("changelog read")
		w.After = entries[len(entries)-1].ID
		if err := d.drain(ctx, entries, &done); err != nil {
			return done, err
		}
	}
}

// drain drains a batch, whatever comes in its way for a moment.
func (d *Drainer) drain(ctx context.Context, entries []engine.Entry, done *Drained) error {
	busy := 0
	for {
		began := time.Now()
		keys, err := d.transact(ctx, entries)
		switch {
		case err == nil:
			d.sizer.Done(int64(len(entries)), 0, time.Since(began))
			done.Entries += int64(len(entries))
			done.Keys += keys
			hook.At("drained")
			return nil
		case d.sink.IsClash(err) && d.tolerant == 0:
			d.tolerant = tolerantBatches
			continue
		case isBusy(err) && busy < mostBusy:
			busy++
			d.sizer.Halve()
			err = pause(ctx, busy)
		case classOf(err) == task.Data && len(entries) > 1:
			// Of what is done one by one, all is drained but the row that cannot be.
			half := len(entries) / 2
			if err := d.drain(ctx, entries[:half], done); err != nil {
				return err
			}
			return d.drain(ctx, entries[half:], done)
		case classOf(err) == task.Data && fault.Of(err) == nil:
			return d.unfit(entries[0], err)
		}
		if err != nil {
			return err
		}
	}
}

// unfit is the fault of a row that the copy has no place for.
func (d *Drainer) unfit(e engine.Entry, cause error) error {
	name := d.capture.Table.Name.String()
	return fault.About(name, task.Data, "%s, row %s: what has been written to it has no place in the new form: %w; mend the row, and retry", name, d.capture.Table.RowName(e.Key), cause)
}

// transact drains a batch in one transaction and returns how many keys it had.
func (d *Drainer) transact(ctx context.Context, entries []engine.Entry) (int64, error) {
	tx, err := d.session.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	if err := d.db.HoldDoor(ctx, tx, d.capture); err != nil {
		return 0, err
	}
	keys, emptied := Distinct(entries)
	held, err := d.sink.Refresh(ctx, tx, keys, emptied, d.tolerant > 0)
	if err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, d.db.ForgetEntries(d.capture, entries)); err != nil {
		return 0, err
	}
	if err := d.judge(ctx, tx, held); err != nil {
		return 0, err
	}
	if err := note(ctx, tx, d.db, d.capture, held); err != nil {
		return 0, err
	}
	hook.At("before drain commit")
	if err := tx.Commit(ctx); err != nil {
		return 0, err
	}
	d.tolerant = max(0, d.tolerant-1)
	d.remember(keys, held)
	return int64(len(keys) - len(held)), nil
}

// Distinct are the keys of entries, each once, and whether one says that the
// table was emptied. Keys are told apart byte for byte: which of them are the
// same to the server is its own business.
func Distinct(entries []engine.Entry) (keys []engine.Key, emptied bool) {
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		if e.Key == nil {
			emptied = true
			continue
		}
		if name := e.Key.String(); !seen[name] {
			seen[name] = true
			keys = append(keys, e.Key)
		}
	}
	return keys, emptied
}

// finishBatch is how many entries are read, and removed, by one statement of Finish.
const finishBatch = 1000

// Finish drains everything in the caller's transaction, in which the table is
// locked against writes and every shard is done: at the cut-over. Rows that
// exchange unique values are in nobody's way, since all are removed before any is
// written; so all entries are in memory at once. What comes in its way is an
// error, the caller gives up and tries later. On MySQL, under LOCK TABLES, the
// statements name the table, the copy and the changelog by their own names, once
// each.
func (d *Drainer) Finish(ctx context.Context, tx engine.Querier) (Drained, error) {
	if err := d.db.HoldDoor(ctx, tx, d.capture); err != nil {
		return Drained{}, err
	}
	var entries []engine.Entry
	for w := (engine.Window{Until: math.MaxInt64, Whole: true}); ; {
		more, err := d.db.Entries(ctx, tx, d.capture, w, finishBatch)
		if err != nil {
			return Drained{}, err
		}
		if len(more) == 0 {
			break
		}
		entries = append(entries, more...)
		w.After = more[len(more)-1].ID
	}
	keys, emptied := Distinct(entries)
	if _, err := d.sink.Refresh(ctx, tx, keys, emptied, false); err != nil {
		return Drained{}, err
	}
	for part := range slices.Chunk(entries, finishBatch) {
		if _, err := tx.Exec(ctx, d.db.ForgetEntries(d.capture, part)); err != nil {
			return Drained{}, err
		}
	}
	return Drained{Entries: int64(len(entries)), Keys: int64(len(keys))}, nil
}

// isBusy reports whether an error may not come again: a lock that was not to be
// had, a deadlock.
func isBusy(err error) bool { return classOf(err) == task.Busy }

// classOf is the class of a fault, or of a driver's error.
func classOf(err error) task.Class {
	if known := fault.Of(err); known != nil {
		return known.Class
	}
	class, _ := mysql.Classify(err)
	if class == "" {
		class, _ = postgres.Classify(err)
	}
	return class
}

// pause waits before another try, longer with every one.
func pause(ctx context.Context, tries int) error {
	wait := min(lastPause, firstPause<<min(tries, 10))
	select {
	case <-time.After(wait/2 + rand.N(wait)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
