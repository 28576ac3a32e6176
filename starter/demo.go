package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"godwit/internal/demo"
	"godwit/internal/demo/shop"
	"godwit/internal/sandbox"
	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/starter/control"
)

type demoFlags struct {
	once, mysql, ddl bool
	rows, limit      int64
	seed             uint64
}

func newDemoCommand(a *app) *cobra.Command {
	var flags demoFlags
	cmd := &cobra.Command{
		Use:     "demo",
		GroupID: groupStart,
		Short:   "Show a copy from MariaDB to PostgreSQL on servers of its own",
		Long: `Start a Temporal server with its Web UI, a MariaDB with a shop in it, an empty
PostgreSQL and a worker, all of them throw-away, and copy the shop from the one
to the other before your eyes.

Then everything stays up, to be looked at and to be killed: what is killed is
started again, and a copy goes on where it was. Ctrl-C, at any moment, stops
and removes all of it; with --once the demo does so itself, and its exit code
tells how the copy ended, as that of wait does.`,
		Example: `  godwit demo
  godwit demo --rows 10000 --once
  godwit demo --ddl --once
  godwit demo --rows-per-second 20000    # slowly, to have time for kill -9`,
		Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.check(cmd); err != nil {
				return err
			}
			return a.demo(cmd.Context(), flags)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&flags.once, "once", false, "stop everything when the copy is done")
	f.Int64Var(&flags.rows, "rows", shop.DefaultRows, "`rows` of the shop, in all tables together")
	f.Uint64Var(&flags.seed, "seed", 1, "`number` that the shop's rows are made from")
	f.BoolVar(&flags.mysql, "mysql", false, "copy from MySQL instead of MariaDB")
	f.BoolVar(&flags.ddl, "ddl", false, "then alter the orders in PostgreSQL while an application writes to them, and show what it feels")
	f.Int64Var(&flags.limit, "rows-per-second", 0, "`limit` of the copy, to have time for looking at it (default: none)")
	return cmd
}

func (f demoFlags) check(cmd *cobra.Command) error {
	for _, name := range []string{"address", "namespace", "profile"} {
		if cmd.Flags().Changed(name) {
			return usagef("the demo has a Temporal of its own: leave out --%s", name)
		}
	}
	if f.rows < shop.MinRows {
		return usagef("--rows %d are too few: a shop has %d at the least", f.rows, shop.MinRows)
	}
	if f.limit < 0 {
		return usagef("--rows-per-second cannot be negative")
	}
	return nil
}

func (f demoFlags) source() sandbox.Kind {
	if f.mysql {
		return sandbox.MySQL
	}
	return sandbox.MariaDB
}

// demo sets the stage, shows the copy, and stays until it is interrupted.
func (a *app) demo(ctx context.Context, flags demoFlags) (err error) {
	began := time.Now()
	// A reader or a terminal that goes away ends it, but in order.
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	ctx, broken := context.WithCancelCause(ctx)
	defer broken(nil)
	show := newDemoScreen(a)
	defer show.Close()
	show.intro(flags)
	stage, err := demo.Set(ctx, demo.Options{
		Source: flags.source(), Rows: flags.rows, Seed: flags.seed, Queue: a.queue, Audience: show, Broken: broken,
	})
	if err != nil {
		return cause(ctx, err)
	}
	defer func() {
		show.stopping(ctx.Err() != nil)
		if closing := stage.Close(); closing != nil {
			err = errors.Join(err, closing)
			return
		}
		show.Note("stopped; nothing of it is left")
	}()
	setUp := time.Since(began)
	st, err := a.perform(ctx, stage, show, flags)
	if err != nil {
		return cause(ctx, err)
	}
	report := demoReportOf(stage, st, flags, setUp, time.Since(began))
	if flags.ddl && st.State == task.Success {
		if report.Change, err = a.alter(ctx, stage, show); err != nil {
			return cause(ctx, err)
		}
		st.State = report.Change.Migration.State
	}
	if err := show.outcome(report); err != nil {
		return err
	}
	if !flags.once {
		show.encore(stage, st)
		<-ctx.Done()
		if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return ended(st.State)
}

// cause is why the show was stopped, if it was.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// perform starts the copy as run does, and shows it as watch does.
func (a *app) perform(ctx context.Context, stage *demo.Stage, show *demoScreen, flags demoFlags) (task.Status, error) {
	desk, err := a.openOn(ctx, stage)
	if err != nil {
		return task.Status{}, err
	}
	if err := awaitWorker(ctx, desk, a.queue); err != nil {
		return task.Status{}, err
	}
	s, err := demoSpec(flags)
	if err != nil {
		return task.Status{}, err
	}
	started, err := desk.Start(ctx, control.Order{Spec: s})
	if err != nil {
		return task.Status{}, err
	}
	show.begun(started)
	answer, err := desk.Status(ctx, started.ID)
	if err != nil {
		return task.Status{}, err
	}
	answer, err = look(ctx, desk, answer, show.copying())
	return answer.Status, err
}

// openOn connects to the stage's Temporal, whatever the environment says of another one.
func (a *app) openOn(ctx context.Context, stage *demo.Stage) (*control.Desk, error) {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "TEMPORAL_") {
			if err := os.Unsetenv(name); err != nil {
				return nil, err
			}
		}
	}
	if err := os.Setenv("TEMPORAL_CONFIG_FILE", os.DevNull); err != nil {
		return nil, err
	}
	a.address = stage.Address()
	return a.open(ctx)
}

// awaitWorker waits until the worker, which has been started, asks for work. One that does not stay up breaks the show.
func awaitWorker(ctx context.Context, desk *control.Desk, queue string) error {
	for {
		err := desk.RequireWorker(ctx, queue)
		var none *control.NoWorkerError
		if !errors.As(err, &none) {
			return err
		}
	}
}

// demoSpec copies all of the shop.
func demoSpec(flags demoFlags) (*spec.Spec, error) {
	s, err := spec.New(task.Copy)
	if err != nil {
		return nil, err
	}
	s.Copy.Source, s.Copy.Target = demo.SourceConnection, demo.TargetConnection
	s.Throttle.RowsPerSecond = flags.limit
	s.Defaults()
	return s, s.Validate()
}

// demoReport is all that is to be told at the end.
type demoReport struct {
	State    task.State  `json:"state"`
	ID       string      `json:"id"`
	URL      string      `json:"url"`
	Rows     int64       `json:"rows"`
	Seed     uint64      `json:"seed"`
	Temporal string      `json:"temporal"`
	Source   string      `json:"source"`
	Target   string      `json:"target"`
	Seconds  demoSeconds `json:"seconds"`
	// Migration is what `godwit status -o json` prints.
	Migration task.Status `json:"migration"`
	// Change is what became of the change of a table, with --ddl.
	Change *demoChange `json:"change,omitempty"`
}

// demoSeconds are how long things took. The shop is made while other servers start, which is a part of setting up.
type demoSeconds struct {
	SetUp float64 `json:"set_up"`
	Seed  float64 `json:"seed"`
	Copy  float64 `json:"copy"`
	Total float64 `json:"total"`
}

func demoReportOf(stage *demo.Stage, st task.Status, flags demoFlags, setUp, total time.Duration) demoReport {
	r := demoReport{
		State: st.State, ID: st.ID, URL: st.URL, Rows: flags.rows, Seed: flags.seed,
		Temporal: fmt.Sprintf("Temporal %s", stage.Temporal()), Source: stage.SourceTitle(), Target: stage.TargetTitle(),
		Seconds:   demoSeconds{SetUp: inSeconds(setUp), Seed: inSeconds(stage.SeedTime), Total: inSeconds(total)},
		Migration: st,
	}
	if end := reached(st); st.StartedAt != nil && end != nil {
		r.Seconds.Copy = inSeconds(end.Sub(*st.StartedAt))
	}
	return r
}

// reached is when a migration reached the state it is in: the workflow of one that has succeeded may still run.
func reached(st task.Status) *time.Time {
	end := st.EndedAt
	for _, step := range st.Steps {
		if end == nil || st.EndedAt == nil && step.EndedAt != nil && step.EndedAt.After(*end) {
			end = step.EndedAt
		}
	}
	return end
}

// inSeconds is a duration to a millisecond.
func inSeconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }
