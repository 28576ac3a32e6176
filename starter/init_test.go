package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// says runs a command line that needs no Temporal.
func says(args ...string) (code int, out, notes string) {
	var o, e bytes.Buffer
	code = execute(context.Background(), args, nil, &o, &e)
	return code, o.String(), e.String()
}

func TestEveryRecipeIsASpecThatCanBeRead(t *testing.T) {
	for _, name := range recipeNames() {
		code, out, notes := says("init", name, "--file", "-")
		require.Zero(t, code, notes)
		s, err := spec.Parse(name+".yaml", []byte(out))
		require.NoError(t, err, name)
		require.Equal(t, task.Pipeline, s.Kind)
		require.NotEmpty(t, s.Name)
	}
	files, err := recipeFiles.ReadDir("recipes")
	require.NoError(t, err)
	require.Len(t, files, len(recipes), "each has its line in the list")
}

func TestARecipeIsWrittenToAFileOnceAndNeverOverIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	code, out, notes := says("init", "archive", "--file", file)
	require.Zero(t, code, notes)
	require.Equal(t, file+"\n", out)
	require.Contains(t, notes, "godwit plan "+file)
	require.NoError(t, os.WriteFile(file, []byte("changed"), 0o600))
	code, _, notes = says("init", "archive", "--file", file)
	require.Equal(t, exitUsage, code)
	require.Contains(t, notes, "is there already")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "changed", string(text))
}

func TestAMistypedRecipeIsAnsweredWithTheNearest(t *testing.T) {
	code, _, notes := says("init", "bigint-keys")
	require.Equal(t, exitUsage, code)
	require.Contains(t, notes, `did you mean "bigint-key"?`)
	code, _, notes = says("skip", "some-id")
	require.Equal(t, exitUsage, code)
	require.Contains(t, notes, "which step of which pipeline?")
}
