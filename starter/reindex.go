package main

import (
	"github.com/spf13/cobra"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// reindexFlags are the flags of an index rebuild, in the words of a spec file.
type reindexFlags struct {
	startFlags
	spec    *spec.Spec
	create  []string
	workers int
	percent int
	size    spec.Size
	print   bool
}

// bloatSize is the default of bloat.size, which a spec has only where bloat is given.
const bloatSize = 1 << 20

// size is a size of a spec as a flag's value.
type size struct{ target *spec.Size }

func (s size) String() string {
	if s.target == nil || *s.target == 0 {
		return ""
	}
	return s.target.String()
}

func (s size) Set(text string) error {
	v, err := spec.ParseSize(text)
	if err == nil {
		*s.target = v
	}
	return err
}

func (size) Type() string { return "size" }

func newReindexCommand(a *app) *cobra.Command {
	// The flags write into a spec that has the defaults, so that help shows them.
	s, err := spec.New(task.Reindex)
	flags := reindexFlags{spec: s}
	cmd := &cobra.Command{
		Use:     "reindex",
		GroupID: groupStart,
		Short:   "Start to rebuild, make or drop indexes, from flags",
		Long: `Rebuild, make or drop indexes of tables in use, described by flags instead of a
spec file. Readers and writers go on meanwhile. Each index is tried again alone,
the largest comes first. A build begins when the throttle's guards are calm, and is
given up, and begun again later with less, when one of them stays far beyond its
limit. --print-spec shows the same as a spec file.

Exit codes are those of run.`,
		Example: `  godwit reindex --database shop --table orders --watch
  godwit reindex --database shop --table orders --index orders_customer_idx --wait
  godwit reindex --database shop --schema public --bloat 40 --parallel 2
  godwit reindex --database shop --create "CREATE INDEX orders_region_idx ON orders (region)"
  godwit reindex --database shop --table orders --drop orders_old_idx`,
		Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err != nil {
				return err
			}
			return flags.run(a, cmd)
		},
	}
	if err == nil {
		flags.add(cmd)
	}
	return cmd
}

func (f *reindexFlags) add(cmd *cobra.Command) {
	r, flags := f.spec.Reindex, cmd.Flags()
	f.size = bloatSize
	flags.SortFlags = false
	flags.StringVar(&r.Database, "database", "", "`name` of the connection to the indexes' database")
	flags.StringVarP(&r.Table, "table", "t", "", "`table` whose indexes are meant, all of them unless others are named: schema.table, or table")
	flags.StringVar(&r.Schema, "schema", "", "`schema` whose tables are meant, in place of --table")
	flags.StringArrayVar((*[]string)(&r.Index), "index", nil, "`name` of an index to rebuild; may be repeated")
	flags.StringArrayVar(&f.create, "create", nil, "`SQL` of an index to make: CREATE INDEX …; may be repeated")
	flags.StringArrayVar((*[]string)(&r.Drop), "drop", nil, "`name` of an index to drop in the cut-over; may be repeated")
	choice(cmd, &r.Strategy, "strategy", "how it is done")
	flags.IntVar(&f.percent, "bloat", 0, "`percent` of an index that has to be wasted, at the least (default: all are rebuilt)")
	flags.Var(size{&f.size}, "bloat-size", "`size` of an index, at the least, with --bloat")
	flags.IntVar(&f.workers, "workers", 0, "`number` of processes or threads that help to build (default: the server's own setting)")
	flags.Var(size{&r.Build.Memory}, "memory", "`size` of what one build may sort in (default: the server's own setting)")
	flags.Var(duration{&r.Build.LockTimeout}, "lock-timeout", "how long a statement waits for the table's lock, on MySQL and MariaDB")
	flags.IntVar(&r.Critical.Percent, "critical", r.Critical.Percent, "`percent` of a guard's limit at which a build is given up")
	flags.Var(duration{r.Critical.After}, "critical-after", "how long the guard has to stay there; 0 for never")
	flags.IntVar(&r.Shards.Parallel, "parallel", r.Shards.Parallel, "`number` of indexes at once, of different tables")
	choice(cmd, &r.Cutover.Mode, "cutover", "who starts the cut-over; manual waits for the verb cutover")
	flags.Var(duration{r.KeepOld}, "keep-old", "how long dropped indexes can be brought back by a rollback")
	choice(cmd, &f.spec.Verify.Mode, "verify", "how much is looked at when the indexes are built")
	choice(cmd, &f.spec.OnFailure, "on-failure", "what to do when it cannot go on")
	choice(cmd, &f.spec.OnTimeout, "on-timeout", "what to do when a limit is passed")
	f.startFlags.add(cmd)
	flags.BoolVar(&f.print, "print-spec", false, "print it as a spec file instead of starting it")
}

func (f *reindexFlags) run(a *app, cmd *cobra.Command) error {
	r := f.spec.Reindex
	r.Create = f.create
	if cmd.Flags().Changed("workers") {
		r.Build.Workers = &f.workers
	}
	switch {
	case cmd.Flags().Changed("bloat"):
		r.Bloat = &spec.Bloat{Percent: f.percent, Size: f.size}
	case cmd.Flags().Changed("bloat-size"):
		return usagef("--bloat-size goes with --bloat")
	}
	f.spec.Defaults()
	if err := f.apply(cmd, f.spec); err != nil {
		return err
	}
	if f.print {
		return a.printSpec(f.spec)
	}
	return a.start(cmd, f.spec, &f.startFlags)
}
