package throttle

import (
	"time"

	"godwit/internal/engine/postgres"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// followers tells how far behind the standbys and slots of a PostgreSQL server
// are. The server's own account of it (replay_lag) stands still when a standby
// does, so the server's position is noted at every look: a follower is behind
// since the server passed the position that the follower has.
type followers struct {
	passed []passed
	seen   map[string]int // standbys by name, and how many of that name
}

// passed is when the server had got to a position.
type passed struct {
	position int64
	at       time.Time
}

// mostPassed is how many looks are remembered; older lags are at least that.
const mostPassed = 3600

func newFollowers() *followers { return &followers{seen: map[string]int{}} }

// look returns the lag of the slowest, and who it is. A standby that was there
// and is not any more is an error: nobody knows how far behind it is.
func (f *followers) look(now time.Time, found []postgres.Follower, position int64) (lag time.Duration, who string, err error) {
	if len(f.passed) == 0 || f.passed[len(f.passed)-1].position < position {
		f.passed = append(f.passed, passed{position, now})
	}
	if len(f.passed) > mostPassed {
		f.passed = f.passed[1:]
	}
	there := map[string]int{}
	for _, follower := range found {
		if follower.Attached {
			there[follower.Name]++
		}
		if behind := f.behind(now, follower); behind > lag {
			lag, who = behind, follower.Name
			if !follower.Attached {
				who += ", which nobody reads"
			}
		}
	}
	for name, count := range there {
		f.seen[name] = max(f.seen[name], count)
	}
	for name, count := range f.seen {
		if there[name] < count {
			return 0, "", fault.New(task.Transient, "%s does not stream any more", name)
		}
	}
	return lag, who, nil
}

func (f *followers) behind(now time.Time, follower postgres.Follower) time.Duration {
	if follower.Behind == 0 {
		return 0
	}
	for _, p := range f.passed {
		if p.position > follower.Position {
			return max(follower.Lag, now.Sub(p.at))
		}
	}
	return follower.Lag
}
