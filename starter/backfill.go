package main

import (
	"strings"

	"github.com/spf13/cobra"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// backfillFlags are the flags of a backfill, in the words of a spec file.
type backfillFlags struct {
	startFlags
	spec       *spec.Spec
	set        []string
	statements []string
	check      string
	expect     string
	print      bool
}

func newBackfillCommand(a *app) *cobra.Command {
	// The flags write into a spec that has the defaults, so that help shows them.
	s, err := spec.New(task.Backfill)
	flags := backfillFlags{spec: s}
	cmd := &cobra.Command{
		Use:     "backfill",
		GroupID: groupStart,
		Short:   "Start a backfill of a table, from flags",
		Long: `Change the rows of a big table in many small transactions, described by flags
instead of a spec file. Old values are saved for a rollback with the rows that
they are of. --print-spec shows the same backfill as a spec file.

A --statement of your own is run for range after range of the table instead:
:range stands for the range as a condition, :low and :high for its first and
last key. Several of them are one transaction and have to be about the same rows.

Exit codes are those of run.`,
		Example: `  godwit backfill --database shop --table orders --set "region='eu'" --where 'region IS NULL' --watch
  godwit backfill --database shop --table orders --set 'total=c.total' --from corrections --on 'corrections.id = orders.id' …
  godwit backfill --database shop --table events --statement "DELETE FROM events WHERE :range AND at < '2020-01-01'"`,
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

func (f *backfillFlags) add(cmd *cobra.Command) {
	b, flags := f.spec.Backfill, cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&b.Database, "database", "", "`name` of the connection to the table's database")
	flags.StringVarP(&b.Table, "table", "t", "", "`table` to change: schema.table, or table")
	flags.StringArrayVar(&f.set, "set", nil, "`column=expression` in SQL; may be repeated")
	flags.StringVar(&b.Where, "where", "", "SQL `condition`: only rows that meet it are changed (default: all)")
	flags.StringVar(&b.From, "from", "", "another `table`, whose columns --set, --where and --on may use")
	flags.StringVar(&b.On, "on", "", "SQL `condition` that finds a row's partner in --from")
	flags.StringArrayVar(&f.statements, "statement", nil, "`SQL` of your own in place of --set, with :range, or :low and :high; may be repeated")
	flags.IntVar(&b.Passes, "passes", b.Passes, "`number` of times the table is gone through at the most, until no row matches")
	flags.StringVar(&f.check, "check", "", "`query` that verification runs at the end")
	flags.StringVar(&f.expect, "expect", "0", "`value` that --check has to give")
	choice(cmd, &b.Backup, "backup", "what is kept for a rollback")
	flags.IntVar(&b.Shards.Parallel, "parallel", b.Shards.Parallel, "`number` of shards at once")
	flags.Int64Var(&b.Shards.Rows, "shard-rows", b.Shards.Rows, "`rows` per shard, about (default: 125000, more for very big tables)")
	flags.Var(duration{&b.Chunks.Time}, "chunk-time", "how long a transaction should take, about")
	flags.Int64Var(&b.Chunks.Rows, "chunk-rows", b.Chunks.Rows, "`rows` of a transaction at the most")
	flags.Int64Var(&f.spec.Throttle.RowsPerSecond, "rows-per-second", 0, "`limit` over all shards together (default: none)")
	choice(cmd, &b.Cutover.Mode, "cutover", "who starts the cut-over; manual waits for the verb cutover")
	flags.StringVar(&b.Cutover.SQL, "close", "", "`SQL` that closes the backfill, like ALTER TABLE … SET NOT NULL")
	flags.StringVar(&b.Cutover.Undo, "undo", "", "`SQL` that takes --close back in a rollback")
	flags.Var(duration{b.KeepOld}, "keep-old", "how long to keep the old values for a rollback")
	flags.Var(duration{&f.spec.Timeouts.Total}, "limit", "how long all of it may take (default: no limit)")
	choice(cmd, &f.spec.OnFailure, "on-failure", "what to do when it cannot go on")
	choice(cmd, &f.spec.OnTimeout, "on-timeout", "what to do when a limit is passed")
	f.startFlags.add(cmd)
	flags.BoolVar(&f.print, "print-spec", false, "print it as a spec file instead of starting it")
}

func (f *backfillFlags) run(a *app, cmd *cobra.Command) error {
	b := f.spec.Backfill
	var err error
	if b.Set, err = pairs("set", "column=expression", f.set); err != nil {
		return err
	}
	b.Statement = f.statements
	switch {
	case f.check != "":
		b.Check = &spec.QueryCheck{Query: f.check, Expect: spec.Scalar(f.expect)}
	case cmd.Flags().Changed("expect"):
		return usagef("--expect is what --check has to give, which is missing")
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

// pairs reads what a flag that may be repeated says of columns.
func pairs(flag, form string, texts []string) (map[string]string, error) {
	var of map[string]string
	for _, text := range texts {
		column, value, found := strings.Cut(text, "=")
		column = strings.TrimSpace(column)
		if !found {
			return nil, usagef("--%s %q is not %s", flag, text, form)
		}
		if of == nil {
			of = map[string]string{}
		}
		if _, twice := of[column]; twice {
			return nil, usagef("--%s: column %s is given twice", flag, column)
		}
		of[column] = strings.TrimSpace(value)
	}
	return of, nil
}
