package digest

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"godwit/internal/engine"
	"godwit/internal/task"
)

// Form is what Diff has to know of the rows: how a value is compared and
// shown, on either side. *codec.Row is one.
type Form interface {
	// Name is the name of column i.
	Name(i int) string
	CanonSource(i int, dst, raw []byte) ([]byte, error)
	CanonTarget(i int, dst, raw []byte) ([]byte, error)
	// ShowSource and ShowTarget show a value to a human, shortened so that two
	// that differ look different; nil is NULL.
	ShowSource(i int, raw []byte) string
	ShowTarget(i int, raw []byte) string
}

// Options say how Diff goes about it.
type Options struct {
	// Table is the name that differences are reported under.
	Table string
	// Report is how many differences are described at the most.
	Report int
	// Rechecks is how often a difference is read again, each time after Delay,
	// before it counts: rows may have changed between the reading of the two sides.
	Rechecks int
	Delay    time.Duration
	// Progress, when it is not nil, is told the rows and bytes of the source in
	// each of the passes.
	Progress func(rows, bytes int64)

	maxRows   int // hashes held in memory at once
	maxPasses int // spent on counting what is not described
	buckets   int // as a power of two
}

func (o Options) withDefaults() Options {
	if o.maxRows == 0 {
		o.maxRows = 1 << 16
	}
	if o.maxPasses == 0 {
		o.maxPasses = 16
	}
	if o.buckets == 0 {
		o.buckets = 16
	}
	return o
}

// Diff finds the rows that are not the same on both sides: the first
// opts.Report of them, and how many there are in all. key are the positions of
// the columns that identify a row; without them a row is identified by all of
// its values, and how often it is there counts. Both sides are read several
// times, each time from their beginning to their end. The total is exact
// unless there are so many differences that counting them would take too many
// passes; then it is the least that there are. A total of 0 means that both
// sides are the same.
func Diff(ctx context.Context, source, target func(context.Context) (engine.Stream, error), form Form, key []int, opts Options) ([]task.Difference, int64, error) {
	d := &differ{form: form, key: key, opts: opts.withDefaults(), sides: [2]side{
		{open: source, canon: form.CanonSource, show: form.ShowSource, progress: opts.Progress},
		{open: target, canon: form.CanonTarget, show: form.ShowTarget},
	}}
	for try := 0; ; try++ {
		found, total, err := d.search(ctx)
		if err != nil {
			return nil, 0, err
		}
		// When all that was looked at turns out to be the same by now, but more
		// was found than was looked at, look again.
		if len(found) > 0 || total == 0 || try == opts.Rechecks {
			return found[:min(len(found), opts.Report)], total, nil
		}
	}
}

type differ struct {
	form  Form
	key   []int
	opts  Options
	sides [2]side // source, target
}

// side is one of the two that are compared.
type side struct {
	open     func(context.Context) (engine.Stream, error)
	canon    Canon
	show     func(i int, raw []byte) string
	progress func(rows, bytes int64)
}

// search goes from buckets to keys to rows.
func (d *differ) search(ctx context.Context) ([]task.Difference, int64, error) {
	buckets, err := d.readBuckets(ctx)
	if err != nil {
		return nil, 0, err
	}
	differing, err := buckets[0].Differing(buckets[1])
	if err != nil || len(differing) == 0 {
		return nil, 0, err
	}
	suspects, total, err := d.findSuspects(ctx, buckets, differing)
	if err != nil {
		return nil, 0, err
	}
	return d.examine(ctx, suspects, total)
}

func (d *differ) readBuckets(ctx context.Context) (buckets [2]*Buckets, err error) {
	err = d.read(ctx, func(ctx context.Context, i int, s engine.Stream, h *Hasher) (err error) {
		buckets[i], err = ReadBuckets(ctx, s, h, d.key, d.opts.buckets, d.sides[i].progress)
		return err
	})
	return buckets, err
}

// read opens both sides and has each read, at the same time.
func (d *differ) read(ctx context.Context, f func(ctx context.Context, i int, s engine.Stream, h *Hasher) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range d.sides {
		group.Go(func() error {
			s, err := d.sides[i].open(ctx)
			if err != nil {
				return err
			}
			err = f(ctx, i, s, NewHasher(d.sides[i].canon))
			if closed := s.Close(); err == nil {
				err = closed
			}
			return err
		})
	}
	return group.Wait()
}
