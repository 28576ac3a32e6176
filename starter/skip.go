package main

import (
	"context"

	"github.com/spf13/cobra"

	"godwit/internal/task"
)

func newSkipCommand(a *app) *cobra.Command {
	return stepCommand(a, task.SkipUpdate, "is being skipped", &cobra.Command{
		Use:   "skip ID STEP",
		Short: "Skip a step of a pipeline; what it has begun is undone",
		Long: `Pass over a step of a pipeline, whether it has not begun, is at work, or has
failed. What it has begun is undone first, and then the next one begins: status shows
when it is.

Of a step whose undoing has failed, or that cannot be undone, it means: leave it as
it is, and go on undoing those before it.`,
		Example: `  godwit skip $ID index --reason "the index is there already"`,
	})
}

func newApproveCommand(a *app) *cobra.Command {
	return stepCommand(a, task.ApproveUpdate, "has been approved", &cobra.Command{
		Use:   "approve ID STEP",
		Short: "Let a step of a pipeline begin that waits for an operator",
		Long: `Let a step begin whose spec says approve: true. It may be approved before it is its
turn.`,
		Example: `  godwit approve $ID tight --reason "checked by ann"`,
	})
}

// stepCommand is a verb about a step.
func stepCommand(a *app, verb, done string, cmd *cobra.Command) *cobra.Command {
	var flags reasonFlags
	cmd.GroupID, cmd.Args, cmd.ValidArgsFunction = groupSteer, idAndStep, a.completeStep
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.updateStep(cmd, args, verb, &flags, done) }
	flags.add(cmd)
	return cmd
}

// updateStep asks something about the step that is named after the id.
func (a *app) updateStep(cmd *cobra.Command, args []string, verb string, flags *reasonFlags, done string) error {
	return a.update(cmd, args[0], verb, task.StepRequest{Request: flags.request(), Step: args[1]}, "step "+args[1]+" "+done)
}

// idAndStep is for verbs that are about one step of a pipeline.
func idAndStep(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return usagef("which step of which pipeline? `%s ID STEP`; `godwit status ID` shows the steps", cmd.CommandPath())
	}
	return nil
}

// oneIDAndStep is for verbs that may be about one step.
func oneIDAndStep(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return idAndStep(cmd, args)
	}
	return oneID(cmd, args)
}

// completeStep offers ids, and then the names of the pipeline's steps.
func (a *app) completeStep(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeID(cmd, args, begun)
	}
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completionLimit)
	defer cancel()
	desk, err := a.open(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	answer, err := desk.Status(ctx, args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, step := range answer.Status.Steps {
		if step.Kind != "" {
			names = append(names, step.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
