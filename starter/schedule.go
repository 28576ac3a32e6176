package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"godwit/internal/document"
	"godwit/internal/spec"
	"godwit/starter/control"
	"godwit/starter/timing"
	"godwit/starter/view"
)

// shownTimes is how many of the times to come are shown when a schedule is made.
const shownTimes = 3

// scheduleFlags are the flags of a schedule that is made.
type scheduleFlags struct {
	cron, at, zone string
	id, name       string
	priority       int
	catchUp        spec.Duration
	keepGoing      bool
	unattended     bool
}

func (f *scheduleFlags) add(cmd *cobra.Command) {
	f.catchUp = spec.Duration(time.Hour)
	flags := cmd.Flags()
	flags.StringVar(&f.cron, "cron", "", "start it again and again: an `expression` like \"0 2 * * *\", @daily or @every 12h")
	flags.StringVar(&f.at, "at", "", "start it once, at a `time` like \"2024-11-30 02:00\"")
	flags.StringVar(&f.zone, "timezone", "UTC", "`zone` of --cron and --at, like Europe/Berlin")
	flags.StringVar(&f.id, "id", "", "`id` of the schedule, with which those of its runs begin (default: the file's name)")
	flags.StringVar(&f.name, "name", "", "`name` shown in lists; it wins over the spec's")
	flags.IntVar(&f.priority, "priority", 0, "`number` from 1 (first) to 5 (last); it wins over the spec's")
	flags.Var(duration{&f.catchUp}, "catch-up", "how late a start may be that was missed while Temporal was away, from 10s")
	flags.BoolVar(&f.keepGoing, "keep-going", false, "go on after a run that failed, instead of pausing")
	flags.BoolVar(&f.unattended, "no-worker-check", false, "make it although no worker listens: its runs begin when one comes")
	complete(cmd, "priority", "1", "2", "3", "4", "5")
	complete(cmd, "cron", "@hourly", "@daily", "@weekly", "@monthly", "@every 12h")
}

func newScheduleCommand(a *app) *cobra.Command {
	var flags scheduleFlags
	cmd := &cobra.Command{
		Use:     "schedule FILE|- --cron EXPRESSION|--at TIME",
		GroupID: groupStart,
		Short:   "Start a migration later, once or again and again",
		Long: `Make a schedule: Temporal starts the migration that a spec file describes at the
times that --cron says, or once --at a time, as run would. The spec is kept in
the schedule; what is changed in the file later makes no difference.

The runs have ids of their own: nightly-2024-11-30T02:00:00Z, in UTC. All verbs
work with them.

While a run is not over (also waiting, paused, or keeping something for a
rollback), what the schedule would start is skipped, and list counts it. After
a run that failed, the schedule pauses, since a failed migration keeps its
tables to itself: retry or roll it back, then schedule resume. What was missed
while Temporal was away is made up for once, unless it is later than --catch-up.

A cron expression has five fields: minute, hour, day of the month, month, day of
the week. @every 12h is at midnight and noon UTC, whatever the zone. A time that
clocks leave out when they are put forward is left out, too.`,
		Example: `  godwit schedule nightly.yaml --cron "0 2 * * *" --timezone Europe/Berlin
  godwit schedule purge.yaml --cron "@every 6h" --id purge --catch-up 6h
  godwit schedule move.yaml --at "2030-11-30 02:00"
  godwit schedule list
  godwit schedule pause nightly --reason "month-end closing"`,
		Args:              oneFileToSchedule,
		ValidArgsFunction: completeSpec,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.schedule(cmd, args[0], &flags) },
	}
	flags.add(cmd)
	cmd.AddCommand(newScheduleListCommand(a), newSchedulePauseCommand(a), newScheduleResumeCommand(a),
		newScheduleTriggerCommand(a), newScheduleDeleteCommand(a))
	return cmd
}

// oneFileToSchedule is for a verb that reads a spec file and has verbs of its own.
func oneFileToSchedule(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return usagef("which spec file? `%s FILE --cron …`; `%s list` shows the schedules that there are", cmd.CommandPath(), cmd.CommandPath())
	case len(args) > 1:
		if near := document.Nearest(args[0], subverbs(cmd)); near != "" {
			return usagef("there is no verb %q; did you mean `%s %s`?", args[0], cmd.CommandPath(), near)
		}
	}
	return oneFile(cmd, args)
}

func subverbs(cmd *cobra.Command) []string {
	var names []string
	for _, command := range cmd.Commands() {
		names = append(names, command.Name())
	}
	return names
}

// schedule checks everything, makes the schedule and says when it starts what.
func (a *app) schedule(cmd *cobra.Command, file string, flags *scheduleFlags) error {
	booking, err := a.booking(cmd, file, flags)
	if err != nil {
		return err
	}
	desk, err := a.open(cmd.Context())
	if err != nil {
		return err
	}
	made, err := desk.Book(cmd.Context(), booking)
	if err != nil {
		return err
	}
	err = a.print.Document(made, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, made.ID)
		return err
	})
	a.print.Note("it starts %s at\n%s", made.Name, view.Times(made.Next[:min(shownTimes, len(made.Next))], made.Timezone))
	if made.Cron != "" {
		if note := keeping(booking.Spec, made.Next); note != "" {
			a.print.Note("%s", note)
		}
	}
	return err
}

func (a *app) booking(cmd *cobra.Command, file string, flags *scheduleFlags) (control.Booking, error) {
	booking := control.Booking{CatchUp: flags.catchUp.Std(), KeepGoing: flags.keepGoing, Unattended: flags.unattended}
	s, err := a.readSpec(file)
	if errors.Is(err, fs.ErrNotExist) {
		if near := document.Nearest(file, subverbs(cmd)); near != "" {
			return booking, usagef("%w; did you mean `%s %s`?", err, cmd.CommandPath(), near)
		}
	}
	if err != nil {
		return booking, err
	}
	if err := (&startFlags{name: flags.name, priority: flags.priority}).apply(cmd, s); err != nil {
		return booking, err
	}
	booking.Spec = s
	if booking.Timing, err = timing.Read(flags.cron, flags.at, flags.zone, time.Now()); err != nil {
		return booking, usageError{err}
	}
	if booking.CatchUp < 10*time.Second {
		return booking, usagef("--catch-up is at least 10s, got %s: Temporal needs as long to start what is due", view.Duration(booking.CatchUp))
	}
	booking.ID, err = scheduleID(flags.id, file)
	return booking, err
}

// scheduleID is the id that was asked for, or one made of the file's name.
func scheduleID(id, file string) (string, error) {
	if id == "" && file == "-" {
		return "", usagef("a schedule of a spec from standard input needs an --id, like --id nightly")
	}
	if id == "" {
		id = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	if err := control.CheckScheduleID(id); err != nil {
		return "", usagef("%w; choose one with --id", err)
	}
	return id, nil
}

// keeping says that runs are skipped since those before them keep something
// for a rollback for as long as that; empty when they are not.
func keeping(s *spec.Spec, next []time.Time) string {
	keep := keepOld(s)
	for i := 1; i < len(next); i++ {
		if apart := next[i].Sub(next[i-1]); keep >= apart {
			return fmt.Sprintf("a run that keeps something for a rollback is not over until keep_old (%s) has passed, and starts are skipped until then; "+
				"these are %s apart: say a shorter keep_old in the spec", days(keep), days(apart))
		}
	}
	return ""
}

// keepOld is how long a migration keeps what a rollback would need, if it does.
func keepOld(s *spec.Spec) time.Duration {
	var keep *spec.Duration
	switch {
	case s.Copy != nil && s.Copy.ExistingRows == spec.ReplaceRows:
		keep = s.Copy.KeepOld
	case s.DDL != nil:
		keep = s.DDL.KeepOld
	case s.Backfill != nil:
		keep = s.Backfill.KeepOld
	case s.Reindex != nil:
		keep = s.Reindex.KeepOld
	}
	if keep == nil {
		return 0
	}
	return keep.Std()
}
