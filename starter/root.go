package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"godwit/internal/document"
	"godwit/internal/task"
	"godwit/starter/printer"
)

// The groups of verbs, as help shows them.
const (
	groupStart = "start"
	groupLook  = "look"
	groupSteer = "steer"
	groupSetUp = "set up"
)

// verbs are the commands, in the order in which help lists them.
var verbs = []func(*app) *cobra.Command{
	newRunCommand, newCopyCommand, newDDLCommand, newBackfillCommand, newReindexCommand, newInitCommand, newPlanCommand, newScheduleCommand, newDemoCommand,
	newListCommand, newCapacityCommand, newStatusCommand, newWatchCommand, newWaitCommand, newEventsCommand,
	newPauseCommand, newResumeCommand, newThrottleCommand, newCutoverCommand, newApproveCommand, newRetryCommand, newSkipCommand,
	newCancelCommand, newRollbackCommand, newCleanupCommand,
	newSetupCommand, newSchemaCommand, newVersionCommand,
}

const rootLong = `Godwit runs long database migrations as durable Temporal workflows.

A migration is started with run and goes on by itself: you may log out, and
workers, Temporal, databases and the network may fail meanwhile. Its id is how
you look at it and steer it.`

const rootExample = `  godwit plan copy.yaml              # what would happen; changes nothing
  ID=$(godwit run copy.yaml)         # start it; returns at once
  godwit watch $ID                   # look at it; Ctrl-C leaves it alone
  godwit wait $ID && echo done       # exit code 0 only for SUCCESS`

// Help lists the verbs in the order above, not in that of the alphabet. Cobra
// keeps this in a variable of its own.
func init() { cobra.EnableCommandSorting = false }

// execute is the process: it runs one command line and returns the exit code.
func execute(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	a := &app{in: in, out: out, err: errs}
	defer a.close()
	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	report(errs, err)
	return exitCode(err)
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "godwit VERB",
		Short:         "Long database migrations that survive everything",
		Long:          rootLong,
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,

		DisableFlagsInUseLine: true,
		RunE:                  unknownVerb,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return a.prepare()
		},
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.AddGroup(
		&cobra.Group{ID: groupStart, Title: "Start:"}, &cobra.Group{ID: groupLook, Title: "Look:"},
		&cobra.Group{ID: groupSteer, Title: "Steer:"}, &cobra.Group{ID: groupSetUp, Title: "Set up:"},
	)
	root.SetHelpCommandGroupID(groupSetUp)
	root.SetCompletionCommandGroupID(groupSetUp)
	globalFlags(root, a)
	for _, newCommand := range verbs {
		root.AddCommand(newCommand(a))
	}
	return root
}

func globalFlags(root *cobra.Command, a *app) {
	f := root.PersistentFlags()
	f.SortFlags = false
	f.StringVarP(&a.output, "output", "o", string(printer.Text), "`form` of the output: text or json")
	f.StringVar(&a.address, "address", "", "`host:port` of Temporal (default: TEMPORAL_ADDRESS, else localhost:7233)")
	f.StringVarP(&a.namespace, "namespace", "n", "", "namespace `name` in Temporal (default: TEMPORAL_NAMESPACE, else default)")
	f.StringVar(&a.profile, "profile", "", "`name` of a profile in temporal.toml (default: TEMPORAL_PROFILE)")
	f.StringVar(&a.queue, "task-queue", firstSet(os.Getenv("GODWIT_TASK_QUEUE"), task.DefaultTaskQueue), "`name` of the task queue that workers listen to, also GODWIT_TASK_QUEUE")
	f.BoolVar(&a.debug, "debug", false, "show what the Temporal client logs")
	complete(root, "output", string(printer.Text), string(printer.JSON))
}

func (a *app) prepare() error {
	format := printer.Format(a.output)
	if format != printer.Text && format != printer.JSON {
		return usagef("--output %q is neither text nor json", a.output)
	}
	a.print = printer.New(a.out, a.err, format)
	return nil
}

// unknownVerb is what godwit itself does: help, when nothing is asked for.
func unknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	var names []string
	for _, command := range cmd.Commands() {
		names = append(names, command.Name())
	}
	hint := ""
	if near := document.Nearest(args[0], names); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return usagef("there is no verb %q%s (`godwit help` lists them)", args[0], hint)
}

// flagError makes a usage error of a flag that is wrong: with the flag that
// was probably meant, or with what its value should look like.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown):
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := document.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			err = fmt.Errorf("%w; did you mean --%s?", err, near)
		}
	case errors.As(err, &invalid):
		flag := invalid.GetFlag()
		err = fmt.Errorf("--%s cannot be %q: it is %s", flag.Name, invalid.GetValue(), shapeOf(flag.Value.Type()))
	}
	return usagef("%w (`%s --help` lists the flags)", err, cmd.CommandPath())
}

// shapeOf says what the values of a type of flags look like.
func shapeOf(kind string) string {
	switch kind {
	case "int", "int64":
		return "a number"
	case "duration":
		return "a time like 30s, 5m, 12h or 7d"
	case "bool":
		return "true or false"
	}
	return "a " + kind
}

func firstSet(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

func debugLogger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
