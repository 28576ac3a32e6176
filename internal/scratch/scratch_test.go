package scratch_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/scratch"
)

// With parentVariable set, this test program makes a folder there and waits for its own end.
const parentVariable = "GODWIT_TEST_PARENT"

const prefix = "godwit-test-"

func TestMain(m *testing.M) {
	if parent := os.Getenv(parentVariable); parent != "" {
		f, err := scratch.Make(parent, prefix, nil)
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString(f.Path + "\n")
		select {}
	}
	os.Exit(m.Run())
}

func TestAFolderCanBeTakenWhenItsMakerWasKilled(t *testing.T) {
	parent := t.TempDir()
	maker := exec.Command(os.Args[0])
	maker.Env = append(os.Environ(), parentVariable+"="+parent)
	output, err := maker.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, maker.Start())
	lines := bufio.NewScanner(output)
	require.True(t, lines.Scan())
	path := lines.Text()
	require.Equal(t, []string{path}, scratch.Candidates(parent, prefix))
	taken, err := scratch.Take(path)
	require.NoError(t, err)
	require.Nil(t, taken, "of a living maker")

	require.NoError(t, maker.Process.Kill())
	require.Error(t, maker.Wait())
	taken, err = scratch.Take(path)
	require.NoError(t, err)
	require.NotNil(t, taken)
	again, err := scratch.Take(path)
	require.NoError(t, err)
	require.Nil(t, again, "it is taken")
	require.NoError(t, taken.Remove())
	require.NoDirExists(t, path)
}

func TestAFolderThatCannotBeFilledIsNotLeftBehind(t *testing.T) {
	parent := t.TempDir()
	f, err := scratch.Make(parent, prefix, func(f *scratch.Folder) error {
		return os.Mkdir(filepath.Join(f.Path, "no", "such"), 0o700)
	})
	require.Error(t, err)
	require.Nil(t, f)
	left, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Empty(t, left)
}
