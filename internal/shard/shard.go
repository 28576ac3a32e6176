// Package shard decides how big the pieces of a table are: shards, the unit
// of scheduling and retrying, and chunks, the unit of commit.
//
// It promises that a number of rows that it proposes is at least 1. It leaves
// the bounds themselves to the database that has the table, since only that
// can compare keys.
package shard

// DefaultRows is how many rows a shard has, about, when the spec does not say,
// and RewriteRows where each row is changed in place, which takes longer.
const (
	DefaultRows = 250_000
	RewriteRows = 125_000
)

const (
	// wantedShards is how many shards a big table is cut into: many more than
	// run at once, so that skew evens out, and few enough that the history of
	// a migration stays small (six events for each shard and phase).
	wantedShards = 24
	// mostRows is the largest shard: what a shard without a checkpoint would
	// have to do again.
	mostRows = 5_000_000
)

// Rows returns how many rows each shard of a table should have. The spec's
// wish wins; otherwise it is what is usual for the kind of work, and more for a
// table so big that it would make too many shards.
func Rows(wish, total, usual int64) int64 {
	if wish > 0 {
		return wish
	}
	return min(max(usual, total/wantedShards), mostRows)
}
