package main

import (
	"github.com/spf13/cobra"

	"godwit/internal/task"
)

func newCutoverCommand(a *app) *cobra.Command {
	var flags reasonFlags
	cmd := &cobra.Command{
		Use:     "cutover ID",
		GroupID: groupSteer,
		Short:   "Start the cut-over of a migration that waits for it",
		Long: `Make the result the real thing: for a migration with cutover mode manual, which
waits for this once it is verified. status shows when it does, and list marks it
with a !.`,
		Example:           `  godwit cutover $ID --reason "change 4711 approved" && godwit wait $ID`,
		Args:              oneID,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.update(cmd, args[0], task.CutoverUpdate, flags.request(), "the cut-over is approved; wait for it: godwit wait "+args[0])
		},
	}
	flags.add(cmd)
	return cmd
}
