package workflows

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// newBook is a book of connections with their limits, {migrations, shards}.
func newBook(limits map[string][2]int) *book {
	b := &book{Limits: map[string]task.Limits{}}
	for c, l := range limits {
		b.Limits[c] = task.Limits{Migrations: l[0], Shards: l[1]}
	}
	return b
}

var bookTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// asks books a claim; who asks later is younger.
func (b *book) asks(id string, priority, wish int, connections ...string) {
	b.take(task.Claim{ID: id, Chain: id, No: 1, Priority: priority, Wish: wish, Connections: connections, Since: bookTime.Add(time.Duration(len(b.Places)) * time.Second)})
	b.arrange()
}

// says books that a migration is at most at so many shards.
func (b *book) says(id string, held int) {
	c := b.find(id).Claim
	c.No, c.Held = c.No+1, held
	b.take(c)
	b.arrange()
}

func (b *book) leaves(id string) {
	c := b.find(id).Claim
	b.take(task.Claim{ID: id, Chain: c.Chain, Run: c.Run, No: c.No + 1, Released: true})
	b.arrange()
}

// told is how many shards each may run, by id.
func (b *book) told() map[string]int {
	told := map[string]int{}
	for _, p := range b.holders() {
		told[p.ID] = p.Told
	}
	return told
}

func (b *book) queue() (ids []string) {
	for _, p := range b.waiting() {
		ids = append(ids, p.ID)
	}
	return ids
}

func TestThoseWhoWaitAreOrderedByPriorityThenAge(t *testing.T) {
	b := newBook(map[string][2]int{"shop": {1, 8}})
	b.asks("first", 3, 1, "shop")
	b.asks("old", 3, 1, "shop")
	b.asks("young", 3, 1, "shop")
	b.asks("late", 5, 1, "shop")
	b.asks("urgent", 1, 1, "shop")
	require.Equal(t, []string{"urgent", "old", "young", "late"}, b.queue())
	for _, next := range []string{"urgent", "old", "young", "late"} {
		for id := range b.told() {
			b.leaves(id)
		}
		require.Equal(t, map[string]int{next: 1}, b.told())
	}
}

func TestEverybodyWhoRunsHasAShardAndTheRestIsSharedFairly(t *testing.T) {
	b := newBook(map[string][2]int{"shop": {4, 10}})
	b.asks("greedy", 3, 64, "shop")
	require.Equal(t, map[string]int{"greedy": 10}, b.told())

	b.asks("modest", 3, 2, "shop")
	require.Equal(t, map[string]int{"greedy": 8}, b.told(), "it is told to run fewer, and nobody begins before it does")
	b.says("greedy", 9)
	require.Equal(t, map[string]int{"greedy": 8, "modest": 1}, b.told())
	b.says("greedy", 8)
	require.Equal(t, map[string]int{"greedy": 8, "modest": 2}, b.told())

	b.asks("hungry", 3, 64, "shop")
	b.says("greedy", b.told()["greedy"])
	require.Equal(t, map[string]int{"greedy": 4, "modest": 2, "hungry": 4}, b.told(), "what one does not want is shared by the others")

	b.leaves("modest")
	require.Equal(t, map[string]int{"greedy": 5, "hungry": 5}, b.told(), "what is given back grows at once")
}

func TestAMigrationGetsAllOfItsConnectionsOrNone(t *testing.T) {
	b := newBook(map[string][2]int{"a": {1, 8}, "b": {1, 8}})
	b.asks("one", 3, 1, "a")
	b.asks("both", 3, 1, "a", "b")
	b.asks("two", 3, 1, "b")
	require.Equal(t, map[string]int{"one": 1, "two": 1}, b.told(), "a connection is not kept from those who could use it")
	b.leaves("one")
	require.Equal(t, map[string]int{"two": 1}, b.told())
	b.leaves("two")
	require.Equal(t, map[string]int{"both": 1}, b.told())
}

func TestOneThatNeedsMoreIsPassedOnlySoOften(t *testing.T) {
	b := newBook(map[string][2]int{"a": {1, 8}, "b": {1, 8}})
	b.asks("holder", 3, 1, "a")
	b.asks("both", 3, 1, "a", "b")
	for i := range 10 {
		b.asks(fmt.Sprintf("small-%d", i), 3, 1, "b")
	}
	for i := range mostPassed {
		small := fmt.Sprintf("small-%d", i)
		require.Equal(t, map[string]int{"holder": 1, small: 1}, b.told())
		b.leaves(small)
	}
	require.Equal(t, map[string]int{"holder": 1}, b.told(), "from now on it is kept free")
	b.asks("urgent", 1, 1, "b")
	require.Equal(t, map[string]int{"holder": 1, "urgent": 1}, b.told(), "what is before it in the queue goes first")
	b.leaves("urgent")
	b.leaves("holder")
	require.Equal(t, map[string]int{"both": 1}, b.told())
}

func TestALimitBelowWhatIsUsedLetsNobodyInAndEndsNothing(t *testing.T) {
	b := newBook(map[string][2]int{"shop": {3, 9}})
	for _, id := range []string{"x", "y", "z", "w"} {
		b.asks(id, 3, 9, "shop")
		b.says("x", b.told()["x"])
		if id != "x" && b.told()["y"] > 0 {
			b.says("y", b.told()["y"])
		}
	}
	require.Equal(t, map[string]int{"x": 3, "y": 3, "z": 3}, b.told())
	b.learn(map[string]task.Limits{"shop": {Migrations: 1, Shards: 2}})
	b.arrange()
	require.Equal(t, map[string]int{"x": 1, "y": 1, "z": 1}, b.told())
	b.leaves("x")
	b.leaves("y")
	require.Equal(t, []string{"w"}, b.queue())
	b.leaves("z")
	require.Equal(t, map[string]int{"w": 2}, b.told())
}

func TestNoMoreMigrationsRunThanThereAreShardsForThem(t *testing.T) {
	b := newBook(map[string][2]int{"shop": {9, 2}})
	for i := range 5 {
		b.asks(fmt.Sprint(i), 3, 4, "shop")
		for id, told := range b.told() {
			b.says(id, told)
		}
	}
	require.Equal(t, map[string]int{"0": 1, "1": 1}, b.told())
	require.Equal(t, task.QueuePlace{Place: 1, Of: 3, Connection: "shop", Running: 2, Limit: 2}, *b.status().Waiting[0].Queue)
}

func TestAConnectionThatNoWorkerKnowsKeepsNobody(t *testing.T) {
	b := newBook(nil)
	for i := range 50 {
		b.asks(fmt.Sprint(i), 3, 4, "typo")
	}
	require.Empty(t, b.queue(), "the preflight says what is wrong")
}

func TestAClaimThatComesLateChangesNothing(t *testing.T) {
	b := newBook(map[string][2]int{"shop": {2, 8}})
	b.asks("x", 3, 4, "shop")
	late := b.find("x").Claim
	b.says("x", 4)
	b.take(late)
	require.Equal(t, 4, b.find("x").Held)
	b.leaves("x")
	require.Nil(t, b.find("x"))

	b.asks("x", 3, 4, "shop")
	b.says("x", 4)
	reset := b.find("x").Claim
	reset.Run, reset.No, reset.Held = "after a reset", 1, 0
	b.find("x").Sent = 4
	b.take(reset)
	require.Zero(t, b.find("x").Sent, "it is told again what it may")
}

func TestThePlaceInTheQueueIsThatAtTheConnectionThatIsMissing(t *testing.T) {
	b := newBook(map[string][2]int{"a": {9, 9}, "b": {1, 8}})
	b.asks("holder", 3, 1, "a", "b")
	for i := range 4 {
		b.asks(fmt.Sprint(i), 3, 1, "a", "b")
	}
	for i, w := range b.status().Waiting {
		require.Equal(t, fmt.Sprintf("capacity of connection b: place %d of 4 (1 of 1 migrations run)", i+1), w.Queue.String())
	}
	require.Equal(t, []task.ConnectionUse{
		{Connection: "a", Limits: task.Limits{Migrations: 9, Shards: 9}, Migrations: 1, Shards: 1, Waiting: 4},
		{Connection: "b", Limits: task.Limits{Migrations: 1, Shards: 8}, Migrations: 1, Shards: 1, Waiting: 4},
	}, b.status().Connections)
}

// TestWhateverComesTheLimitsHoldAndEverybodyHasATurn plays migrations that come,
// grow, shrink and go at random.
func TestWhateverComesTheLimitsHoldAndEverybodyHasATurn(t *testing.T) {
	for seed := range uint64(50) {
		dice := rand.New(rand.NewPCG(seed, 1))
		b := newBook(map[string][2]int{"a": {3, 5}, "b": {2, 6}, "c": {4, 4}})
		running, done, came := map[string]int{}, map[string]bool{}, 0
		for step := 0; len(done) < 60; step++ {
			require.Less(t, step, 20000, "seed %d: somebody waits for ever", seed)
			if came < 60 && dice.IntN(3) == 0 {
				connections := []string{"a", "b", "c"}
				dice.Shuffle(3, func(i, j int) { connections[i], connections[j] = connections[j], connections[i] })
				b.asks(fmt.Sprint(came), 1+dice.IntN(5), 1+dice.IntN(8), connections[:1+dice.IntN(2)]...)
				came++
			}
			for _, p := range slices.Clone(b.holders()) {
				switch dice.IntN(8) {
				case 0: // it begins as many as it may
					running[p.ID] = max(running[p.ID], p.Told)
				case 1: // one ends, and it says so
					running[p.ID] = max(0, running[p.ID]-1)
					b.says(p.ID, max(p.Told, running[p.ID]))
				case 2:
					b.leaves(p.ID)
					done[p.ID] = true
					delete(running, p.ID)
				}
				for _, c := range []string{"a", "b", "c"} {
					shards, migrations := 0, 0
					for _, h := range b.holders() {
						if slices.Contains(h.Connections, c) {
							require.LessOrEqual(t, running[h.ID], h.Counts)
							shards += h.Counts
							migrations++
						}
					}
					require.LessOrEqual(t, shards, b.shards(c), "seed %d, step %d", seed, step)
					require.LessOrEqual(t, migrations, b.migrations(c))
				}
			}
		}
	}
}
