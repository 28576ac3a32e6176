package main

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"godwit/internal/document"
)

// recipeFiles are specs for the well-known recipes, to be changed and run.
//
//go:embed recipes/*.yaml
var recipeFiles embed.FS

// recipes are their names, and what each is for.
var recipes = []struct{ name, words string }{
	{"expand-contract", "a new column beside the old one, the rows moved, the old one gone"},
	{"bigint-key", "a key that runs out of numbers"},
	{"rename-column", "another name for a column, with both there meanwhile"},
	{"move-database", "a copy to another server, checked, and others told"},
	{"archive", "old rows out of a big table"},
}

func recipeNames() []string {
	names := make([]string, len(recipes))
	for i, r := range recipes {
		names[i] = r.name
	}
	return names
}

// written is the answer of init.
type written struct {
	Recipe string `json:"recipe"`
	File   string `json:"file"`
}

func newInitCommand(a *app) *cobra.Command {
	var file string
	list := &strings.Builder{}
	for _, r := range recipes {
		fmt.Fprintf(list, "  %-16s %s\n", r.name, r.words)
	}
	cmd := &cobra.Command{
		Use:     "init RECIPE",
		GroupID: groupStart,
		Short:   "Write a commented spec for a well-known recipe",
		Long: `Write the spec of a pipeline for a well-known recipe, with comments, to be changed
and run:

` + list.String() + `
It goes to RECIPE.yaml, or to the file that --file names; - is standard output. A
file that is there is not overwritten.`,
		Example: `  godwit init expand-contract
  godwit init bigint-key --file - | less`,
		Args:              oneRecipe,
		ValidArgsFunction: cobra.FixedCompletions(recipeNames(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.init(args[0], file)
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "`file` to write to; - for standard output")
	return cmd
}

func oneRecipe(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("which recipe? `%s RECIPE`; there are %s", cmd.CommandPath(), strings.Join(recipeNames(), ", "))
	}
	return nil
}

func (a *app) init(recipe, file string) error {
	text, err := recipeFiles.ReadFile("recipes/" + recipe + ".yaml")
	if err != nil {
		return usagef("%q is not a recipe; %s", recipe, document.Suggest(recipe, recipeNames()))
	}
	if file == "-" {
		_, err := a.out.Write(text)
		return err
	}
	if file == "" {
		file = recipe + ".yaml"
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s is there already, and is not overwritten: name another --file", file)
	}
	if err != nil {
		return fmt.Errorf("cannot write the spec: %w", err)
	}
	if _, err := out.Write(text); err != nil {
		return errors.Join(fmt.Errorf("cannot write the spec: %w", err), out.Close())
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("cannot write the spec: %w", err)
	}
	err = a.print.Document(written{recipe, file}, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, file)
		return err
	})
	if err == nil {
		a.print.Note("change it, then look at what it would do: godwit plan %s", file)
	}
	return err
}
