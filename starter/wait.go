package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"godwit/internal/spec"
	"godwit/starter/control"
	"godwit/starter/view"
)

func newWaitCommand(a *app) *cobra.Command {
	var timeout spec.Duration
	cmd := &cobra.Command{
		Use:     "wait ID",
		GroupID: groupLook,
		Short:   "Wait until a migration is done; the exit code tells how it ended",
		Long: `Wait until a migration is in a final state, and print its status. Waiting needs
no worker to answer and outlasts a restart of Temporal. Interrupting it never
touches the migration.

Exit codes: 0 SUCCESS, 3 FAILED, 4 TIMEOUT, 5 CANCELLED, 6 ROLLED_BACK,
2 usage, 1 anything else, also when --timeout passes first.`,
		Example: `  godwit wait $ID && echo done
  godwit wait $ID --timeout 10m -o json | jq .progress`,
		Args:              oneID,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			desk, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			if timeout <= 0 {
				return a.waitFor(cmd.Context(), desk, args[0])
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), timeout.Std(), stillRunningError{args[0], timeout})
			defer cancel()
			return a.waitFor(ctx, desk, args[0])
		},
	}
	cmd.Flags().Var(duration{&timeout}, "timeout", "time after which to give up waiting (default: never)")
	return cmd
}

// stillRunningError says that somebody has waited for long enough.
type stillRunningError struct {
	id    string
	after spec.Duration
}

func (e stillRunningError) Error() string {
	return fmt.Sprintf("%s is not done after %s and goes on; look at it: godwit status %s", e.id, e.after, e.id)
}

// leftError says that somebody stopped looking.
type leftError struct{ id string }

func (e leftError) Error() string {
	return fmt.Sprintf("stopped looking; %s goes on by itself: godwit watch %s", e.id, e.id)
}

// waitFor waits for a final state and prints the status.
func (a *app) waitFor(ctx context.Context, desk *control.Desk, id string) error {
	state, err := desk.AwaitState(ctx, id, a.outage)
	if err != nil {
		return a.left(ctx, id, err)
	}
	answer, err := desk.Status(ctx, id)
	if err != nil {
		return a.left(ctx, id, err)
	}
	if err := a.show(answer); err != nil {
		return err
	}
	return ended(state)
}

// left turns an interruption into a word about the migration, which goes on.
func (a *app) left(ctx context.Context, id string, err error) error {
	var timeout stillRunningError
	switch {
	case errors.As(context.Cause(ctx), &timeout):
		return timeout
	case ctx.Err() != nil:
		return leftError{id}
	}
	return err
}

// show prints a migration's status, and what keeps it from being complete.
func (a *app) show(answer control.Answer) error {
	if answer.Remark != "" {
		a.print.Note("%s", answer.Remark)
	}
	return a.print.Document(answer.Status, func(w io.Writer) error {
		return view.Status(w, answer.Status, a.style())
	})
}
