package copydb

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBlockRangesCoverATableExactlyOnce(t *testing.T) {
	for _, blocks := range []int64{0, 1, 2, 3, 7, 100, 12345} {
		for _, n := range []int{1, 2, 3, 5, 24} {
			var next int64
			for i := range n {
				r := blockRange(blocks, i, n)
				if r == nil {
					continue
				}
				require.Equal(t, next, r.From, "%d blocks in %d parts: part %d begins where the last one ended", blocks, n, i)
				next = r.Until
				if i == n-1 {
					require.Zero(t, r.Until, "the last part is open above")
					continue
				}
				require.Positive(t, r.Until, "no other part is open above")
			}
			require.Zero(t, next, "%d blocks in %d parts: the last part was there", blocks, n)
		}
	}
}
