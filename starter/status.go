package main

import "github.com/spf13/cobra"

func newStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "status ID",
		GroupID: groupLook,
		Short:   "Show how a migration stands",
		Long: `Show everything about a migration: state, phase, progress, rate, remaining time,
who waits for what, what failed and what can be done about it, and the verbs
that make sense now.

Without a worker it shows what Temporal remembers, and says so.`,
		Example: `  godwit status $ID
  godwit status $ID -o json | jq '.state, .progress.percent'`,
		Args:              oneID,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			desk, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			answer, err := desk.Status(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.show(answer)
		},
	}
}
