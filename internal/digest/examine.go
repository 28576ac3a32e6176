package digest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"godwit/internal/engine"
	"godwit/internal/task"
)

// maxImages is how many different rows of one key are kept for each side. More
// than one there are only where the key is not unique.
const maxImages = 16

// exhibit is what is known of one suspect.
type exhibit struct {
	order int // in which it came
	sums  [2]Sum
	// sides are the rows, the first ones when there are more than maxImages.
	sides [2][]*image
}

// image is a row as it is compared and shown, without the row's memory.
type image struct {
	row    Hash
	count  int64
	values []value
}

type value struct {
	hash  Hash
	shown string
}

// examine reads the suspects' rows in full, and again after a while those that
// still differ. It describes what remains, in the order of the source, and
// takes what does not off the total.
func (d *differ) examine(ctx context.Context, suspects []suspect, total int64) ([]task.Difference, int64, error) {
	for recheck := 0; ; recheck++ {
		exhibits, err := d.readExhibits(ctx, suspects)
		if err != nil {
			return nil, 0, err
		}
		remaining := suspects[:0:0]
		for _, s := range suspects {
			if exhibits[s.key].differs() {
				remaining = append(remaining, s)
			} else {
				total -= s.weight
			}
		}
		suspects = remaining
		if len(suspects) == 0 || recheck >= d.opts.Rechecks {
			return d.describeAll(suspects, exhibits), total, nil
		}
		if err := wait(ctx, d.opts.Delay); err != nil {
			return nil, 0, err
		}
	}
}

func wait(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readExhibits reads both sides and keeps the rows of the suspects.
func (d *differ) readExhibits(ctx context.Context, suspects []suspect) (map[Hash]*exhibit, error) {
	exhibits := make(map[Hash]*exhibit, len(suspects))
	for _, s := range suspects {
		exhibits[s.key] = &exhibit{order: 1 << 62}
	}
	err := d.read(ctx, func(ctx context.Context, i int, s engine.Stream, h *Hasher) error {
		order := 0
		return each(ctx, s, d.sides[i].progress, func(raw [][]byte) error {
			order++
			key, row, err := hashes(h, raw, d.key)
			if err != nil {
				return err
			}
			e := exhibits[key]
			if e == nil {
				return nil
			}
			if i == 0 {
				e.order = min(e.order, order)
			}
			return e.add(i, row, func() ([]value, error) { return d.values(h, i, raw) })
		})
	})
	return exhibits, err
}

// add notes a row of one side; the sides have a slice each, so that both can
// be read at the same time.
func (e *exhibit) add(side int, row Hash, values func() ([]value, error)) error {
	e.sums[side].Add(row)
	for _, im := range e.sides[side] {
		if im.row == row {
			im.count++
			return nil
		}
	}
	if len(e.sides[side]) == maxImages {
		return nil
	}
	kept, err := values()
	e.sides[side] = append(e.sides[side], &image{row: row, count: 1, values: kept})
	return err
}

func (d *differ) values(h *Hasher, side int, raw [][]byte) ([]value, error) {
	values := make([]value, len(raw))
	for i := range raw {
		hash, err := h.Key(raw, []int{i})
		if err != nil {
			return nil, err
		}
		values[i] = value{hash, d.sides[side].show(i, raw[i])}
	}
	return values, nil
}

// count is how often a row is there on a side.
func (e *exhibit) count(side int, row Hash) int64 {
	for _, im := range e.sides[side] {
		if im.row == row {
			return im.count
		}
	}
	return 0
}

// only are the rows that are on this side more often than on the other. Where
// the other side has more rows than are kept, one that is not there may be
// among the rest.
func (e *exhibit) only(side int) []*image {
	var images []*image
	for _, im := range e.sides[side] {
		n := e.count(1-side, im.row)
		if im.count > n && (n > 0 || len(e.sides[1-side]) < maxImages) {
			images = append(images, im)
		}
	}
	return images
}

func (e *exhibit) differs() bool {
	source, target := e.sums[0], e.sums[1]
	return source.Rows != target.Rows || source.Hi != target.Hi || source.Lo != target.Lo
}

func (d *differ) describeAll(suspects []suspect, exhibits map[Hash]*exhibit) []task.Difference {
	slices.SortStableFunc(suspects, func(a, b suspect) int {
		return cmp.Or(cmp.Compare(exhibits[a.key].order, exhibits[b.key].order), cmp.Compare(a.key.Hi, b.key.Hi))
	})
	var differences []task.Difference
	for _, s := range suspects {
		differences = append(differences, d.describe(exhibits[s.key])...)
	}
	return differences
}
