package main

import (
	"context"

	"github.com/spf13/cobra"

	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/starter/control"
)

func newRetryCommand(a *app) *cobra.Command {
	var (
		flags       reasonFlags
		wait, watch bool
	)
	cmd := &cobra.Command{
		Use:     "retry ID [STEP]",
		GroupID: groupSteer,
		Short:   "Continue a failed migration, doing only what is missing",
		Long: `Continue a migration. One in FAILED or TIMEOUT gets its next run under the same
id, which finds in the ledger what is done and does only the rest. One that runs
and waits for another try is told to try now.

Of a pipeline, the step that is named is tried again, or the one that waits: also
one whose undoing has failed. It goes on where it was.

Exit codes with --wait and --watch are those of run.`,
		Example:           `  godwit retry $ID --reason "row 4711 mended" --watch`,
		Args:              oneIDAndStep,
		ValidArgsFunction: a.completeStep,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := waitOrWatch(wait, watch); err != nil {
				return err
			}
			desk, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			if len(args) > 1 && !wait && !watch {
				return a.updateStep(cmd, args, task.RetryUpdate, &flags, "is tried again")
			}
			if len(args) > 1 {
				return a.retryStep(cmd.Context(), desk, args, flags.request(), wait)
			}
			started, err := desk.Retry(cmd.Context(), args[0], flags.request())
			if err != nil {
				return err
			}
			return a.started(cmd.Context(), desk, started, args[0], wait, watch)
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVarP(&wait, "wait", "w", false, "wait for the end; the exit code tells the state")
	cmd.Flags().BoolVar(&watch, "watch", false, "show it at work until the end; the exit code tells the state")
	return cmd
}

// retryStep has a step tried again and stays until its pipeline has ended, or waits for
// somebody again.
func (a *app) retryStep(ctx context.Context, desk *control.Desk, args []string, request task.Request, wait bool) error {
	if err := desk.Update(ctx, args[0], task.RetryUpdate, task.StepRequest{Request: request, Step: args[1]}); err != nil {
		return err
	}
	if wait {
		return a.waitFor(ctx, desk, args[0])
	}
	return a.watch(ctx, desk, args[0], watchFlags{every: spec.Duration(lineInterval)})
}
