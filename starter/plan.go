package main

import (
	"encoding/json"
	"io"
	"time"

	"github.com/spf13/cobra"

	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/starter/view"
)

func newPlanCommand(a *app) *cobra.Command {
	timeout := spec.Duration(5 * time.Minute)
	cmd := &cobra.Command{
		Use:     "plan FILE|-",
		GroupID: groupStart,
		Short:   "Show what a migration would do; changes nothing",
		Long: `Let a worker look at the databases and show what a migration would do: tables
and rows, how types are mapped, the SQL in order, what to look out for, about
how long it takes, and whether to wait for it. Nothing is changed.`,
		Example: `  godwit plan copy.yaml
  godwit plan copy.yaml -o json | jq -r '.statements[]'`,
		Args:              oneFile,
		ValidArgsFunction: completeSpec,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.readSpec(args[0])
			if err != nil {
				return err
			}
			raw, err := json.Marshal(s)
			if err != nil {
				return err
			}
			desk, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			result, err := desk.Ask(cmd.Context(), a.queue, task.InquiryInput{Plan: &task.PlanInput{Spec: raw}}, timeout.Std())
			if err != nil {
				return err
			}
			err = a.print.Document(result.Plan, func(w io.Writer) error { return view.Plan(w, *result.Plan, a.style()) })
			if err == nil {
				a.print.Note("nothing has been changed; start it: godwit run %s", args[0])
			}
			return err
		},
	}
	cmd.Flags().Var(duration{&timeout}, "timeout", "time after which to give up")
	return cmd
}
