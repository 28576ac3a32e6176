package main

import (
	"github.com/spf13/cobra"

	"godwit/internal/task"
	"godwit/starter/control"
)

func newResumeCommand(a *app) *cobra.Command {
	var flags reasonFlags
	cmd := &cobra.Command{
		Use:     "resume ID",
		GroupID: groupSteer,
		Short:   "Let a paused migration go on",
		Long: `Let a paused migration go on where it stopped. What has been changed meanwhile in
the tables' definitions is found before anything is written.`,
		Example:           `  godwit resume $ID`,
		Args:              oneID,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.send(cmd, args[0], signalling{
				verb: task.ResumeSignal,
				came: func(answer control.Answer) bool { return answer.Status.State != task.Paused },
				done: func(st task.Status) string { return "goes on in " + string(st.Phase) },
				doing: func(task.Status) string {
					return "is still paused; resume has been asked for"
				},
			}, &flags)
		},
	}
	flags.add(cmd)
	flags.addWait(cmd)
	return cmd
}
