package workflows

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

const (
	// surveyEvery is how often Capacity looks whether those in its book still
	// live, while somebody waits.
	surveyEvery = 30 * time.Second
	// censusLimit is how long a Capacity workflow that begins waits for those
	// that hold a place already.
	censusLimit = 10 * time.Second
)

// CapacityInput starts the Capacity workflow; only continue-as-new sets
// anything in it.
type CapacityInput struct {
	Carried *book `json:"carried,omitempty"`
}

// Capacity says which migrations of a task queue may run at the same time, so
// that no connection is used by more migrations and shards than its limits
// allow. It never ends. When it is terminated, the next migration that asks
// starts it again, and it asks those that run what they hold.
func Capacity(ctx workflow.Context, in CapacityInput) error {
	// A cancel request is no reason to stop: everybody would wait in vain.
	life, _ := workflow.NewDisconnectedContext(ctx)
	info := workflow.GetInfo(ctx)
	c := &capacity{
		ctx: life, queue: info.TaskQueueName, chain: info.FirstRunID, book: in.Carried,
		claims: workflow.GetSignalChannelWithOptions(life, task.ClaimSignal, workflow.SignalChannelOptions{Description: "From migrations: what they want and hold."}),
	}
	fresh := c.book == nil
	if fresh {
		c.book = &book{Limits: map[string]task.Limits{}}
	}
	err := workflow.SetQueryHandlerWithOptions(ctx, task.CapacityQuery, func() (task.CapacityStatus, error) { return c.book.status(), nil },
		workflow.QueryHandlerOptions{Description: "Who runs, who waits, and how the connections are used: what `godwit capacity -o json` prints."})
	if err != nil {
		return err
	}
	if fresh {
		c.census()
	}
	for {
		c.receive()
		c.book.arrange()
		c.tell()
		if workflow.GetInfo(life).GetContinueAsNewSuggested() {
			if c.through() {
				return workflow.NewContinueAsNewError(life, task.CapacityWorkflow, CapacityInput{Carried: c.book})
			}
			continue
		}
		c.show()
		c.await()
	}
}

// capacity is one run of the workflow.
type capacity struct {
	ctx    workflow.Context
	queue  string
	chain  string
	claims workflow.ReceiveChannel
	book   *book
	// sending is how many messages are on their way, and stirred says that
	// the outcome of one has changed the book.
	sending int
	stirred bool
	// timer is that of the next survey; nil while nobody waits.
	timer workflow.Future
}

// receive books all claims that have come.
func (c *capacity) receive() (heard []string) {
	c.stirred = false
	var claim task.Claim
	for c.claims.ReceiveAsync(&claim) {
		c.book.take(claim)
		heard = append(heard, claim.ID)
		claim = task.Claim{}
	}
	return heard
}

// await waits until there is something to do.
func (c *capacity) await() {
	if c.timer == nil && len(c.book.waiting()) > 0 {
		c.timer, _ = startTimer(c.ctx, surveyEvery, "look whether everybody still lives")
	}
	rings := func() bool { return c.timer != nil && c.timer.IsReady() }
	_ = workflow.Await(c.ctx, func() bool {
		return c.claims.Len() > 0 || c.stirred || rings() || workflow.GetInfo(c.ctx).GetContinueAsNewSuggested()
	})
	if rings() {
		c.timer = nil
		if len(c.book.waiting()) > 0 {
			c.survey(c.book.surveyInput(c.queue))
		}
	}
}

// survey drops those that have ended without a word, and learns the limits.
func (c *capacity) survey(in task.SurveyInput) task.Survey {
	var found task.Survey
	// One that fails is made again in time, and nothing depends on it until then.
	_ = workflow.ExecuteLocalActivity(asking(c.ctx, "look whether everybody still lives"), task.SurveyPlacesActivity, in).Get(c.ctx, &found)
	c.book.learn(found.Limits)
	for _, id := range found.Gone {
		if p := c.book.find(id); p != nil {
			c.book.drop(p)
		}
	}
	return found
}

// census finds out who holds a place already, so that nobody is let in who
// would be too many: the book of the run before is lost when that was terminated.
func (c *capacity) census() {
	c.receive()
	in := c.book.surveyInput(c.queue)
	in.Census = true
	missing := c.survey(in).Asked
	if len(missing) == 0 {
		return
	}
	timer, stop := startTimer(c.ctx, censusLimit, "wait for those that run to say what they hold")
	defer stop()
	for len(missing) > 0 && !timer.IsReady() {
		_ = workflow.Await(c.ctx, func() bool { return c.claims.Len() > 0 || timer.IsReady() })
		heard := c.receive()
		missing = slices.DeleteFunc(missing, func(id string) bool { return slices.Contains(heard, id) })
	}
}

// tell brings everybody what has changed for them.
func (c *capacity) tell() {
	for _, p := range c.book.Places {
		if p.Told == p.Sent || p.telling {
			continue
		}
		p.telling = true
		c.sending++
		workflow.GoNamed(c.ctx, "tell "+p.ID, func(ctx workflow.Context) {
			c.bring(ctx, p)
			p.telling = false
			c.sending--
		})
	}
}

// bring sends one message after the other, so that none overtakes another. A
// migration that cannot be reached has ended.
func (c *capacity) bring(ctx workflow.Context, p *place) {
	for p.Told != p.Sent && c.book.find(p.ID) == p {
		told := p.Told
		p.Sent = told
		c.book.Grants++
		grant := task.Grant{Chain: p.Chain, Shards: told, From: c.chain, No: c.book.Grants}
		if workflow.SignalExternalWorkflow(ctx, p.ID, "", task.GrantSignal, grant).Get(ctx, nil) != nil {
			c.book.drop(p)
			c.stirred = true
			return
		}
	}
}

// through waits until no message is on its way, and reports whether no claim
// has come meanwhile: then the next run can take over.
func (c *capacity) through() bool {
	_ = workflow.Await(c.ctx, func() bool { return c.sending == 0 })
	return c.claims.Len() == 0 && !c.stirred
}

// asking are the options of a local activity about capacity. What fails is
// done again later by whoever asks.
func asking(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		Summary:             summary,
		StartToCloseTimeout: 5 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumAttempts: 3},
	})
}

// mostShown is how many migrations the page lists.
const mostShown = 100

// show writes the page in the Web UI.
func (c *capacity) show() {
	st, now := c.book.status(), workflow.Now(c.ctx)
	p := &page{}
	p.line("## Capacity of task queue %s", plain(c.queue))
	p.table("connection", "migrations", "of", "shards", "of", "waiting")
	for _, u := range st.Connections {
		p.row(plain(u.Connection), fmt.Sprint(u.Migrations), bound(u.Limits.Migrations), fmt.Sprint(u.Shards), bound(u.Limits.Shards), fmt.Sprint(u.Waiting))
	}
	for i, r := range st.Running {
		if i == 0 {
			p.line("### Running")
		}
		if i < mostShown {
			p.item("%s: %s on %s", code(r.ID), plural(r.Shards, "shard"), plain(strings.Join(r.Connections, ", ")))
		}
	}
	for i, w := range st.Waiting {
		if i == 0 {
			p.line("### Waiting")
		}
		if i < mostShown {
			p.item("%d. %s priority %d, for %s", i+1, code(w.ID), w.Priority, now.Sub(w.Since).Round(time.Second))
		}
	}
	workflow.SetCurrentDetails(c.ctx, p.String())
}

// bound shows a limit; 0 is none.
func bound(limit int) string {
	if limit == 0 {
		return "no limit"
	}
	return fmt.Sprint(limit)
}
