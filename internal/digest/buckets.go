package digest

import (
	"context"
	"fmt"

	"godwit/internal/engine"
)

// Buckets are the Sums of a stream's rows in 2^k buckets by the hash of their
// keys. Two sides differ in the buckets whose Sums do, whatever order or
// collation either of them has.
type Buckets struct {
	sums  []Sum
	shift uint
}

// ReadBuckets reads a stream to its end into 2^k buckets, k up to 24, by the
// columns of the key (the whole row when there are none).
func ReadBuckets(ctx context.Context, s engine.Stream, h *Hasher, key []int, k int, progress func(rows, bytes int64)) (*Buckets, error) {
	b := &Buckets{sums: make([]Sum, 1<<k), shift: uint(64 - k)}
	err := each(ctx, s, progress, func(raw [][]byte) error {
		keyHash, rowHash, err := hashes(h, raw, key)
		b.sums[b.of(keyHash)].Add(rowHash)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range b.sums {
		b.sums[i].read = true
	}
	return b, nil
}

// hashes are those of a row's key and of the row.
func hashes(h *Hasher, raw [][]byte, key []int) (keyHash, rowHash Hash, err error) {
	if rowHash, err = h.Row(raw); err != nil || len(key) == 0 {
		return rowHash, rowHash, err
	}
	keyHash, err = h.Key(raw, key)
	return keyHash, rowHash, err
}

// of is the number of the bucket of a key.
func (b *Buckets) of(key Hash) int { return int(key.Hi >> b.shift) }

// Total is the Sum of all rows.
func (b *Buckets) Total() Sum {
	var total Sum
	for i := range b.sums {
		total.Merge(b.sums[i])
	}
	return total
}

// Differing are the numbers of the buckets that differ.
func (b *Buckets) Differing(o *Buckets) ([]int, error) {
	if len(b.sums) != len(o.sums) {
		return nil, fmt.Errorf("%d buckets cannot be compared with %d", len(b.sums), len(o.sums))
	}
	var differing []int
	for i := range b.sums {
		if !b.sums[i].Equal(o.sums[i]) {
			differing = append(differing, i)
		}
	}
	return differing, nil
}
