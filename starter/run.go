package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"godwit/internal/spec"
	"godwit/starter/control"
)

// startFlags are the flags of the verbs that start a migration.
type startFlags struct {
	id, name    string
	priority    int
	wait, watch bool
	unattended  bool
}

func (f *startFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.id, "id", "", "`id` of your own, for a start that may be repeated: the same id never runs twice")
	flags.StringVar(&f.name, "name", "", "`name` shown in lists; it wins over the spec's")
	flags.IntVar(&f.priority, "priority", 0, "`number` from 1 (first) to 5 (last); it wins over the spec's")
	flags.BoolVarP(&f.wait, "wait", "w", false, "wait for the end; the exit code tells the state")
	flags.BoolVar(&f.watch, "watch", false, "show it at work until the end; the exit code tells the state")
	flags.BoolVar(&f.unattended, "no-worker-check", false, "start it although no worker listens: it begins when one comes")
	complete(cmd, "priority", "1", "2", "3", "4", "5")
}

// apply lets the flags win over the spec.
func (f *startFlags) apply(cmd *cobra.Command, s *spec.Spec) error {
	if err := waitOrWatch(f.wait, f.watch); err != nil {
		return err
	}
	if f.name != "" {
		s.Name = f.name
	}
	if cmd.Flags().Changed("priority") {
		s.Priority = f.priority
	}
	if err := s.Validate(); err != nil {
		return usageError{err}
	}
	return nil
}

// waitOrWatch refuses to do both.
func waitOrWatch(wait, watch bool) error {
	if wait && watch {
		return usagef("--wait and --watch exclude each other: --watch waits as well")
	}
	return nil
}

func newRunCommand(a *app) *cobra.Command {
	var flags startFlags
	cmd := &cobra.Command{
		Use:     "run FILE|-",
		GroupID: groupStart,
		Short:   "Start a migration from a spec file",
		Long: `Start the migration that a spec file describes, and return at once with its id
on standard output. From then on it goes on by itself.

With --id a start may be repeated safely: while the migration of that id runs,
or when it is done, the second start is refused and says how it stands.

Exit codes with --wait and --watch: 0 SUCCESS, 3 FAILED, 4 TIMEOUT,
5 CANCELLED, 6 ROLLED_BACK, 1 anything else. Usage errors are always 2.`,
		Example: `  ID=$(godwit run copy.yaml)
  godwit run copy.yaml --id nightly-2024-11-29 --wait
  godwit copy --source legacy --target warehouse --print-spec | godwit run -`,
		Args:              oneFile,
		ValidArgsFunction: completeSpec,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.readSpec(args[0])
			if err != nil {
				return err
			}
			return a.start(cmd, s, &flags)
		},
	}
	flags.add(cmd)
	return cmd
}

// readSpec reads a spec file, or standard input for "-".
func (a *app) readSpec(file string) (*spec.Spec, error) {
	var data []byte
	var err error
	name := file
	if file == "-" {
		name = "standard input"
		data, err = io.ReadAll(a.in)
	} else {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, usagef("cannot read the spec: %w", err)
	}
	s, err := spec.Parse(name, data)
	if err != nil {
		return nil, usageError{err}
	}
	return s, nil
}

// start starts a migration and does what the flags say about waiting.
func (a *app) start(cmd *cobra.Command, s *spec.Spec, flags *startFlags) error {
	ctx := cmd.Context()
	if err := flags.apply(cmd, s); err != nil {
		return err
	}
	desk, err := a.open(ctx)
	if err != nil {
		return err
	}
	started, err := desk.Start(ctx, control.Order{Spec: s, ID: flags.id, Unattended: flags.unattended})
	if err != nil {
		return err
	}
	return a.started(ctx, desk, started, s.Name, flags.wait, flags.watch)
}

// started tells what was started, and waits or watches when that is wanted.
func (a *app) started(ctx context.Context, desk *control.Desk, s control.Started, name string, wait, watch bool) error {
	stream := a.print.JSON() && (wait || watch)
	if !stream {
		text := func(w io.Writer) error {
			_, err := fmt.Fprintln(w, s.ID)
			return err
		}
		if err := a.print.Document(s, text); err != nil {
			return err
		}
	}
	if s.URL != "" {
		a.print.Note("web ui: %s", s.URL)
	}
	switch {
	case wait:
		return a.waitFor(ctx, desk, s.ID)
	case watch:
		return a.watch(ctx, desk, s.ID, watchFlags{every: spec.Duration(lineInterval)})
	}
	a.print.Note("%s has begun; look at it: godwit watch %s", name, s.ID)
	return nil
}
