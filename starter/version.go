package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"godwit/internal/version"
)

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		GroupID: groupSetUp,
		Short:   "Print the version of this build",
		Long:    "Print the version of this build, the commit it was made from, and the Go it was made with.",
		Example: "  godwit version -o json | jq -r .commit",
		Args:    nothing,
		RunE: func(*cobra.Command, []string) error {
			info := version.Get()
			return a.print.Document(info, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, "godwit", info)
				return err
			})
		},
	}
}
