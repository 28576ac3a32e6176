package workflows

import (
	"cmp"
	"math"
	"slices"

	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// mostPassed is how many later migrations may pass one that waits, where they
// take a connection that it needs as well. From then on what it needs is kept
// free for it.
const mostPassed = 4

// place is the place of one migration, or its wait for one.
type place struct {
	task.Claim
	// Told is how many shards it may run at once; 0 while it waits.
	Told int `json:"told,omitempty"`
	// Counts is how many it counts for: not less than Told, and more until it
	// has come down to what it was told.
	Counts int `json:"counts,omitempty"`
	// Sent is what it was told last; it differs from Told while a message is
	// on its way.
	Sent int `json:"sent,omitempty"`
	// Passed is how many later ones were let in that took what it waits for.
	Passed int `json:"passed,omitempty"`

	telling bool // a coroutine brings it what it may
}

// book is who holds what and who waits. Places are in the order of the queue:
// by priority, then by age.
type book struct {
	Places []*place               `json:"places"`
	Limits map[string]task.Limits `json:"limits"`
	Grants int                    `json:"grants"` // messages sent
}

func (b *book) find(id string) *place {
	for _, p := range b.Places {
		if p.ID == id {
			return p
		}
	}
	return nil
}

func (b *book) drop(p *place) {
	b.Places = slices.DeleteFunc(b.Places, func(q *place) bool { return q == p })
}

func (b *book) holders() []*place { return b.which(true) }
func (b *book) waiting() []*place { return b.which(false) }

func (b *book) which(holding bool) (found []*place) {
	for _, p := range b.Places {
		if (p.Told > 0) == holding {
			found = append(found, p)
		}
	}
	return found
}

// learn takes over limits that a worker has told.
func (b *book) learn(limits map[string]task.Limits) {
	for _, c := range workflow.DeterministicKeys(limits) {
		b.Limits[c] = limits[c]
	}
}

// take books what a migration says of itself.
func (b *book) take(c task.Claim) {
	p := b.find(c.ID)
	if p != nil && p.Chain != c.Chain { // another migration has its id now
		b.drop(p)
		p = nil
	}
	switch {
	case p != nil && c.Run == p.Run && c.No < p.No:
		return
	case c.Released:
		if p != nil {
			b.drop(p)
		}
		return
	case p == nil:
		p = &place{}
		b.Places = append(b.Places, p)
	}
	b.learn(c.Limits)
	c.Limits = nil
	p.Claim = c
	switch {
	case c.Held == 0 && p.Told > 0:
		p.Sent = 0 // what it was told has not come to it
	case c.Held > 0 && p.Told == 0: // it was let in by a book that is lost
		p.Told, p.Sent, p.Counts = c.Held, c.Held, c.Held
	case c.Held > 0:
		p.Counts = max(p.Told, c.Held)
	}
	slices.SortStableFunc(b.Places, func(x, y *place) int {
		return cmp.Or(cmp.Compare(x.Priority, y.Priority), x.Since.Compare(y.Since), cmp.Compare(x.ID, y.ID))
	})
}

// shards is how many shards may run on a connection; without end where no
// worker knows it: the preflight says so.
func (b *book) shards(connection string) int {
	if l, known := b.Limits[connection]; known {
		return max(1, l.Shards)
	}
	return math.MaxInt
}

// migrations is how many migrations may use a connection. Each of them has a
// shard at the least.
func (b *book) migrations(connection string) int {
	if l, known := b.Limits[connection]; known {
		return min(max(1, l.Migrations), b.shards(connection))
	}
	return math.MaxInt
}

// arrange lets in who has a place now, and shares out the shards.
func (b *book) arrange() {
	chosen := b.choose()
	seated := slices.DeleteFunc(slices.Clone(b.Places), func(p *place) bool { return p.Told == 0 && !slices.Contains(chosen, p) })
	fair := b.share(seated)
	for i, p := range seated {
		p.Told = min(p.Told, fair[i])
	}
	free := b.free()
	b.admit(chosen, free)
	b.grow(seated, fair, free)
}

// choose finds those that wait and have a place on all of their connections.
// One that has none may be passed by later ones, but not for ever.
func (b *book) choose() (chosen []*place) {
	used := map[string]int{}
	for _, p := range b.holders() {
		use(used, p, 1)
	}
	kept := map[string]bool{} // connections that are kept free
	for _, p := range b.waiting() {
		full := func(c string) bool { return kept[c] || used[c] >= b.migrations(c) }
		switch {
		case !slices.ContainsFunc(p.Connections, full):
			use(used, p, 1)
			chosen = append(chosen, p)
		case p.Passed >= mostPassed:
			for _, c := range p.Connections {
				kept[c] = true
			}
		}
	}
	return chosen
}

func use(used map[string]int, p *place, n int) {
	for _, c := range p.Connections {
		used[c] += n
	}
}

// share is how many shards each ought to run: one at the least, and of the rest
// as much as it wants, as long as nobody has to have less for it who has not
// more (max-min fairness).
func (b *book) share(seated []*place) []int {
	fair, used := make([]int, len(seated)), map[string]int{}
	for i, p := range seated {
		fair[i] = 1
		use(used, p, 1)
	}
	for grew := true; grew; {
		grew = false
		for i, p := range seated {
			full := func(c string) bool { return used[c] >= b.shards(c) }
			if fair[i] < p.Wish && !slices.ContainsFunc(p.Connections, full) {
				fair[i]++
				use(used, p, 1)
				grew = true
			}
		}
	}
	return fair
}

// free is how many shards more may run on each connection.
func (b *book) free() map[string]int {
	free := map[string]int{}
	for _, p := range b.Places {
		for _, c := range p.Connections {
			free[c] = b.shards(c)
		}
	}
	for _, p := range b.holders() {
		use(free, p, -p.Counts)
	}
	return free
}

// admit lets in the chosen, one shard each. Where none is free yet, the next
// one that is will be theirs.
func (b *book) admit(chosen []*place, free map[string]int) {
	for _, p := range chosen {
		room := !slices.ContainsFunc(p.Connections, func(c string) bool { return free[c] < 1 })
		use(free, p, -1)
		if !room {
			continue
		}
		p.Told, p.Counts = 1, 1
		for _, earlier := range b.Places {
			if earlier == p {
				break
			}
			if earlier.Told == 0 && !slices.Contains(chosen, earlier) && meet(earlier, p) {
				earlier.Passed++
			}
		}
	}
}

// meet reports whether two use the same connection.
func meet(x, y *place) bool {
	return slices.ContainsFunc(x.Connections, func(c string) bool { return slices.Contains(y.Connections, c) })
}

// grow gives those that run what is free, up to what is fair.
func (b *book) grow(seated []*place, fair []int, free map[string]int) {
	for grew := true; grew; {
		grew = false
		for i, p := range seated {
			if p.Told == 0 || p.Told >= fair[i] {
				continue
			}
			if p.Told == p.Counts {
				if slices.ContainsFunc(p.Connections, func(c string) bool { return free[c] < 1 }) {
					continue
				}
				p.Counts++
				use(free, p, -1)
			}
			p.Told++
			grew = true
		}
	}
}

// status tells how everything stands.
func (b *book) status() task.CapacityStatus {
	out := task.CapacityStatus{Connections: []task.ConnectionUse{}, Running: []task.PlaceStatus{}, Waiting: []task.PlaceStatus{}}
	uses := map[string]*task.ConnectionUse{}
	for _, p := range b.Places {
		for _, c := range p.Connections {
			if uses[c] == nil {
				uses[c] = &task.ConnectionUse{}
			}
			if p.Told == 0 {
				uses[c].Waiting++
				continue
			}
			uses[c].Migrations++
			uses[c].Shards += p.Counts
		}
	}
	for _, c := range workflow.DeterministicKeys(b.Limits) {
		if uses[c] == nil {
			uses[c] = &task.ConnectionUse{}
		}
	}
	for _, c := range workflow.DeterministicKeys(uses) {
		uses[c].Connection, uses[c].Limits = c, b.Limits[c]
		out.Connections = append(out.Connections, *uses[c])
	}
	for _, p := range b.Places {
		s := task.PlaceStatus{ID: p.ID, Connections: p.Connections, Priority: p.Priority, Since: p.Since, Wish: p.Wish, Shards: p.Told}
		if p.Told > 0 {
			out.Running = append(out.Running, s)
			continue
		}
		s.Queue = b.queuePlace(p, uses)
		out.Waiting = append(out.Waiting, s)
	}
	return out
}

// queuePlace is the place of one that waits, at the connection that it waits for.
func (b *book) queuePlace(p *place, uses map[string]*task.ConnectionUse) *task.QueuePlace {
	if len(p.Connections) == 0 {
		return nil
	}
	busiest := slices.MaxFunc(p.Connections, func(x, y string) int {
		full := func(c string) int { return uses[c].Migrations - b.migrations(c) }
		return cmp.Or(cmp.Compare(full(x), full(y)), cmp.Compare(uses[x].Waiting, uses[y].Waiting))
	})
	q := &task.QueuePlace{Connection: busiest, Running: uses[busiest].Migrations, Of: uses[busiest].Waiting}
	if _, known := b.Limits[busiest]; known {
		q.Limit = b.migrations(busiest)
	}
	for _, w := range b.waiting() {
		if slices.Contains(w.Connections, busiest) {
			q.Place++
		}
		if w == p {
			break
		}
	}
	return q
}

// surveyInput asks about everybody who is in the book.
func (b *book) surveyInput(queue string) task.SurveyInput {
	in := task.SurveyInput{Queue: queue}
	for _, p := range b.Places {
		in.Known = append(in.Known, task.Claim{ID: p.ID, Chain: p.Chain})
		in.Connections = append(in.Connections, p.Connections...)
	}
	slices.Sort(in.Connections)
	in.Connections = slices.Compact(in.Connections)
	return in
}
