package capture

import (
	"slices"

	"godwit/internal/engine"
	"godwit/internal/ledger"
)

// Coverage are the keys that a copy has passed.
type Coverage struct {
	// Whole says that it has passed all of them, and those that will come.
	Whole  bool
	Ranges []engine.Range
}

// Covered tells what the shards of a copy have passed, as the ledger has them:
// each shard up to its checkpoint. Shards have to be read outside of any
// transaction of their own, since only what is committed counts.
func Covered(shards []ledger.Shard) Coverage {
	c := Coverage{Whole: len(shards) > 0}
	for i := range shards {
		s := &shards[i]
		passed := engine.Range{After: s.Range.After, Until: s.Checkpoint}
		if s.State == ledger.ShardDone {
			passed.Until = s.Range.Until
		} else {
			c.Whole = false
			if s.Checkpoint == nil {
				continue
			}
		}
		c.add(passed)
	}
	return c
}

// add joins a range with the one that it goes on from.
func (c *Coverage) add(r engine.Range) {
	if n := len(c.Ranges); n > 0 && r.After != nil && slices.Equal(c.Ranges[n-1].Until, r.After) {
		c.Ranges[n-1].Until = r.Until
		return
	}
	c.Ranges = append(c.Ranges, r)
}
