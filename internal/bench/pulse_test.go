package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

const (
	pulseRate    = 500 // statements a second
	pulseClients = 16
)

// pulse is an application that updates single rows at a steady rate. When all its
// clients wait, it leaves beats out: so of whoever blocks it, the longest
// statement and the rate tell more than percentiles.
type pulse struct {
	f       *field
	end     context.CancelFunc
	beating sync.WaitGroup

	mu       sync.Mutex
	began    time.Time
	took     []time.Duration
	failures map[string]int // by their text
	skipped  int
}

// beat starts one.
func (f *field) beat() *pulse {
	ctx, cancel := context.WithCancel(context.Background())
	p := &pulse{f: f, end: cancel, began: time.Now(), failures: map[string]int{}}
	f.db.SetMaxIdleConns(2 * pulseClients)
	free := make(chan struct{}, pulseClients)
	p.beating.Go(func() {
		ticker := time.NewTicker(time.Second / pulseRate)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			select {
			case free <- struct{}{}:
				p.beating.Go(func() {
					p.update()
					<-free
				})
			default:
				p.mu.Lock()
				p.skipped++
				p.mu.Unlock()
			}
		}
	})
	return p
}

func (p *pulse) update() {
	began := time.Now()
	_, err := p.f.db.Exec(fmt.Sprintf("UPDATE orders SET seen = seen + 1 WHERE id = %d", 1+rand.IntN(*benchRows)))
	took := time.Since(began)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failures[err.Error()]++
		return
	}
	p.took = append(p.took, took)
}

// felt is what an application has felt.
type felt struct {
	p50, p99, longest time.Duration
	rate              float64
	failed            int
	failures          map[string]int
}

// stop ends it, and makes sure that every update that it was told of is there.
func (p *pulse) stop(b *testing.B) felt {
	p.end()
	p.beating.Wait()
	var sum int
	if err := p.f.db.QueryRow("SELECT sum(seen) FROM orders").Scan(&sum); err != nil || sum != len(p.took) {
		b.Errorf("%d updates were acknowledged, and %d are in the table (%v)", len(p.took), sum, err)
	}
	f := felt{rate: float64(len(p.took)) / time.Since(p.began).Seconds(), failures: p.failures}
	for _, n := range p.failures {
		f.failed += n
	}
	if slices.Sort(p.took); len(p.took) > 0 {
		f.p50, f.p99, f.longest = p.took[len(p.took)/2], p.took[len(p.took)*99/100], p.took[len(p.took)-1]
	}
	return f
}
