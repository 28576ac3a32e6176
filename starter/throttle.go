package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"godwit/internal/task"
)

func newThrottleCommand(a *app) *cobra.Command {
	var (
		rows     int64
		parallel int
	)
	cmd := &cobra.Command{
		Use:     "throttle ID",
		GroupID: groupSteer,
		Short:   "Change the limits of a migration while it runs",
		Long: `Change how much a running migration takes from the databases. What is not named
stays as it is.`,
		Example: `  godwit throttle $ID --rows-per-second 5000
  godwit throttle $ID --rows-per-second 0 --parallel 8     # 0 rows per second: no limit`,
		Args:              oneID,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			var settings task.ThrottleSettings
			var changes []string
			if cmd.Flags().Changed("rows-per-second") {
				settings.RowsPerSecond = &rows
				changes = append(changes, limitText(rows))
			}
			if cmd.Flags().Changed("parallel") {
				settings.Parallel = &parallel
				changes = append(changes, parallelText(parallel))
			}
			switch {
			case len(changes) == 0:
				return usagef("nothing to change: name --rows-per-second or --parallel")
			case rows < 0:
				return usagef("--rows-per-second is 0 (no limit) or more, got %d", rows)
			case settings.Parallel != nil && parallel < 1:
				return usagef("--parallel is at least 1, got %d; `godwit pause %s` stops all shards", parallel, args[0])
			}
			return a.update(cmd, args[0], task.ThrottleUpdate, settings, "from now on "+strings.Join(changes, " and "))
		},
	}
	cmd.Flags().Int64Var(&rows, "rows-per-second", 0, "`limit` over all shards together, 0 for none")
	cmd.Flags().IntVar(&parallel, "parallel", 0, "`number` of shards at once")
	return cmd
}

func limitText(rows int64) string {
	if rows == 0 {
		return "without a limit of rows per second"
	}
	return fmt.Sprintf("at most %d rows per second", rows)
}

func parallelText(shards int) string {
	if shards == 1 {
		return "one shard at once"
	}
	return fmt.Sprintf("%d shards at once", shards)
}
