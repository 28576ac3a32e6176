package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"godwit/starter/control"
	"godwit/starter/view"
)

func newScheduleListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List schedules, with their next and last runs",
		Long: `List the schedules by their ids: when they start something next, the last run with
its state, how many runs there were, how many were skipped because the one
before was not over, and how many were missed while Temporal was away. Those
that are paused are told with the reason. One that has nothing left to start is
over; Temporal forgets it after a week.`,
		Example: `  godwit schedule list
  godwit schedule list -o json | jq -r '.[] | select(.paused) | .id'`,
		Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			desk, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			schedules, err := desk.Schedules(cmd.Context())
			if err != nil {
				return err
			}
			return a.print.Document(schedules, func(w io.Writer) error { return view.Schedules(w, schedules, a.style()) })
		},
	}
}

func newSchedulePauseCommand(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "pause NAME",
		Short: "Let a schedule start nothing until it is resumed",
		Long: `Let a schedule start nothing until it is resumed. A run that it has started goes
on: godwit pause ID pauses that one. A time to start --at that passes meanwhile
is not made up for.`,
		Example: `  godwit schedule pause nightly --reason "month-end closing"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.reschedule(cmd, func(ctx context.Context, desk *control.Desk) (control.Schedule, string, error) {
				s, err := desk.PauseSchedule(ctx, args[0], reason)
				return s, "paused; go on: godwit schedule resume " + s.ID, err
			})
		},
	}
	cmd.Flags().StringVarP(&reason, "reason", "r", "", "`why`; list shows it")
	return a.aboutSchedule(cmd)
}

func newScheduleResumeCommand(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "resume NAME",
		Short: "Let a paused schedule go on",
		Long: `Let a paused schedule go on with the next of its times. Those that have passed
meanwhile are not made up for: schedule trigger starts it now.`,
		Example: `  godwit schedule resume nightly --reason "closing is done"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.reschedule(cmd, func(ctx context.Context, desk *control.Desk) (control.Schedule, string, error) {
				s, err := desk.ResumeSchedule(ctx, args[0], reason)
				if len(s.Next) == 0 {
					return s, "resumed, and no time is left to come; start it now: godwit schedule trigger " + s.ID, err
				}
				return s, "resumed; next " + strings.TrimSpace(view.Times(s.Next[:1], s.Timezone)), err
			})
		},
	}
	cmd.Flags().StringVarP(&reason, "reason", "r", "", "`why`, for those who look at the schedule in Temporal")
	return a.aboutSchedule(cmd)
}

func newScheduleDeleteCommand(a *app) *cobra.Command {
	return a.aboutSchedule(&cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a schedule",
		Long: `Delete a schedule: it starts nothing any more. A run that it has started goes on,
and all runs keep their ids.`,
		Example: `  godwit schedule delete nightly`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.reschedule(cmd, func(ctx context.Context, desk *control.Desk) (control.Schedule, string, error) {
				s, err := desk.DeleteSchedule(ctx, args[0])
				if s.Last != nil && s.Last.Open {
					return s, "deleted; its last run goes on: godwit status " + s.Last.ID, err
				}
				return s, "deleted", err
			})
		},
	})
}

func newScheduleTriggerCommand(a *app) *cobra.Command {
	var wait, watch, unattended bool
	cmd := &cobra.Command{
		Use:   "trigger NAME",
		Short: "Let a schedule start its migration now",
		Long: `Let a schedule start its migration now, besides its times, also while it is paused.
As run does, it prints the id of the run. While the last run is not over it is
refused.`,
		Example: `  ID=$(godwit schedule trigger nightly)
  godwit schedule trigger nightly --wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := waitOrWatch(wait, watch); err != nil {
				return err
			}
			ctx := cmd.Context()
			desk, err := a.open(ctx)
			if err != nil {
				return err
			}
			started, err := desk.TriggerSchedule(ctx, args[0], unattended)
			if err != nil {
				return err
			}
			return a.started(ctx, desk, started, args[0], wait, watch)
		},
	}
	cmd.Flags().BoolVarP(&wait, "wait", "w", false, "wait for the end; the exit code tells the state")
	cmd.Flags().BoolVar(&watch, "watch", false, "show it at work until the end; the exit code tells the state")
	cmd.Flags().BoolVar(&unattended, "no-worker-check", false, "start it although no worker listens: it begins when one comes")
	return a.aboutSchedule(cmd)
}

// aboutSchedule makes a verb one about a single schedule.
func (a *app) aboutSchedule(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return usagef("which schedule? `%s NAME`; `godwit schedule list` shows them", cmd.CommandPath())
		case 1:
			return nil
		}
		return usagef("one schedule at a time: `%s NAME`, got %s", cmd.CommandPath(), strings.Join(args, " "))
	}
	cmd.ValidArgsFunction = a.completeSchedule
	return cmd
}

// reschedule changes a schedule and tells what it is like then.
func (a *app) reschedule(cmd *cobra.Command, change func(context.Context, *control.Desk) (control.Schedule, string, error)) error {
	desk, err := a.open(cmd.Context())
	if err != nil {
		return err
	}
	s, detail, err := change(cmd.Context(), desk)
	if err != nil {
		return err
	}
	return a.print.Document(s, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: %s\n", s.ID, detail)
		return err
	})
}

// completeSchedule offers the ids of schedules.
func (a *app) completeSchedule(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completionLimit)
	defer cancel()
	desk, err := a.open(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	schedules, err := desk.Schedules(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []string
	for _, s := range schedules {
		ids = append(ids, s.ID+"\t"+s.Name)
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
