package ddl

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/task"
)

const (
	// gap is how old a transaction on the table may be at the most for a try: a
	// younger one will be over before it is missed.
	gap = time.Second
	// strict is how long such a gap is looked for. Then whoever may be over
	// within cutover.timeout is no reason to wait any more.
	strict = 30 * time.Second
	// lookEvery is how often it is looked.
	lookEvery = 250 * time.Millisecond
	// watchEvery is how often it is looked whom a try is waiting for.
	watchEvery = time.Second
	// longestDelay is the longest wait between two tries.
	longestDelay = 30 * time.Second
	// mostChanged is how many rows a transaction may have changed to be ended:
	// what it has changed has to be undone before the lock is free.
	mostChanged = 10_000
)

// errShut says that the window of the cut-over is over.
var errShut = fault.New(task.Stopping, "the window of the cut-over is over")

// stepTables are the tables that a step locks.
func stepTables(it *item, step *engine.Step) []engine.Name {
	tables := []engine.Name{it.Table.Name}
	if step.Also.Table != "" {
		tables = append(tables, step.Also)
	}
	return tables
}

// lock is the wait for a table's lock: for a gap, then try by try, each of them
// short, so that nobody waits long behind it.
type lock struct {
	run   *kind.Run
	db    *site
	it    *item
	phase task.Phase
	// tables are those that are locked.
	tables []engine.Name
	// brief says that the lock keeps others out, and so must not be waited for
	// for long: a gap is looked for before.
	brief bool
	// session is the one that the lock is for; empty when there are several.
	session string
	window  bool // keep to the cut-over's window
	tell    func(waiting string)

	began time.Time
	tries int
	ended int // sessions
	// seen is since when sessions are known whose age the server does not show.
	seen map[string]time.Time
	mute bool // the server does not let Godwit end sessions
}

// patiently calls act until it gets its lock, or until timeouts.cutover is over.
func (l *lock) patiently(ctx context.Context, act func(ctx context.Context) error) error {
	l.began, l.seen = time.Now(), map[string]time.Time{}
	for {
		if err := l.mayGoOn(); err != nil {
			return err
		}
		inTheWay, err := l.look(ctx)
		if err != nil {
			return err
		}
		if err := l.tooLong(inTheWay, nil); err != nil {
			return err
		}
		if len(inTheWay) > 0 {
			l.tell(list(inTheWay) + ", to end: it may have the table locked")
			if err := l.kill(ctx, inTheWay); err != nil {
				return err
			}
			if err := l.sleep(ctx, lookEvery); err != nil {
				return err
			}
			continue
		}
		err = l.try(ctx, act)
		if err == nil || kind.Classify(err).Class != task.Busy {
			return err
		}
		if err := l.inVain(ctx, err); err != nil {
			return err
		}
	}
}

func (l *lock) mayGoOn() error {
	if l.run.Stopped() {
		return fault.New(task.Stopping, "stopped while it waited for the lock of %s", l.it.name())
	}
	if l.window && l.run.Spec.DDL.Cutover.Between.Wait(time.Now()) > 0 {
		return errShut
	}
	return nil
}

func (l *lock) try(ctx context.Context, act func(ctx context.Context) error) error {
	l.tell("")
	stop := l.run.KeepTouching()
	defer stop()
	watching, end := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.watch(watching)
	}()
	defer func() {
		end()
		<-ended
	}()
	l.tries++
	return act(ctx)
}

// watch tells, while a try goes on, whom it waits for.
func (l *lock) watch(ctx context.Context) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if l.session == "" {
			continue
		}
		who, err := l.db.WaitsFor(ctx, l.session, l.it.Table.Name)
		switch {
		case err != nil: // it is for show, and asked again
		case len(who) > 0:
			l.tell(list(who) + ", to end: this has to wait for it")
		default:
			l.tell("")
		}
	}
}

// look finds out who is in the way.
func (l *lock) look(ctx context.Context) ([]engine.Blocker, error) {
	if !l.brief {
		return nil, nil
	}
	all, err := l.blockers(ctx)
	if err != nil {
		return nil, err
	}
	limit := gap
	lenient := time.Since(l.began) > strict
	if lenient {
		limit = max(gap, l.run.Spec.DDL.Cutover.Timeout.Std())
	}
	return slices.DeleteFunc(all, func(b engine.Blocker) bool { return l.age(b) < limit || lenient && b.Guessed }), nil
}

// blockers are those with locks on the tables. Where the user may not
// see them, there are none: the plan has said so.
func (l *lock) blockers(ctx context.Context) ([]engine.Blocker, error) {
	var all []engine.Blocker
	for _, table := range l.tables {
		found, err := l.db.Blockers(ctx, table)
		if err != nil && kind.Classify(err).Class == task.Config {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, b := range found {
			if !slices.ContainsFunc(all, func(known engine.Blocker) bool { return known.ID == b.ID && b.ID != "" }) {
				all = append(all, b)
			}
		}
	}
	return all, nil
}

// age of a blocker's transaction: where the server does not show it, how long it
// has been seen.
func (l *lock) age(b engine.Blocker) time.Duration {
	if b.Age >= 0 {
		return b.Age
	}
	since, known := l.seen[b.ID]
	if !known {
		since = time.Now()
		l.seen[b.ID] = since
	}
	return time.Since(since)
}

// inVain notes a try that did not get the lock, and waits before the next one.
func (l *lock) inVain(ctx context.Context, cause error) error {
	who, err := l.blockers(ctx)
	if err != nil {
		return err
	}
	if err := l.tooLong(who, cause); err != nil {
		return err
	}
	detail := fmt.Sprintf("try %d: %s", l.tries, engine.ShortStatement(cause.Error()))
	if len(who) > 0 {
		detail += "; locks have " + list(who)
	}
	if err := l.run.Ledger.Note(ctx, task.Event{What: "lock not had", Phase: l.phase, Table: l.it.name(), Detail: detail}); err != nil {
		return err
	}
	if err := l.kill(ctx, who); err != nil {
		return err
	}
	delay := min(longestDelay, l.run.Spec.DDL.Cutover.RetryDelay.Std()<<min(l.tries-1, 10))
	l.tell(fmt.Sprintf("the next try for the lock, after %d in vain%s", l.tries, behind(who)))
	return l.sleep(ctx, delay/2+rand.N(delay))
}

func behind(who []engine.Blocker) string {
	if len(who) == 0 {
		return ""
	}
	return "; locks have " + list(who)
}

// tooLong is the error when all tries together have taken as long as they may.
func (l *lock) tooLong(who []engine.Blocker, cause error) error {
	limit := l.run.Spec.Timeouts.Cutover.Std()
	if limit == 0 || time.Since(l.began) < limit {
		return nil
	}
	text := fmt.Sprintf("the lock of %s was not to be had within %s, in %d tries", l.it.name(), limit, l.tries)
	if cause != nil {
		return fault.About(l.it.name(), task.Busy, "%s%s: %w", text, behind(who), cause)
	}
	return fault.About(l.it.name(), task.Busy, "%s%s", text, behind(who))
}

// kill ends sessions that have been in the way for long enough, if it may.
func (l *lock) kill(ctx context.Context, inTheWay []engine.Blocker) error {
	may := l.run.Spec.DDL.KillBlockers
	if may == nil || l.mute || time.Since(l.began) < may.After.Std() {
		return nil
	}
	for _, b := range inTheWay {
		if l.ended >= may.Most {
			return nil
		}
		if b.ID == "" || b.Protected != "" || b.Guessed || b.Waits || b.Changed > mostChanged || l.age(b) < gap {
			continue
		}
		event := task.Event{What: "session ended", Phase: l.phase, Table: l.it.name(), Detail: b.String()}
		err := l.db.EndBlocker(ctx, b)
		if err != nil && kind.Classify(err).Class == task.Config {
			l.mute = true
			event.What, event.Detail, err = "session not ended", b.String()+": "+err.Error(), nil
		} else {
			l.ended++
		}
		if err := errors.Join(err, l.run.Ledger.Note(ctx, event)); err != nil {
			return err
		}
	}
	return nil
}

func (l *lock) sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-l.run.Stop:
		return l.mayGoOn()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// story says how the lock was got, for the ledger.
func (l *lock) story() string {
	if l.tries <= 1 && time.Since(l.began) < gap {
		return ""
	}
	return fmt.Sprintf(" (at try %d, %s after the first look)", l.tries, time.Since(l.began).Round(10*time.Millisecond))
}

// list names the first of those who are in the way.
func list(who []engine.Blocker) string {
	const most = 3
	var names []string
	for _, b := range who[:min(most, len(who))] {
		names = append(names, b.String())
	}
	if more := len(who) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, "; ")
}
