package main

import (
	"io"

	"github.com/spf13/cobra"

	"godwit/starter/view"
)

func newCapacityCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "capacity",
		GroupID: groupLook,
		Short:   "Show how the connections are used, and who waits for them",
		Long: `Show for each connection of the task queue how many migrations and shards run, of
how many that may, and which migrations wait for a place, the next one first.

The limits are the workers' (limits in their file of connections). Those that
wait get a place by priority, then by age.`,
		Example: `  godwit capacity
  godwit capacity -o json | jq '.waiting | length'`,
		Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			desk, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			status, err := desk.Capacity(cmd.Context())
			if err != nil {
				return err
			}
			return a.print.Document(status, func(w io.Writer) error { return view.Capacity(w, status, a.style()) })
		},
	}
}
