package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

const publisherVariable = "GODWIT_TEST_PUBLISHER"

// publishOnce publishes a folder with one file; how often it is filled is counted in fills.
func publishOnce(ctx context.Context, fills *atomic.Int32) (string, error) {
	return publish(ctx, "thing", func() string {
		cache, err := cacheFolder()
		if err != nil {
			return ""
		}
		if _, err := os.Stat(filepath.Join(cache, "thing-1")); err != nil {
			return ""
		}
		return filepath.Join(cache, "thing-1")
	}, func(dir string) (string, error) {
		fills.Add(1)
		time.Sleep(50 * time.Millisecond)
		return "thing-1", os.WriteFile(filepath.Join(dir, "whole"), nil, 0o600)
	})
}

func TestAFolderOfTheCacheIsMadeOnceHoweverManyWantIt(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	var fills atomic.Int32
	var group errgroup.Group
	for range 5 {
		group.Go(func() error {
			path, err := publishOnce(t.Context(), &fills)
			if err != nil {
				return err
			}
			_, err = os.Stat(filepath.Join(path, "whole"))
			return err
		})
	}
	require.NoError(t, group.Wait())
	require.EqualValues(t, 1, fills.Load())
}

func TestAFailedFillLeavesNothingAndCanBeTriedAgain(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	none := func() string { return "" }
	_, err := publish(t.Context(), "thing", none, func(dir string) (string, error) {
		return "thing-1", errors.Join(os.WriteFile(filepath.Join(dir, "half"), nil, 0o600), errors.New("no network"))
	})
	require.ErrorContains(t, err, "no network")
	require.Equal(t, []string{"thing.lock"}, cached(t))

	var fills atomic.Int32
	_, err = publishOnce(t.Context(), &fills)
	require.NoError(t, err)
	require.Equal(t, []string{"thing-1", "thing.lock"}, cached(t))
}

func TestAKilledFillIsClearedAwayByTheNext(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	publisher := exec.Command(os.Args[0], "-test.run=TestPublisherThatIsKilled")
	publisher.Env = append(os.Environ(), publisherVariable+"=1")
	require.NoError(t, publisher.Start())
	require.Eventually(t, func() bool { return strings.Contains(fmt.Sprint(cached(t)), ".making-thing") }, 30*time.Second, 5*time.Millisecond)

	waiting, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	var fills atomic.Int32
	_, err := publishOnce(waiting, &fills)
	require.ErrorIs(t, err, context.DeadlineExceeded, "while the other lives")
	require.NoError(t, publisher.Process.Kill())
	require.Error(t, publisher.Wait())

	_, err = publishOnce(t.Context(), &fills)
	require.NoError(t, err)
	require.EqualValues(t, 1, fills.Load())
	require.Equal(t, []string{"thing-1", "thing.lock"}, cached(t))
}

// TestPublisherThatIsKilled is the process that TestAKilledFillIsClearedAwayByTheNext kills.
func TestPublisherThatIsKilled(t *testing.T) {
	if os.Getenv(publisherVariable) == "" {
		return
	}
	_, err := publish(t.Context(), "thing", func() string { return "" }, func(string) (string, error) {
		time.Sleep(time.Minute)
		return "thing-1", nil
	})
	require.NoError(t, err)
}

func cached(t *testing.T) []string {
	t.Helper()
	cache, err := cacheFolder()
	require.NoError(t, err)
	entries, err := os.ReadDir(cache)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names
}
