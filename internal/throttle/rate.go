// Package throttle holds work back so that the databases keep serving their
// applications.
//
// It promises that waiting ends at once when the context does. What is to be
// limited, and by how much, is the spec's and the operator's to say.
package throttle

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate limits rows per second. The limit can be changed while it is used.
type Rate struct {
	mu      sync.Mutex
	limiter *rate.Limiter
	limit   float64 // rows per second, 0 for none
}

// NewRate returns a Rate of so many rows per second; 0 for no limit.
func NewRate(limit float64) *Rate {
	r := &Rate{limiter: rate.NewLimiter(rate.Inf, 0)}
	r.Set(limit)
	return r
}

// Set changes the limit, in rows per second; 0 for no limit.
func (r *Rate) Set(limit float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if limit == r.limit {
		return
	}
	r.limit = limit
	if limit <= 0 {
		r.limiter.SetLimit(rate.Inf)
		return
	}
	r.limiter.SetBurst(max(1, int(limit)))
	r.limiter.SetLimit(rate.Limit(limit))
	// Nothing has been saved up: many shards in a row would add it up.
	r.limiter.AllowN(time.Now(), r.limiter.Burst())
}

// Chunk cuts a number of rows down to what the limit lets through in about a
// second, so that the work flows instead of coming in gushes.
func (r *Rate) Chunk(rows int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limit <= 0 {
		return rows
	}
	return max(1, min(rows, int64(r.limit)))
}

// Reason says what is being waited for; empty without a limit.
func (r *Rate) Reason() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limit <= 0 {
		return ""
	}
	return fmt.Sprintf("rows_per_second: this shard's part is %.0f", r.limit)
}

// Wait blocks until so many rows may be worked on.
func (r *Rate) Wait(ctx context.Context, rows int64) error {
	for rows > 0 {
		r.mu.Lock()
		if r.limit <= 0 {
			r.mu.Unlock()
			return ctx.Err()
		}
		step := min(rows, int64(r.limiter.Burst()))
		wait := r.limiter.ReserveN(time.Now(), int(step)).Delay()
		r.mu.Unlock()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
		rows -= step
	}
	return nil
}
