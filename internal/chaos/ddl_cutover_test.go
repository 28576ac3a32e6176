package chaos

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bankSize is how many accounts a bank has.
func bankSize() int64 {
	if *rounds > 1 {
		return 50_000
	}
	return 10_000
}

// cutovers is how many follow each other: in the long form as many as are
// promised to lose nothing.
func cutovers(few int) int {
	if *rounds > 1 {
		return 50
	}
	return few
}

// longestStall is what anybody may have to wait at a cut-over: cutover.timeout.
const longestStall = 3 * time.Second

// TestCutoversUnderBusyWritersLoseNothing does not run besides others: the
// writers take the whole machine, and what they wait is measured.
func TestCutoversUnderBusyWritersLoseNothing(t *testing.T) {
	pace := lively
	if *rounds > 1 {
		pace = busily
	}
	onEveryBank(t, bankSize(), pace, func(b *bank) {
		count := cutovers(1)
		before := b.things()
		b.worker()
		b.open()
		began := time.Now()
		for i := range count {
			keep := "keep_old: 0s"
			if i%3 == 1 {
				keep = "keep_old: 1s" // the old table follows the new one for that long
			}
			b.altered(keep)
		}
		took, done, longest := time.Since(began), b.done(), b.longest()
		refused := b.balance()
		b.t.Logf("%d cut-overs in %.0f s, %.0f transactions/s, refused %v, the longest statement %s", count, took.Seconds(), float64(done)/took.Seconds(), refused, longest)
		require.Less(b.t, longest.took, longestStall)
		require.Empty(b.t, b.beside())
		if count%len(b.forms()) == 0 {
			require.Equal(b.t, before, b.things())
		}
		b.isUnlocked()
		if !b.postgres() {
			b.costsNoMoreThanPlainRenames(count, refused["1213"])
		}
	})
}

// costsNoMoreThanPlainRenames compares how many transactions were ended for a
// deadlock with what as many statements cost under the same writers that do
// nothing but to change names.
func (b *bank) costsNoMoreThanPlainRenames(count, deadlocks int) {
	b.t.Helper()
	b.open()
	for range count {
		time.Sleep(300 * time.Millisecond)
		b.exec("RENAME TABLE accounts TO accounts__x, accounts__x TO accounts")
	}
	time.Sleep(300 * time.Millisecond)
	plain := b.balance()["1213"]
	b.t.Logf("%d deadlocks in %d cut-overs, %d in as many plain RENAMEs", deadlocks, count, plain)
	require.LessOrEqual(b.t, deadlocks, 2*plain+count+tellerCount/2, "no more, but for chance")
}

// TestCutoversWhoseWorkersAreKilledAtRandomMomentsLoseNothing ends a worker at
// any moment and starts the next one, again and again.
func TestCutoversWhoseWorkersAreKilledAtRandomMomentsLoseNothing(t *testing.T) {
	pace := gently
	if *rounds > 1 {
		pace = busily
	}
	onEveryBank(t, bankSize(), pace, func(b *bank) {
		count := cutovers(2)
		stop := b.killWorkers(count)
		b.open()
		for i := range count {
			b.altered([]string{"keep_old: 0s", "keep_old: 1s"}[i%2])
		}
		kills := stop()
		longest := b.longest()
		refused := b.balance()
		b.t.Logf("%d cut-overs, %d workers killed, refused %v, the longest statement %s", count, kills, refused, longest)
		require.Less(b.t, longest.took, longestStall+2*time.Second, "a lock goes with its worker")
		require.Empty(b.t, b.beside())
		b.isUnlocked()
	})
}

// killWorkers runs one worker after the other, each for some moments, so many
// in all and then one that stays. It returns how many it has killed.
func (b *bank) killWorkers(most int) (stop func() int) {
	random := dice(b.t)
	var ending sync.WaitGroup
	ended := make(chan struct{})
	kills := 0
	ending.Go(func() {
		for {
			w := b.worker()
			if kills == most {
				return
			}
			select {
			case <-ended:
				return
			case <-time.After(time.Second + time.Duration(random.IntN(5000))*time.Millisecond):
			}
			w.kill()
			kills++
		}
	})
	return func() int {
		close(ended)
		ending.Wait()
		return kills
	}
}

// cutoverPlaces are those that a cut-over comes to, in their order.
func (b *bank) cutoverPlaces() []string {
	if b.postgres() {
		return []string{"cut-over begins", "names looked at", "before lock", "locked", "drained under lock", "before rename", "after rename", "swapped"}
	}
	return []string{"cut-over begins", "names looked at", "before lock", "locked", "drained under lock", "before rename", "rename waits", "before unlock", "after rename"}
}

// copyPlaces are those that come before it.
var copyPlaces = []string{"shadow made", "capture made", "before change", "before commit", "after commit", "changelog read", "before drain commit", "drained",
	"before build", "built", "verify begins", "shard compared"}

// TestCutoversWhoseWorkersAreKilledAtEveryPlaceLoseNothing takes an alteration
// through the places at which it matters what has been done: at each a worker
// kills itself, and the next one goes on. The short form picks some.
func TestCutoversWhoseWorkersAreKilledAtEveryPlaceLoseNothing(t *testing.T) {
	t.Parallel()
	onEveryBank(t, bankSize(), gently, func(b *bank) {
		random := dice(b.t)
		cutover := b.cutoverPlaces()
		places := []string{copyPlaces[random.IntN(len(copyPlaces))], cutover[random.IntN(len(cutover))]}
		if *rounds > 1 {
			places = append(append([]string{}, copyPlaces...), cutover...)
		}
		b.open()
		for _, place := range places {
			w := b.worker(place + ":1:kill")
			m := b.alter("keep_old: 1s", "shards: {rows: 4000, parallel: 2}", "indexes: after")
			w.awaitDead()
			next := b.worker()
			m.succeeds()
			m.awaitOver()
			next.stop()
			require.Empty(b.t, b.beside(), place)
			longest := b.longest()
			b.balance()
			b.t.Logf("killed at %s, the longest statement %s", place, longest)
			b.open()
		}
	})
}

// TestCutoversWhoseSessionsAreKilledAtEveryPlaceLoseNothing ends the session that
// has the lock, and the one that is to change the names, while the worker is held
// up. The short form does one of each.
func TestCutoversWhoseSessionsAreKilledAtEveryPlaceLoseNothing(t *testing.T) {
	t.Parallel()
	onEveryBank(t, bankSize(), gently, func(b *bank) {
		type end struct {
			place   string
			renamer bool
		}
		var ends []end
		for _, place := range b.cutoverPlaces()[3:] {
			switch place {
			case "swapped", "after rename":
				if b.postgres() && place == "after rename" {
					ends = append(ends, end{place, false})
				}
			case "rename waits", "before unlock":
				ends = append(ends, end{place, false}, end{place, true})
			default:
				ends = append(ends, end{place, false})
			}
		}
		if *rounds == 1 {
			ends = []end{ends[dice(b.t).IntN(len(ends))], ends[len(ends)-1]}
		}
		b.open()
		for _, e := range ends {
			g := newGate(b.t)
			w := b.worker(g.at(e.place))
			m := b.alter("keep_old: 1s")
			g.reached()
			session := m.session()
			if e.renamer {
				session = m.renamer()
			}
			b.end(session)
			g.open()
			m.succeeds()
			m.awaitOver()
			w.stop()
			require.Empty(b.t, b.beside(), fmt.Sprint(e))
			longest := b.longest()
			b.balance()
			b.t.Logf("ended at %s (renamer: %v), the longest statement %s", e.place, e.renamer, longest)
			require.Less(b.t, longest.took, longestStall+2*time.Second)
			b.open()
		}
	})
}
