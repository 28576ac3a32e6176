package capture

import (
	"context"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// mostRivals bounds the rows that are written anew because they are in the way
// of others.
const mostRivals = 2000

// replaceKept removes the rows of keys and writes those that there are, with the
// values that nothing but the old row has. A row that is held back would lose
// these: so when it is tolerant, the rows in the way are written anew, too.
func (l *Local) replaceKept(ctx context.Context, tx engine.Querier, keys []engine.Key, tolerant bool) (held []engine.Key, err error) {
	if tolerant {
		if keys, err = l.withRivals(ctx, tx, keys); err != nil {
			return nil, err
		}
	}
	aside, err := l.DB.SetAside(l.Projection, keys)
	if err != nil {
		return nil, err
	}
	for _, statement := range aside {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return nil, err
		}
	}
	_, err = l.replace(ctx, tx, keys, false)
	if err != nil && tolerant && l.IsClash(err) { // what is in the way has come just now
		err = fault.About(l.Projection.Into.Name.String(), task.Busy, "unique values of %s are being exchanged: %w", l.Capture.Table.Name, err)
	}
	if err != nil {
		return nil, err
	}
	for _, statement := range l.DB.PutBack(l.Projection) {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// withRivals adds to keys those of the rows that are in their way, and in the
// way of these.
func (l *Local) withRivals(ctx context.Context, tx engine.Querier, keys []engine.Key) ([]engine.Key, error) {
	seen := make(map[string]bool, len(keys))
	for _, key := range keys {
		seen[key.String()] = true
	}
	for next := keys; len(next) > 0 && len(keys) < mostRivals; {
		clashes, err := l.Clashes(ctx, tx, next)
		if err != nil {
			return nil, err
		}
		next = nil
		for _, c := range clashes {
			if name := c.Rival.String(); !seen[name] {
				seen[name] = true
				next = append(next, c.Rival)
			}
		}
		keys = append(keys[:len(keys):len(keys)], next...)
	}
	return keys, nil
}
