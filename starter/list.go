package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"godwit/internal/document"
	"godwit/internal/task"
	"godwit/starter/control"
	"godwit/starter/view"
)

func newListCommand(a *app) *cobra.Command {
	var (
		filter control.Filter
		states []string
		kind   string
		all    bool
	)
	cmd := &cobra.Command{
		Use:     "list",
		GroupID: groupLook,
		Short:   "List migrations, newest first",
		Long: `List migrations, newest first: those that run, and those that have ended for as
long as Temporal remembers them. A ! marks those that need an operator. PENDING
3/97 is the third of 97 that wait for the same connection (see godwit capacity).`,
		Example: `  godwit list
  godwit list --state running,retrying,paused
  godwit list --pending
  godwit list --state failed --target warehouse -o json | jq -r '.[].id'`,
		Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if filter.States, err = readStates(states); err != nil {
				return err
			}
			if filter.Kind, err = readKind(kind); err != nil {
				return err
			}
			if all {
				filter.Limit = 0
			}
			return a.list(cmd, filter)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&states, "state", nil, "`states`, separated by commas: "+strings.ToLower(strings.Join(names(task.States), ", ")))
	f.StringVar(&kind, "kind", "", "`kind` of migration: "+strings.Join(names(task.Kinds), ", "))
	f.StringVar(&filter.Target, "target", "", "`name` of what is written to")
	f.IntVar(&filter.Limit, "limit", 20, "`number` of migrations to show")
	f.BoolVar(&filter.Pending, "pending", false, "only those that wait for a place, the next one first")
	f.BoolVar(&all, "all", false, "show all of them, whatever --limit says")
	complete(cmd, "state", names(task.States)...)
	complete(cmd, "kind", names(task.Kinds)...)
	return cmd
}

func (a *app) list(cmd *cobra.Command, filter control.Filter) error {
	desk, err := a.open(cmd.Context())
	if err != nil {
		return err
	}
	migrations, more, err := desk.List(cmd.Context(), filter)
	if err != nil {
		return err
	}
	if migrations == nil {
		migrations = []task.Status{}
	}
	err = a.print.Document(migrations, func(w io.Writer) error { return view.List(w, migrations, a.style()) })
	if more > 0 {
		a.print.Note("and %d older ones; --all shows them", more)
	}
	return err
}

// readStates takes states in any case.
func readStates(texts []string) ([]task.State, error) {
	var states []task.State
	for _, text := range texts {
		state := task.State(strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(text), "-", "_")))
		if !slices.Contains(task.States, state) {
			return nil, usagef("--state %q is not a state; %s", text, document.Suggest(string(state), names(task.States)))
		}
		states = append(states, state)
	}
	return states, nil
}

func readKind(text string) (task.Kind, error) {
	kind := task.Kind(strings.ToLower(text))
	if text != "" && !slices.Contains(task.Kinds, kind) {
		return "", usagef("--kind %q is not a kind of migration; %s", text, document.Suggest(text, names(task.Kinds)))
	}
	return kind, nil
}

func names[T ~string](values []T) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return texts
}
