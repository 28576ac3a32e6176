package throttle

import (
	"slices"
	"sync"
	"time"
)

const (
	// latencies are how many commits decide, so that a single slow one does not.
	latencies = 5
	// latencyAge is how long a commit counts.
	latencyAge = 10 * time.Second
)

// latency is how long the last commits took.
type latency struct {
	mu   sync.Mutex
	last []commit
}

type commit struct {
	took time.Duration
	at   time.Time
}

func (l *latency) add(now time.Time, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last = append(l.last, commit{took, now}); len(l.last) > latencies {
		l.last = l.last[1:]
	}
}

// median is that of the commits that count, 0 for none.
func (l *latency) median(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var took []time.Duration
	for _, c := range l.last {
		if now.Sub(c.at) <= latencyAge {
			took = append(took, c.took)
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)/2]
}
