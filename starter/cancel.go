package main

import (
	"github.com/spf13/cobra"

	"godwit/internal/task"
	"godwit/starter/control"
)

func newCancelCommand(a *app) *cobra.Command {
	var flags reasonFlags
	cmd := &cobra.Command{
		Use:     "cancel ID",
		GroupID: groupSteer,
		Short:   "Cancel a migration and undo what it made",
		Long: `Cancel a migration that has not been cut over: what is at work finishes its
chunk, then everything that was made is undone, and nothing half-made is left
behind. Large tables take a while; wait shows when it is done.

After the cut-over there is nothing to cancel: rollback undoes it while
something is kept for that.`,
		Example: `  godwit cancel $ID --reason "wrong target"
  godwit cancel $ID && godwit wait $ID`,
		Args:              oneID,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.send(cmd, args[0], signalling{
				verb: task.CancelSignal,
				came: func(answer control.Answer) bool { return !answer.Open },
				done: func(st task.Status) string {
					if st.State == task.Cancelled {
						return "cancelled; what it had made is undone"
					}
					return "has ended in " + string(st.State)
				},
				doing: func(st task.Status) string {
					return "cancelling: what it has made is being undone; wait for it: godwit wait " + st.ID
				},
			}, &flags)
		},
	}
	flags.add(cmd)
	flags.addWait(cmd)
	return cmd
}
