package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"godwit/internal/spec"
)

func newSchemaCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		GroupID: groupSetUp,
		Short:   "Print the JSON Schema of spec files",
		Long: `Print the JSON Schema of spec files: every field with what it means, its default
and its choices. An editor that knows it completes and checks spec files.`,
		Example: `  godwit schema > godwit.schema.json
  # then, as the first line of a spec: # yaml-language-server: $schema=godwit.schema.json`,
		Args: nothing,
		RunE: func(*cobra.Command, []string) error {
			schema, err := spec.JSONSchema()
			if err != nil {
				return err
			}
			return a.print.Document(json.RawMessage(schema), func(w io.Writer) error {
				_, err := fmt.Fprintln(w, string(schema))
				return err
			})
		},
	}
}
