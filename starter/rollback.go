package main

import (
	"github.com/spf13/cobra"

	"godwit/internal/task"
	"godwit/starter/control"
)

func newRollbackCommand(a *app) *cobra.Command {
	var (
		flags reasonFlags
		wait  bool
	)
	cmd := &cobra.Command{
		Use:     "rollback ID",
		GroupID: groupSteer,
		Short:   "Undo a migration",
		Long: `Undo a migration: the target is as it was before. It works for one that runs, for
one in FAILED or TIMEOUT, and after the cut-over for as long as something is kept
for it.

With --wait the exit code is 0 when it has been rolled back.`,
		Example:           `  godwit rollback $ID --reason "the application cannot do with it" --wait`,
		Args:              oneID,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			desk, err := a.open(ctx)
			if err != nil {
				return err
			}
			started, err := desk.Rollback(ctx, args[0], flags.request())
			if err != nil {
				return err
			}
			if !wait {
				return a.asked(ctx, desk, started.ID, task.RollbackUpdate, "is being undone; wait for it: godwit wait "+started.ID)
			}
			return a.waitForUndoing(cmd, desk, started.ID)
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVarP(&wait, "wait", "w", false, "wait until it is undone")
	return cmd
}

// waitForUndoing waits for the end of a rollback, which may begin in SUCCESS.
func (a *app) waitForUndoing(cmd *cobra.Command, desk *control.Desk, id string) error {
	ctx := cmd.Context()
	state, err := desk.AwaitUndone(ctx, id, a.outage)
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
	if state == task.RolledBack {
		return nil
	}
	return endedError{state}
}
