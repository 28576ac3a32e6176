package main

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"godwit/internal/document"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// copyFlags are the flags of a copy, in the words of a spec file.
type copyFlags struct {
	startFlags
	spec   *spec.Spec
	tables []string
	print  bool
}

func newCopyCommand(a *app) *cobra.Command {
	// The flags write into a spec that has the defaults, so that help shows them.
	s, err := spec.New(task.Copy)
	flags := copyFlags{spec: s}
	cmd := &cobra.Command{
		Use:     "copy",
		GroupID: groupStart,
		Short:   "Start a copy between two databases, from flags",
		Long: `Start a copy from one database to another, described by flags instead of a spec
file. The names of connections are known to the worker only. --print-spec shows
the same copy as a spec file, to keep or to refine.

Exit codes are those of run.`,
		Example: `  godwit copy --source legacy --target warehouse --watch
  godwit copy --source legacy --target warehouse --table 'shop.*' --table '!shop.tmp_*'
  godwit copy --source legacy --target warehouse --table shop.orders=public.orders --print-spec > copy.yaml`,
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

func (f *copyFlags) add(cmd *cobra.Command) {
	c, flags := f.spec.Copy, cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&c.Source, "source", "", "`name` of the connection to copy from")
	flags.StringVar(&c.Target, "target", "", "`name` of the connection to copy to")
	flags.StringArrayVarP(&f.tables, "table", "t", nil, "`table` to copy, or a pattern like shop.* or !shop.tmp_*, or source=target; may be repeated (default: all)")
	choice(cmd, &c.Schema, "schema", "where the target's tables come from")
	choice(cmd, &c.ExistingRows, "existing-rows", "what to do with a target table that has rows")
	flags.IntVar(&c.Shards.Parallel, "parallel", c.Shards.Parallel, "`number` of shards at once")
	flags.Int64Var(&c.Shards.Rows, "shard-rows", c.Shards.Rows, "`rows` per shard, about (default: 250000, more for very big tables)")
	flags.Int64Var(&f.spec.Throttle.RowsPerSecond, "rows-per-second", 0, "`limit` over all shards together (default: none)")
	choice(cmd, &f.spec.Verify.Mode, "verify", "what to compare at the end")
	choice(cmd, &c.Cutover.Mode, "cutover", "who starts the cut-over; manual waits for the verb cutover")
	flags.Var(duration{c.KeepOld}, "keep-old", "how long to keep what a rollback needs")
	flags.Var(duration{&f.spec.Timeouts.Total}, "limit", "how long all of it may take (default: no limit)")
	choice(cmd, &f.spec.OnFailure, "on-failure", "what to do when it cannot go on")
	choice(cmd, &f.spec.OnTimeout, "on-timeout", "what to do when a limit is passed")
	f.startFlags.add(cmd)
	flags.BoolVar(&f.print, "print-spec", false, "print it as a spec file instead of starting it")
}

func (f *copyFlags) run(a *app, cmd *cobra.Command) error {
	for _, text := range f.tables {
		name, to, _ := strings.Cut(text, "=")
		f.spec.Copy.Tables = append(f.spec.Copy.Tables, spec.TableSpec{Name: name, To: to})
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

// printSpec prints a spec as a file that can be kept.
func (a *app) printSpec(s *spec.Spec) error {
	return a.print.Document(s, func(w io.Writer) error {
		flat, err := json.Marshal(s)
		if err != nil {
			return err
		}
		lines, err := yaml.JSONToYAML(flat)
		if err != nil {
			return err
		}
		_, err = w.Write(lines)
		return err
	})
}

// choice is a flag whose value is one of a few words.
func choice[T interface {
	~string
	document.Chooser
}](cmd *cobra.Command, target *T, name, usage string) {
	cmd.Flags().Var(word[T]{target}, name, usage+": "+strings.Join((*target).Choices(), ", "))
	complete(cmd, name, (*target).Choices()...)
}

// word is a choice as a flag's value; whether it is one of the choices is
// found out together with everything else that may be wrong with a spec.
type word[T ~string] struct{ target *T }

func (w word[T]) String() string {
	if w.target == nil {
		return ""
	}
	return string(*w.target)
}

func (w word[T]) Set(text string) error {
	*w.target = T(text)
	return nil
}

func (word[T]) Type() string { return "word" }

// duration is a duration of a spec as a flag's value.
type duration struct{ target *spec.Duration }

func (d duration) String() string {
	if d.target == nil || *d.target == 0 {
		return ""
	}
	return days(d.target.Std())
}

func (d duration) Set(text string) error {
	v, err := spec.ParseDuration(text)
	if err == nil {
		*d.target = v
	}
	return err
}

func (duration) Type() string { return "duration" }
