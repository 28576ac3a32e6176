package digest

import (
	"context"

	"godwit/internal/engine"
)

// suspect is a key whose rows are not the same on both sides.
type suspect struct {
	key    Hash
	weight int64 // rows that differ
}

// keyedRow is a row's key and the whole of it.
type keyedRow struct{ key, row Hash }

// findSuspects reads the rows of the differing buckets again, as many buckets
// at a time as fit into memory. It returns the first of the keys that differ,
// and how many rows do in all.
func (d *differ) findSuspects(ctx context.Context, buckets [2]*Buckets, differing []int) (suspects []suspect, total int64, err error) {
	enough := max(d.opts.Report, 1)
	for pass := 0; len(differing) > 0; pass++ {
		if len(suspects) >= enough && pass >= d.opts.maxPasses {
			return suspects, total + atLeast(buckets, differing), nil
		}
		group := d.group(buckets, differing)
		differing = differing[len(group):]
		found, err := d.readGroup(ctx, buckets[0], group)
		if err != nil {
			return nil, 0, err
		}
		for _, s := range found {
			total += s.weight
			if len(suspects) < enough {
				suspects = append(suspects, s)
			}
		}
	}
	return suspects, total, nil
}

// group takes the first buckets whose rows fit into memory together, and at
// least one.
func (d *differ) group(buckets [2]*Buckets, differing []int) []int {
	var rows int64
	for n, i := range differing {
		rows += buckets[0].sums[i].Rows + buckets[1].sums[i].Rows
		if n > 0 && rows > int64(d.opts.maxRows) {
			return differing[:n]
		}
	}
	return differing
}

// atLeast is how many rows differ at the least in buckets that are not looked into.
func atLeast(buckets [2]*Buckets, differing []int) (total int64) {
	for _, i := range differing {
		difference := buckets[0].sums[i].Rows - buckets[1].sums[i].Rows
		total += max(1, difference, -difference)
	}
	return total
}

// readGroup counts the rows of a group of buckets on both sides and returns
// the keys for which the counts are not the same.
func (d *differ) readGroup(ctx context.Context, b *Buckets, group []int) ([]suspect, error) {
	wanted := make([]bool, len(b.sums))
	for _, i := range group {
		wanted[i] = true
	}
	var counts [2]map[keyedRow]int64
	err := d.read(ctx, func(ctx context.Context, i int, s engine.Stream, h *Hasher) error {
		counts[i] = map[keyedRow]int64{}
		return each(ctx, s, d.sides[i].progress, func(raw [][]byte) error {
			key, row, err := hashes(h, raw, d.key)
			if err == nil && wanted[b.of(key)] {
				counts[i][keyedRow{key, row}]++
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return compareCounts(counts[0], counts[1]), nil
}

// compareCounts takes the rows of both sides off against each other.
func compareCounts(source, target map[keyedRow]int64) []suspect {
	surplus := map[Hash]*[2]int64{}
	add := func(key Hash, side int, rows int64) {
		if rows <= 0 {
			return
		}
		if surplus[key] == nil {
			surplus[key] = new([2]int64)
		}
		surplus[key][side] += rows
	}
	for row, n := range source {
		add(row.key, 0, n-target[row])
	}
	for row, n := range target {
		add(row.key, 1, n-source[row])
	}
	suspects := make([]suspect, 0, len(surplus))
	for key, rows := range surplus {
		suspects = append(suspects, suspect{key: key, weight: max(rows[0], rows[1])})
	}
	return suspects
}
