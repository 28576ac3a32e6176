package main

import (
	"github.com/spf13/cobra"

	"godwit/internal/task"
)

func newCleanupCommand(a *app) *cobra.Command {
	var flags reasonFlags
	cmd := &cobra.Command{
		Use:     "cleanup ID",
		GroupID: groupSteer,
		Short:   "Stop keeping what a rollback would need",
		Long: `Remove what a finished migration keeps for a rollback, before the time for that
has passed. It cannot be rolled back any more after this.`,
		Example:           `  godwit cleanup $ID --reason "the disk is needed"`,
		Args:              oneID,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.update(cmd, args[0], task.CleanupUpdate, flags.request(), "what was kept for a rollback is being removed")
		},
	}
	flags.add(cmd)
	return cmd
}
