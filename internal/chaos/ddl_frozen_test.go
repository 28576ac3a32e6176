package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
)

// deathTimer is how long a worker that is frozen can keep everybody out: what the
// server waits for it, and what that takes to be seen.
const deathTimer = 5 * time.Second

// TestAWorkerFrozenInACutoverKeepsNobodyOutForLongerThanTheDeathTimer does not
// run besides others, since what the writers wait is measured.
func TestAWorkerFrozenInACutoverKeepsNobodyOutForLongerThanTheDeathTimer(t *testing.T) {
	for _, kind := range sandbox.Kinds() {
		places := []string{"locked", "rename waits"}
		if kind == sandbox.Postgres {
			places = []string{"locked", "after rename"}
		}
		for _, place := range places {
			t.Run(string(kind)+" frozen at "+place, func(t *testing.T) {
				t.Parallel()
				b := newBank(t, kind, 5000, gently)
				zombie := b.worker(place + ":1:stop")
				b.open()
				m := b.alter("keep_old: 1s")
				zombie.awaitFrozen()
				frozen := time.Now()
				before := b.done()
				await(t, deathTimer, "the application to go on", func() bool { return b.done() > before+2*tellerCount })
				t.Logf("the application went on %s after the worker was frozen", time.Since(frozen).Round(10*time.Millisecond))
				successor := b.worker()
				m.succeeds()
				zombie.thaw()
				m.awaitOver()
				longest := b.longest()
				b.balance()
				t.Logf("the longest statement %s", longest)
				require.Less(t, longest.took, deathTimer)
				require.Empty(t, b.beside())
				b.isUnlocked()
				if *rounds == 1 {
					return
				}
				// The woken worker is one like any other again.
				successor.stop()
				b.open()
				b.altered("keep_old: 0s")
				b.balance()
			})
		}
	}
}
