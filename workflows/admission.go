package workflows

import (
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

const (
	// askEvery is how often a migration that waits makes sure that Capacity
	// has its claim, and every so many times it claims anew.
	askEvery  = time.Minute
	claimEach = 10
)

// seat is the migration's place among those that use the same connections, as
// it knows of it.
type seat struct {
	No     int    `json:"no,omitempty"`     // claims made
	Wanted bool   `json:"wanted,omitempty"` // it has, or waits for, a place
	Held   bool   `json:"held,omitempty"`
	Known  string `json:"known,omitempty"` // the Capacity that has the claim
	// Allotted is how many shards may run at once, Counts what Capacity counts
	// until it hears of less, and Wish what it was asked for.
	Allotted int `json:"allotted,omitempty"`
	Counts   int `json:"counts,omitempty"`
	Wish     int `json:"wish,omitempty"`
	// From and Grant are the last message from Capacity.
	From  string `json:"from,omitempty"`
	Grant int    `json:"grant,omitempty"`
}

// countsIn reports whether the run takes part in the sharing of connections:
// one that was begun by an earlier version does not, until it continues as new.
func countsIn(ctx workflow.Context) bool {
	return workflow.GetVersion(ctx, "capacity", workflow.DefaultVersion, 1) >= 1
}

// admit waits for a place before a phase begins. Pauses and endings may come
// meanwhile; limits of the spec do not count.
func (m *migration) admit(p phase) error {
	if p.name == task.Cutover && m.settings.manualCutover() && m.st.Approved == nil && !m.st.Recheck {
		return nil // first an operator is waited for
	}
	scope, stop := workflow.WithCancel(m.life)
	m.stop = stop
	defer func() {
		stop()
		m.stop = nil
	}()
	return m.acquire(scope)
}

// acquire waits until the migration has a place on all of its connections.
// Its error is errInterrupted or errContinue.
func (m *migration) acquire(scope workflow.Context) error {
	s := &m.st.Seat
	if !m.counted || s.Held || m.st.cutOver() {
		return nil
	}
	m.queued = true
	defer func() { m.queued = false }()
	for asked := 0; !s.Held; asked++ {
		timer, stop := startTimer(scope, m.ask(scope, asked), "ask again for a place")
		m.await(scope, func() bool { return s.Held || timer.IsReady() })
		over := timer.IsReady()
		stop()
		switch {
		case scope.Err() != nil:
			return errInterrupted
		case s.Held:
		case !over:
			return errContinue
		case m.st.Recorded != task.Pending && m.st.Plan != nil: // before that the ledger does not know it
			m.record("waits for capacity", "of "+m.connections(), m.st.Error)
		}
	}
	return nil
}

// ask sees to it that Capacity has the claim, and returns when to ask again.
func (m *migration) ask(scope workflow.Context, asked int) time.Duration {
	s := &m.st.Seat
	if !s.Wanted {
		s.No++
		s.Wanted, s.Wish = true, 1
	}
	in := task.ClaimInput{Queue: m.queue, Claim: m.claim(), Known: s.Known}
	if asked%claimEach == 0 {
		in.Known = ""
	}
	var out task.Claimed
	err := workflow.ExecuteLocalActivity(asking(scope, "ask for a place"), task.ClaimPlaceActivity, in).Get(scope, &out)
	switch {
	case err != nil && scope.Err() == nil:
		m.st.note(workflow.Now(m.life), "no place could be asked for: "+judge(err, m.st.Phase).Message)
		return recordedWait
	case asked == 0:
		s.Known = out.Chain
		return recordedWait // then the ledger is told, if it takes longer
	}
	s.Known = out.Chain
	return askEvery
}

// claim is what the migration has and wants.
func (m *migration) claim() task.Claim {
	s := &m.st.Seat
	c := task.Claim{ID: m.ref.ID, Chain: m.chain, Run: m.runID, No: s.No}
	if !s.Wanted {
		c.Released = true
		return c
	}
	c.Connections, c.Priority, c.Since, c.Wish = m.settings.connections(m.in.Ledger), m.settings.Priority, m.st.StartedAt, s.Wish
	if s.Held {
		c.Held = max(1, s.Counts)
	}
	return c
}

// unseat gives the place back, or up the wait for one.
func (m *migration) unseat() {
	if s := &m.st.Seat; s.Wanted {
		*s = seat{No: s.No + 1, From: s.From, Grant: s.Grant}
		m.inform()
	}
}

// inform sends the claim to the Capacity that is there. When none is, nobody
// has to know: the next one asks.
func (m *migration) inform() {
	claim := m.claim()
	m.informing++
	workflow.GoNamed(m.life, "inform capacity", func(ctx workflow.Context) {
		_ = workflow.SignalExternalWorkflow(ctx, task.CapacityID(m.queue), "", task.ClaimSignal, claim).Get(ctx, nil)
		m.informing--
	})
}

// granted takes what Capacity allows.
func (m *migration) granted(raw converter.RawValue) {
	var g task.Grant
	s := &m.st.Seat
	switch {
	case decode(raw.Payload().GetData(), &g) != nil || g.Chain != m.chain || g.Shards < 1:
		return
	case g.From == s.From && g.No <= s.Grant:
		return
	}
	s.From, s.Grant = g.From, g.No
	if !s.Wanted { // a claim came late and was taken for a new one
		s.No++
		m.inform()
		return
	}
	s.Held, s.Allotted, s.Counts = true, g.Shards, max(s.Counts, g.Shards)
	m.balance()
}

// announce says again what the migration holds: Capacity has lost its book.
func (m *migration) announce(converter.RawValue) {
	if m.counted {
		m.st.Seat.No++
		m.inform()
	}
}

// balance tells Capacity when the migration runs no more shards than it is
// allotted, and when it wants more or much less than it said.
func (m *migration) balance() {
	s := &m.st.Seat
	if !s.Held {
		return
	}
	wish, counts := s.Wish, s.Allotted
	if m.window != nil {
		wish, counts = m.window.wish(), max(counts, len(m.window.running))
	}
	if counts >= s.Counts && wish <= s.Wish && 2*wish > s.Wish {
		return
	}
	s.Counts, s.Wish = counts, wish
	s.No++
	m.inform()
}

// wish is how many shards would run at once if nobody else wanted any.
func (w *window) wish() int {
	return max(1, min(w.wanted(), len(w.open)+len(w.running)+len(w.m.st.Queue)))
}

// allowed is how many shards may run at once.
func (m *migration) allowed(wanted int) int {
	if !m.st.Seat.Held {
		return wanted
	}
	return min(wanted, max(1, m.st.Seat.Allotted))
}

// connections are the names of all connections that a migration uses, sorted.
func (s *settings) connections(ledger string) []string {
	var names []string
	for _, name := range []string{s.own.Source, s.own.Target, s.own.Database, ledger} {
		if name != "" {
			names = append(names, task.FoldConnection(name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// connections are their names in words.
func (m *migration) connections() string {
	names := m.settings.connections(m.in.Ledger)
	if len(names) == 1 {
		return "connection " + names[0]
	}
	return "connections " + strings.Join(names, " and ")
}
