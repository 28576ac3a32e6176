package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"godwit/internal/task"
	"godwit/starter/control"
	"godwit/starter/direct"
)

// ledgerLimit is how long a worker may take to read a ledger.
const ledgerLimit = time.Minute

func newStatusCommand(a *app) *cobra.Command {
	var ledger, connections string
	cmd := &cobra.Command{
		Use:     "status ID",
		GroupID: groupLook,
		Short:   "Show how a migration stands",
		Long: `Show everything about a migration: state, phase, progress, rate, remaining time,
who waits for what, what failed and what can be done about it, and the verbs
that make sense now.

Without a worker it shows what Temporal remembers, and says so. What Temporal has
forgotten is still in the ledger, in the database that was written: name its
connection with --ledger. When that connection is known here, from
GODWIT_CONNECTION_<NAME> or --connections, the ledger is read directly, and
neither Temporal nor a worker has to be there.`,
		Example: `  godwit status $ID
  godwit status $ID -o json | jq '.state, .progress.percent'
  godwit status nightly-2023-11-29 --ledger warehouse
  godwit status nightly-2023-11-29 --ledger warehouse --connections connections.yaml`,
		Args:              oneID,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if found, err := a.statusDirectly(cmd.Context(), args[0], ledger, connections); found || err != nil {
				return err
			}
			desk, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			answer, err := a.statusFrom(cmd.Context(), desk, args[0], ledger)
			if err != nil {
				return err
			}
			return a.show(answer)
		},
	}
	cmd.Flags().StringVar(&ledger, "ledger", "", "`name` of the connection whose ledger to ask instead of Temporal")
	connectionsFlag(cmd, &connections)
	return cmd
}

// connectionsFlag is for reading a ledger without a worker.
func connectionsFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "connections", os.Getenv("GODWIT_CONNECTIONS"), "YAML `file` with named connections, to read a ledger directly (or GODWIT_CONNECTIONS)")
}

// statusDirectly reads the ledger itself, where its connection is known here.
func (a *app) statusDirectly(ctx context.Context, id, ledger, connections string) (found bool, err error) {
	if ledger == "" {
		return false, nil
	}
	r, err := direct.Open(ctx, connections, ledger)
	if r == nil || err != nil {
		return false, err
	}
	defer r.Close()
	status, err := r.Status(ctx, id)
	if err != nil {
		return true, err
	}
	return true, a.show(control.Answer{Status: *status, Remark: "this is what the ledger says"})
}

// statusFrom asks the ledger on a connection, or Temporal when none is named.
func (a *app) statusFrom(ctx context.Context, desk *control.Desk, id, ledger string) (control.Answer, error) {
	if ledger == "" {
		return desk.Status(ctx, id)
	}
	in := task.InquiryInput{Status: &task.Ref{ID: id, Ledger: ledger}}
	result, err := desk.Ask(ctx, a.queue, in, ledgerLimit)
	if err != nil {
		return control.Answer{}, err
	}
	return control.Answer{Status: *result.Status}, nil
}
