package main

import (
	"github.com/spf13/cobra"

	"godwit/internal/task"
	"godwit/starter/control"
)

func newPauseCommand(a *app) *cobra.Command {
	var flags reasonFlags
	cmd := &cobra.Command{
		Use:     "pause ID",
		GroupID: groupSteer,
		Short:   "Pause a migration after the chunks at work",
		Long: `Pause a migration: what is at work finishes its chunk, which takes about a
second, and nothing further begins. A pause may last days and outlives restarts
of everything. resume goes on.`,
		Example:           `  godwit pause $ID --reason "month-end closing"`,
		Args:              oneID,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.send(cmd, args[0], signalling{
				verb: task.PauseSignal,
				came: func(answer control.Answer) bool {
					return answer.Status.State == task.Paused || answer.Status.State.Final()
				},
				done: func(st task.Status) string {
					if st.State == task.Paused {
						return "paused in " + string(st.Phase) + "; go on: godwit resume " + st.ID
					}
					return "had ended before (" + string(st.State) + ")"
				},
				doing: func(st task.Status) string { return "pausing: " + atWork(st) + " is still to finish its chunk" },
			}, &flags)
		},
	}
	flags.add(cmd)
	flags.addWait(cmd)
	return cmd
}
