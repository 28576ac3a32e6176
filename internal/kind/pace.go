package kind

import (
	"context"
	"math/rand/v2"
	"time"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// KeepTouching says that the work goes on while one statement runs that may
// take long, until stop is called.
func (run *Run) KeepTouching() (stop func()) {
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				run.Touch()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// Bounds of the wait before another try for a lock.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 2 * time.Second
)

// Pause waits before another try, longer with every one, up to some seconds.
// When the call is to end meanwhile, that is a fault of class stopping.
func (run *Run) Pause(ctx context.Context, tries int) error {
	wait := min(lastPause, firstPause<<min(tries, 7))
	select {
	case <-time.After(wait/2 + rand.N(wait)):
		return nil
	case <-run.Stop:
		return fault.New(task.Stopping, "stopped while it waited for a lock")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
