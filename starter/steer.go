package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"godwit/internal/task"
	"godwit/starter/control"
	"godwit/starter/view"
)

// effectLimit is how long to wait for a request to take effect before leaving
// it to the migration.
const effectLimit = 5 * time.Second

// reasonFlags are the flags of every verb that asks something of a migration.
type reasonFlags struct {
	reason string
	noWait bool
}

func (f *reasonFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.reason, "reason", "r", "", "`why`, for the audit trail")
}

// addWait is for verbs whose effect comes a little later.
func (f *reasonFlags) addWait(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.noWait, "no-wait", false, "do not wait until it has taken effect")
}

func (f *reasonFlags) request() task.Request {
	return task.Request{Reason: f.reason, By: control.Operator()}
}

// outcome is the answer of a verb that asks something of a migration.
type outcome struct {
	ID     string     `json:"id"`
	Verb   string     `json:"verb"`
	Done   bool       `json:"done"` // it has taken effect
	State  task.State `json:"state"`
	Phase  task.Phase `json:"phase"`
	Detail string     `json:"detail"`
	URL    string     `json:"url,omitempty"`
}

func outcomeOf(verb string, answer control.Answer, done bool, detail string) outcome {
	st := answer.Status
	return outcome{ID: st.ID, Verb: verb, Done: done, State: st.State, Phase: st.Phase, Detail: detail, URL: st.URL}
}

func (a *app) tell(o outcome) error {
	return a.print.Document(o, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: %s\n", o.ID, o.Detail)
		return err
	})
}

// signalling is a verb that is a signal, and how one sees that it took effect.
type signalling struct {
	verb  string
	came  func(control.Answer) bool
	done  func(task.Status) string // what to say when it did
	doing func(task.Status) string // and when it did not yet
}

// send sends the signal and waits a little for its effect.
func (a *app) send(cmd *cobra.Command, id string, s signalling, flags *reasonFlags) error {
	ctx := cmd.Context()
	desk, err := a.open(ctx)
	if err != nil {
		return err
	}
	if err := desk.Signal(ctx, id, s.verb, flags.request()); err != nil {
		return err
	}
	if flags.noWait {
		return a.asked(ctx, desk, id, s.verb, s.verb+" has been asked for")
	}
	answer, came, err := desk.AwaitEffect(ctx, id, effectLimit, s.came)
	if err != nil {
		return a.left(ctx, id, err)
	}
	detail := s.doing(answer.Status)
	switch {
	case came:
		detail = s.done(answer.Status)
	case answer.Remark != "":
		detail = s.verb + " has been asked for and takes effect when a worker goes on with it"
		a.print.Note("%s", answer.Remark)
	}
	return a.tell(outcomeOf(s.verb, answer, came, detail))
}

// asked tells of a request whose effect is not waited for.
func (a *app) asked(ctx context.Context, desk *control.Desk, id, verb, detail string) error {
	answer, err := desk.Status(ctx, id)
	if err != nil {
		return err
	}
	return a.tell(outcomeOf(verb, answer, false, detail))
}

// atWork names what is still running: "shop.orders 3, shop.lines 7".
func atWork(st task.Status) string {
	var parts []string
	for _, beat := range st.Running {
		parts = append(parts, view.Work(beat))
	}
	if len(parts) == 0 {
		return "what is running"
	}
	return strings.Join(parts, ", ")
}

// update asks for something that is done or refused at once.
func (a *app) update(cmd *cobra.Command, id, update string, argument any, detail string) error {
	ctx := cmd.Context()
	desk, err := a.open(ctx)
	if err != nil {
		return err
	}
	if err := desk.Update(ctx, id, update, argument); err != nil {
		return err
	}
	answer, err := desk.Status(ctx, id)
	if err != nil {
		return err
	}
	return a.tell(outcomeOf(update, answer, true, detail))
}
