package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"godwit/starter/control"
)

// oneID is for verbs that are about one migration.
func oneID(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usagef("which migration? `%s ID`; `godwit list` shows the ids", cmd.CommandPath())
	case 1:
		return nil
	}
	return usagef("one migration at a time: `%s ID`, got %s", cmd.CommandPath(), strings.Join(args, " "))
}

// oneFile is for verbs that read a spec file.
func oneFile(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usagef("which spec file? `%s FILE`, or - for standard input; `godwit schema` prints what may be in it", cmd.CommandPath())
	case 1:
		return nil
	}
	return usagef("one spec file at a time: `%s FILE`, got %s", cmd.CommandPath(), strings.Join(args, " "))
}

// nothing is for verbs that take flags only.
func nothing(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("`%s` takes no argument, got %s (`%s --help` says more)", cmd.CommandPath(), strings.Join(args, " "), cmd.CommandPath())
	}
	return nil
}

// complete offers values for a flag.
func complete(cmd *cobra.Command, flag string, values ...string) {
	// An error would mean that there is no such flag: a test looks at every one.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// completionLimit is how long somebody waits who presses Tab.
const completionLimit = 2 * time.Second

// completeID offers the ids of migrations, newest first.
func (a *app) completeID(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completionLimit)
	defer cancel()
	desk, err := a.open(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	migrations, _, err := desk.List(ctx, control.Filter{Limit: 50})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []string
	for _, m := range migrations {
		ids = append(ids, m.ID+"\t"+string(m.State)+" "+m.Name)
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeSpec offers YAML files.
func completeSpec(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}
