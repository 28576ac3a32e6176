package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"godwit/internal/task"
)

func newThrottleCommand(a *app) *cobra.Command {
	f := &throttleFlags{}
	cmd := &cobra.Command{
		Use:     "throttle ID",
		GroupID: groupSteer,
		Short:   "Change the limits and guards of a migration while it runs",
		Long: `Change how much a running migration takes from the databases, and what holds it.
What is not named stays as it is. 0 takes a limit or a guard away; where 0 is a
limit like any other (--query-max) it is none.

--hold stops all work before its next chunk, until --release. Unlike a pause it
keeps the shards where they are.`,
		Example: `  godwit throttle $ID --rows-per-second 5000
  godwit throttle $ID --rows-per-second 0 --parallel 8     # 0 rows per second: no limit
  godwit throttle $ID --max-lag 5s --max-active 80
  godwit throttle $ID --max-lag 0                          # the replica is gone for good
  godwit throttle $ID --hold "until the sale is over"
  godwit throttle $ID --release`,
		Args:              oneID,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, changes := f.settings(cmd.Flags())
			switch {
			case len(changes) == 0:
				return usagef("nothing to change: name a limit or a guard, like --rows-per-second, --max-lag or --hold")
			case f.release && cmd.Flags().Changed("hold"):
				return usagef("--hold and --release are opposites: name one of them")
			case cmd.Flags().Changed("hold") && strings.TrimSpace(f.hold) == "":
				return usagef("--hold needs a reason, which is shown to everybody who asks why nothing goes on")
			case f.rows < 0:
				return usagef("--rows-per-second is 0 (no limit) or more, got %d", f.rows)
			case settings.Parallel != nil && f.parallel < 1:
				return usagef("--parallel is at least 1, got %d; `godwit pause %s` stops all shards", f.parallel, args[0])
			}
			return a.update(cmd, args[0], task.ThrottleUpdate, settings, "from now on "+strings.Join(changes, " and "))
		},
	}
	f.add(cmd.Flags())
	return cmd
}

// throttleFlags are the flags, one for each limit and guard.
type throttleFlags struct {
	rows                                                     int64
	parallel, active, waits, queue, resume                   int
	bytesPerSecond, lag, latency, growth, age, disk, maximum string
	changelog                                                string
	http, hold                                               string
	replicas                                                 []string
	release                                                  bool
}

func (f *throttleFlags) add(flags *pflag.FlagSet) {
	flags.Int64Var(&f.rows, "rows-per-second", 0, "`limit` over all shards together, 0 for none")
	flags.StringVar(&f.bytesPerSecond, "bytes-per-second", "", "`limit` over all shards together, like 20MiB, 0 for none")
	flags.IntVar(&f.parallel, "parallel", 0, "`number` of shards at once")
	flags.StringVar(&f.hold, "hold", "", "hold all work, for this `reason`")
	flags.BoolVar(&f.release, "release", false, "end a hold")
	flags.StringSliceVar(&f.replicas, "replicas", nil, "`connections` to the replicas whose lag is watched")
	flags.StringVar(&f.lag, "max-lag", "", "how far a replica may be behind, like 5s")
	flags.IntVar(&f.active, "max-active", 0, "`number` of statements that may run")
	flags.IntVar(&f.waits, "max-io-waits", 0, "`number` of waits for the disk")
	flags.StringVar(&f.latency, "max-commit-latency", "", "how long a small write may take, like 10ms")
	flags.StringVar(&f.growth, "max-log-growth", "", "`size` by which the logs may have grown, like 20GiB")
	flags.IntVar(&f.queue, "max-archive-queue", 0, "`number` of WAL files that may wait to be archived")
	flags.StringVar(&f.changelog, "max-changelog", "", "`number` of noted changes that may be pending, 0 for any")
	flags.StringVar(&f.age, "max-transaction-age", "", "how old a transaction of others may be, like 10m")
	flags.StringVar(&f.disk, "min-free-disk", "", "`size` that must stay free, where the spec says")
	flags.StringVar(&f.maximum, "query-max", "", "highest `number` of the spec's query, none to take it away")
	flags.StringVar(&f.http, "http", "", "`address` that answers 200 for go")
	flags.IntVar(&f.resume, "resume-at", 0, "low watermark in `percent` of the high one")
}

// settings are what the flags that were given change, and each in words.
func (f *throttleFlags) settings(given *pflag.FlagSet) (s task.ThrottleSettings, changes []string) {
	change(given, "rows-per-second", &s.RowsPerSecond, f.rows, &changes, limitText(f.rows))
	change(given, "bytes-per-second", &s.BytesPerSecond, f.bytesPerSecond, &changes, "bytes_per_second "+limit(f.bytesPerSecond))
	change(given, "parallel", &s.Parallel, f.parallel, &changes, parallelText(f.parallel))
	change(given, "hold", &s.Hold, f.hold, &changes, "held: "+f.hold)
	change(given, "release", &s.Hold, "", &changes, "not held any more")
	change(given, "replicas", &s.Replicas, f.replicas, &changes, "replicas "+limit(strings.Join(f.replicas, ", ")))
	change(given, "max-lag", &s.MaxLag, f.lag, &changes, "max_lag "+limit(f.lag))
	change(given, "max-active", &s.MaxActive, f.active, &changes, "max_active "+limit(fmt.Sprint(f.active)))
	change(given, "max-io-waits", &s.MaxIOWaits, f.waits, &changes, "max_io_waits "+limit(fmt.Sprint(f.waits)))
	change(given, "max-commit-latency", &s.MaxCommitLatency, f.latency, &changes, "max_commit_latency "+limit(f.latency))
	change(given, "max-log-growth", &s.MaxLogGrowth, f.growth, &changes, "max_log_growth "+limit(f.growth))
	change(given, "max-archive-queue", &s.MaxArchiveQueue, f.queue, &changes, "max_archive_queue "+limit(fmt.Sprint(f.queue)))
	change(given, "max-changelog", &s.MaxChangelog, f.changelog, &changes, "max_changelog "+limit(f.changelog))
	change(given, "max-transaction-age", &s.MaxTransactionAge, f.age, &changes, "max_transaction_age "+limit(f.age))
	change(given, "min-free-disk", &s.MinFreeDisk, f.disk, &changes, "min_free_disk "+limit(f.disk))
	change(given, "query-max", &s.QueryMax, f.maximum, &changes, "query at most "+f.maximum)
	change(given, "http", &s.HTTP, f.http, &changes, "http "+limit(f.http))
	change(given, "resume-at", &s.ResumeAt, f.resume, &changes, fmt.Sprintf("low watermarks at %d %%", f.resume))
	return s, changes
}

// change takes over a flag that was given.
func change[T any](given *pflag.FlagSet, flag string, field **T, value T, changes *[]string, text string) {
	if given.Changed(flag) {
		*field = &value
		*changes = append(*changes, text)
	}
}

func limit(text string) string {
	switch text {
	case "", "0", "none":
		return "taken away"
	}
	return text
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
