package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"godwit/internal/cluster"
	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/starter/control"
	"godwit/starter/live"
)

// Intervals of watching.
const (
	watchInterval = 500 * time.Millisecond // between two looks
	lineInterval  = 5 * time.Second        // between two lines that tell of nothing new, as a rule
)

type watchFlags struct {
	every spec.Duration
	lines bool
}

func newWatchCommand(a *app) *cobra.Command {
	flags := watchFlags{every: spec.Duration(lineInterval)}
	cmd := &cobra.Command{
		Use:     "watch ID",
		GroupID: groupLook,
		Short:   "Show a migration at work until it is done",
		Long: `Show a migration at work: on a terminal as bars that move, elsewhere as lines, and
with -o json as one status per line. It ends when the migration is in a final
state; the exit code tells which, as with wait. Ctrl-C never touches the
migration.`,
		Example: `  godwit watch $ID
  godwit watch $ID --lines --every 30s >> migration.log`,
		Args:              oneID,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			desk, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			return a.watch(cmd.Context(), desk, args[0], flags)
		},
	}
	cmd.Flags().Var(duration{&flags.every}, "every", "time between two lines when nothing changes")
	cmd.Flags().BoolVar(&flags.lines, "lines", false, "lines instead of bars, also on a terminal")
	return cmd
}

// screen shows a migration while it runs.
type screen interface {
	Show(st task.Status, now time.Time) error
	Note(text string)
	Close()
}

func (a *app) screen(flags watchFlags) screen {
	if flags.lines || a.print.JSON() || !a.onTerminal() || os.Getenv("TERM") == "dumb" {
		return live.NewLines(a.print, a.style(), flags.every.Std())
	}
	_, height, err := term.GetSize(int(a.out.(*os.File).Fd()))
	if err != nil {
		height = 24
	}
	return live.NewBars(a.out, a.style(), height)
}

// watch shows a migration until it is in a final state, and then all of its
// status.
func (a *app) watch(ctx context.Context, desk *control.Desk, id string, flags watchFlags) error {
	// The first look is before the screen, so that a wrong id is only an error.
	answer, err := desk.Status(ctx, id)
	if err != nil {
		return a.left(ctx, id, err)
	}
	s := a.screen(flags)
	answer, err = look(ctx, desk, answer, s)
	s.Close()
	if err != nil {
		return a.left(ctx, id, err)
	}
	if !a.print.JSON() {
		if err := a.show(answer); err != nil {
			return err
		}
	}
	return ended(answer.Status.State)
}

// look shows a migration until it is in a final state. What is away for a
// while, Temporal or the workers, is waited for.
func look(ctx context.Context, desk *control.Desk, answer control.Answer, s screen) (control.Answer, error) {
	remark := ""
	for {
		if answer.Remark != remark && answer.Remark != "" {
			s.Note(answer.Remark)
		}
		remark = answer.Remark
		if err := s.Show(answer.Status, time.Now()); err != nil || answer.Status.State.Final() {
			return answer, err
		}
		if err := control.Rest(ctx, watchInterval); err != nil {
			return answer, err
		}
		next, err := desk.Status(ctx, answer.Status.ID)
		var unreachable *cluster.UnreachableError
		switch {
		case err == nil:
			answer = next
		case errors.As(err, &unreachable):
			answer.Remark = err.Error() + "\nthe migration is kept there; waiting until it answers again"
		default:
			return answer, err
		}
	}
}
