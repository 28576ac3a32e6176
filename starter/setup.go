package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"godwit/internal/cluster"
	"godwit/internal/spec"
	"godwit/starter/view"
)

func newSetupCommand(a *app) *cobra.Command {
	retention := spec.Duration(cluster.DefaultRetention)
	cmd := &cobra.Command{
		Use:     "setup",
		GroupID: groupSetUp,
		Short:   "Prepare a Temporal namespace for migrations",
		Long: `Register the search attributes of migrations in the namespace, and raise how long
it remembers finished ones. It may be repeated: what is there stays. Workers do
the same when they start.`,
		Example: `  godwit setup
  godwit setup --namespace migrations --retention 90d`,
		Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			desk, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			c := desk.Cluster()
			report, err := cluster.Setup(cmd.Context(), c, c.Namespace, retention.Std())
			if err != nil {
				return c.Explain(err)
			}
			for _, warning := range report.Warnings {
				a.print.Note("%s", warning)
			}
			return a.print.Document(report, func(w io.Writer) error {
				_, err := io.WriteString(w, setupText(report))
				return err
			})
		},
	}
	cmd.Flags().Var(duration{&retention}, "retention", "how long finished migrations are remembered, at the least")
	return cmd
}

func setupText(r cluster.Report) string {
	var lines []string
	if len(r.Added) > 0 {
		lines = append(lines, fmt.Sprintf("registered the search attributes %s", strings.Join(r.Added, ", ")))
	}
	if len(r.Existing) > 0 {
		lines = append(lines, fmt.Sprintf("found the search attributes %s", strings.Join(r.Existing, ", ")))
	}
	switch {
	case r.Retention > r.RetentionBefore:
		lines = append(lines, fmt.Sprintf("raised the retention of finished migrations from %s to %s", days(r.RetentionBefore), days(r.Retention)))
	case r.Retention > 0:
		lines = append(lines, fmt.Sprintf("left the retention of finished migrations at %s", days(r.Retention)))
	}
	return fmt.Sprintf("namespace %s is ready\n  %s\n", r.Namespace, strings.Join(lines, "\n  "))
}

func days(d time.Duration) string {
	if d >= 24*time.Hour && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	return view.Duration(d)
}
