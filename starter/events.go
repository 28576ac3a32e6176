package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"godwit/internal/cluster"
	"godwit/internal/task"
	"godwit/starter/control"
	"godwit/starter/direct"
	"godwit/starter/view"
)

// Limits of one inquiry for events: how many come at once, how long to wait
// for the first one, and how long the worker may take altogether.
const (
	eventsPage  = 500
	eventsWait  = 15 * time.Second
	eventsLimit = time.Minute
)

type eventsFlags struct {
	follow, stack bool
	after         int64
	ledger        string
	connections   string
}

func newEventsCommand(a *app) *cobra.Command {
	var flags eventsFlags
	cmd := &cobra.Command{
		Use:     "events ID",
		GroupID: groupLook,
		Short:   "Show what has happened in a migration, from its ledger",
		Long: `Show the audit trail of a migration, which a worker reads from the ledger in the
database that is written: every phase, every try with its error, what operators
asked for. With --follow, further events are shown as they happen, until the
migration is done.

With --ledger and a connection that is known here, from GODWIT_CONNECTION_<NAME>
or --connections, the ledger is read directly, without Temporal and worker.`,
		Example: `  godwit events $ID
  godwit events $ID --follow
  godwit events $ID --stack -o json | jq '.[] | select(.error)'`,
		Args:              oneID,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.ledger != "" {
				r, err := direct.Open(cmd.Context(), flags.connections, flags.ledger)
				if err != nil {
					return err
				}
				if r != nil {
					defer r.Close()
					t := trail{app: a, direct: r, ref: task.Ref{ID: args[0]}, flags: flags}
					return t.run(cmd.Context())
				}
			}
			desk, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			ref, queue := task.Ref{ID: args[0], Ledger: flags.ledger}, a.queue
			if flags.ledger == "" {
				if ref, queue, err = desk.Ref(cmd.Context(), args[0]); err != nil {
					return err
				}
			}
			t := trail{app: a, desk: desk, ref: ref, queue: queue, flags: flags}
			return t.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&flags.follow, "follow", "f", false, "go on showing events as they happen")
	f.BoolVar(&flags.stack, "stack", false, "show the stack of errors")
	f.Int64Var(&flags.after, "after", 0, "`number` of the event after which to begin")
	f.StringVar(&flags.ledger, "ledger", "", "`name` of the connection with the ledger, for a migration that Temporal has forgotten")
	connectionsFlag(cmd, &flags.connections)
	return cmd
}

// trail reads a migration's events, page by page: through a worker, or from
// the ledger itself.
type trail struct {
	app    *app
	desk   *control.Desk
	direct *direct.Reader
	ref    task.Ref
	queue  string
	flags  eventsFlags
}

func (t *trail) run(ctx context.Context) error {
	if t.flags.follow {
		return t.follow(ctx)
	}
	return t.show(ctx)
}

func (t *trail) page(ctx context.Context, wait time.Duration) (*task.EventsPage, error) {
	page, err := t.read(ctx, wait)
	if err != nil {
		return nil, err
	}
	if n := len(page.Events); n > 0 {
		t.flags.after = page.Events[n-1].No
	}
	return page, nil
}

// directPoll is how often a ledger is looked at for further events.
const directPoll = time.Second

func (t *trail) read(ctx context.Context, wait time.Duration) (*task.EventsPage, error) {
	if t.direct != nil {
		if wait > 0 {
			if err := control.Rest(ctx, directPoll); err != nil {
				return nil, err
			}
		}
		return t.direct.Events(ctx, t.ref.ID, t.flags.after, eventsPage)
	}
	in := task.EventsInput{Ref: t.ref, After: t.flags.after, Limit: eventsPage, Wait: wait}
	result, err := t.desk.Ask(ctx, t.queue, task.InquiryInput{Events: &in}, eventsLimit)
	if err != nil {
		return nil, err
	}
	return result.Events, nil
}

func (t *trail) show(ctx context.Context) error {
	all := []task.Event{}
	for more := true; more; {
		page, err := t.page(ctx, 0)
		if err != nil {
			return err
		}
		all = append(all, page.Events...)
		more = page.More
	}
	return t.app.print.Document(all, func(w io.Writer) error {
		for _, event := range all {
			if _, err := fmt.Fprintln(w, t.text(event)); err != nil {
				return err
			}
		}
		return nil
	})
}

// follow shows events as they happen, until there will be none. A worker or a
// Temporal that is away for a while is waited for.
func (t *trail) follow(ctx context.Context) error {
	var wait time.Duration
	for {
		page, err := t.page(ctx, wait)
		switch {
		case ctx.Err() != nil:
			return leftError{t.ref.ID}
		case away(err):
			t.app.print.Note("%v; waiting until it is back", err)
			if err := control.Rest(ctx, 3*time.Second); err != nil {
				return leftError{t.ref.ID}
			}
			continue
		case err != nil:
			return err
		}
		for _, event := range page.Events {
			if err := t.app.print.Line(event, t.text(event)); err != nil {
				return err
			}
		}
		if !page.More && page.State.Final() {
			return nil
		}
		wait = eventsWait
	}
}

// away reports whether an error is one that passes when something comes back.
func away(err error) bool {
	var (
		worker      *control.NoWorkerError
		unreachable *cluster.UnreachableError
	)
	return errors.As(err, &worker) || errors.As(err, &unreachable)
}

func (t *trail) text(e task.Event) string {
	return view.Event(e, view.EventStyle{Style: t.app.style(), Stack: t.flags.stack})
}
