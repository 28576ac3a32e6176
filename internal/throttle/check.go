package throttle

import (
	"context"
	"strings"
	"sync"
	"time"

	"godwit/internal/connection"
	"godwit/internal/fault"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// checkTime limits the first look of a guard: it may have to connect.
const checkTime = 10 * time.Second

// Check looks once with every guard of a spec that has a throttle. What somebody
// has to mend, a connection that is not known, a privilege that is missing, a
// query that does not work, comes back as one fault of class config. What only
// holds at the moment, or does not answer, is not an error: the migration holds
// until that is over.
func Check(ctx context.Context, connections *connection.Registry, s *spec.Spec, written string) error {
	q := question{watch: NewWatch(connections), limits: s.Throttle, written: written, read: Databases(s, written), first: unchanged, commit: unmeasured}
	definitions := q.definitions()
	refused := make([]string, len(definitions))
	var looks sync.WaitGroup
	for i, d := range definitions {
		looks.Go(func() {
			limited, cancel := context.WithTimeout(ctx, checkTime)
			defer cancel()
			if _, _, err := d.probe(limited); mendable(err) {
				refused[i] = "throttle." + d.name + ": " + err.Error()
			}
		})
	}
	looks.Wait()
	var lines []string
	for _, line := range refused {
		if line != "" {
			lines = append(lines, line)
		}
	}
	if s.Throttle.MaxLag > 0 && len(q.replication()) == 0 {
		lines = append(lines, "throttle.max_lag: nothing would be watched: name connections to replicas (throttle.replicas)")
	}
	if len(lines) == 0 {
		return nil
	}
	return fault.New(task.Config, "%s", strings.Join(lines, "\n"))
}

// mendable reports whether somebody has to mend it.
func mendable(err error) bool {
	if err == nil {
		return false
	}
	if f := fault.Of(err); f != nil {
		return f.Class == task.Config
	}
	return refusedByServer(err)
}

// unchanged is the first reading of a migration that has not begun.
func unchanged(_ context.Context, _ string, now int64) (int64, error) { return now, nil }

// unmeasured stands for the small writes of a migration that has no ledger yet.
func unmeasured(context.Context) (float64, string, error) { return 0, "", nil }
