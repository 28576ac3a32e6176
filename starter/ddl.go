package main

import (
	"time"

	"github.com/spf13/cobra"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// ddlFlags are the flags of a change of a table, in the words of a spec file.
type ddlFlags struct {
	startFlags
	spec    *spec.Spec
	renames []string
	columns []string
	kill    bool
	after   spec.Duration
	most    int
	print   bool
}

// The defaults of kill_blockers, which a spec has only where they are asked for.
const (
	killAfter = 30 * time.Second
	killMost  = 3
)

func newDDLCommand(a *app) *cobra.Command {
	// The flags write into a spec that has the defaults, so that help shows them.
	s, err := spec.New(task.DDL)
	flags := ddlFlags{spec: s}
	cmd := &cobra.Command{
		Use:     "ddl",
		GroupID: groupStart,
		Short:   "Start a change of a table's definition, from flags",
		Long: `Change the definition of a big table while it is being used, described by flags
instead of a spec file. What the server can do in its catalog alone, or in steps
that keep nobody out while rows are read, is done under a short wait for the
table's lock, again and again until it is had. Anything else is done by an online
copy: a new table follows the application's changes, is compared row by row, and
takes the table's place in a moment. ` + "`godwit plan`" + ` says which it will be.
--print-spec shows the same change as a spec file.

Exit codes are those of run.`,
		Example: `  godwit ddl --database shop --table orders --alter "ADD COLUMN region varchar(16)" --wait
  godwit ddl --database shop --table orders --alter "ALTER customer_id SET NOT NULL" --cutover manual
  godwit ddl --database shop --table orders --alter "DROP COLUMN old" --between 02:00-04:00 --kill-blockers
  godwit ddl --database shop --table orders --alter "RENAME COLUMN cust TO buyer, ALTER total TYPE bigint" --rename cust=buyer --column "total=total*100" --watch`,
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

func (f *ddlFlags) add(cmd *cobra.Command) {
	d, flags := f.spec.DDL, cmd.Flags()
	f.after, f.most = spec.Duration(killAfter), killMost
	flags.SortFlags = false
	flags.StringVar(&d.Database, "database", "", "`name` of the connection to the table's database")
	flags.StringVarP(&d.Table, "table", "t", "", "`table` to change: schema.table, or table")
	flags.StringVar(&d.Alter, "alter", "", "`SQL` that follows ALTER TABLE and the table's name")
	choice(cmd, &d.Strategy, "strategy", "how it is done")
	flags.StringArrayVar(&f.renames, "rename", nil, "`old=new` name of a column that the ALTER renames; may be repeated")
	flags.StringArrayVar(&f.columns, "column", nil, "`column=expression`: its values in an online copy, in SQL; may be repeated")
	choice(cmd, &d.Indexes, "indexes", "when an online copy gets the indexes that only serve readers")
	flags.IntVar(&d.Shards.Parallel, "parallel", d.Shards.Parallel, "`number` of shards of an online copy at once")
	flags.Int64Var(&d.Shards.Rows, "shard-rows", d.Shards.Rows, "`rows` per shard, about (default: 125000, more for very big tables)")
	flags.Var(duration{&d.Chunks.Time}, "chunk-time", "how long a transaction of an online copy should take, about")
	flags.StringVar(&d.Undo, "undo", "", "`SQL` that takes a direct change back in a rollback")
	choice(cmd, &d.Cutover.Mode, "cutover", "who starts the cut-over; manual waits for the verb cutover")
	flags.StringVar((*string)(&d.Cutover.Between), "between", "", "`time` of the day in which it may be made, in UTC, like 02:00-04:00 (default: any)")
	flags.Var(duration{&d.Cutover.Timeout}, "lock-timeout", "how long one try waits for the table's lock")
	flags.Var(duration{&d.Cutover.RetryDelay}, "retry-delay", "the wait after a try in vain; it doubles with each")
	flags.BoolVar(&f.kill, "kill-blockers", false, "end sessions that keep the table locked")
	flags.Var(duration{&f.after}, "kill-after", "how long they are waited for before")
	flags.IntVar(&f.most, "kill-most", f.most, "`number` of sessions that are ended for one step, at the most")
	flags.Var(duration{d.KeepOld}, "keep-old", "how long a rollback stays possible after the cut-over")
	flags.Var(duration{&f.spec.Timeouts.Cutover}, "cutover-limit", "how long all tries of the cut-over may take together")
	choice(cmd, &f.spec.OnFailure, "on-failure", "what to do when it cannot go on")
	choice(cmd, &f.spec.OnTimeout, "on-timeout", "what to do when a limit is passed")
	f.startFlags.add(cmd)
	flags.BoolVar(&f.print, "print-spec", false, "print it as a spec file instead of starting it")
}

func (f *ddlFlags) run(a *app, cmd *cobra.Command) error {
	d := f.spec.DDL
	var err error
	if d.Renames, err = pairs("rename", "old=new", f.renames); err != nil {
		return err
	}
	if d.Columns, err = pairs("column", "column=expression", f.columns); err != nil {
		return err
	}
	switch {
	case f.kill:
		d.KillBlockers = &spec.KillBlockers{After: f.after, Most: f.most}
	case cmd.Flags().Changed("kill-after"), cmd.Flags().Changed("kill-most"):
		return usagef("--kill-after and --kill-most go with --kill-blockers")
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
