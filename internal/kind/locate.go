package kind

import (
	"context"

	"godwit/internal/engine"
)

// Locate finds, by halving, the first row of a range that a piece of work fails
// for; nil when it fails for none. The range has about so many rows; fails
// tries the work for a part of it and leaves nothing behind.
func Locate(ctx context.Context, db Database, sel engine.Select, rows int64, fails func(ctx context.Context, part engine.Range) (bool, error)) (engine.Key, error) {
	left := sel.Range
	for {
		rows = max(1, rows/2)
		sel.Range = left
		until, found, err := db.Bound(ctx, sel, rows)
		if err != nil {
			return nil, err
		}
		if !found {
			if rows > 1 {
				continue
			}
			return nil, nil
		}
		half := engine.Range{After: left.After, Until: until}
		switch failed, err := fails(ctx, half); {
		case err != nil:
			return nil, err
		case failed && rows == 1:
			return until, nil
		case failed:
			left = half
		default:
			left.After = until
			rows *= 2 // the other part may be as big as this one
		}
	}
}
