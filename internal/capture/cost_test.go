package capture_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
)

// BenchmarkWritersWithTriggers measures what noting changes costs the
// application: 8 writers of single-row updates flat out, by turns without and
// with the triggers, in one run. go test -bench Triggers -benchtime 1x
func BenchmarkWritersWithTriggers(b *testing.B) {
	for _, k := range sandbox.Kinds() {
		b.Run(string(k), func(b *testing.B) {
			r := newRigOn(b, sandboxtest.Start(b, k, sandbox.Options{Durable: true}))
			r.accounts(50_000)
			c := r.db.CaptureOf(r.table("accounts"))
			for range b.N {
				var without, with float64
				for range 4 { // by turns, since others use the machine as well
					without += r.updates(2 * time.Second)
					require.NoError(b, r.db.CreateCapture(context.Background(), c))
					with += r.updates(2 * time.Second)
					require.NoError(b, r.db.DropCapture(context.Background(), c))
				}
				b.ReportMetric(without/8, "updates/s")
				b.ReportMetric(with/8, "captured/s")
				b.ReportMetric(100*(1-with/without), "%cost")
			}
		})
	}
}

// updates counts what 8 writers commit in a while.
func (r *rig) updates(while time.Duration) float64 {
	var done atomic.Int64
	var wg sync.WaitGroup
	until := time.Now().Add(while)
	for no := range 8 {
		wg.Go(func() {
			for i := 0; time.Now().Before(until); i++ {
				id := 1 + (i*7919+no*104_729)%50_000
				if _, err := r.db.Exec(context.Background(), fmt.Sprintf("UPDATE %s SET n = n + 1 WHERE id = %d", r.quoted("accounts"), id)); err != nil {
					r.t.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(done.Load())
}
