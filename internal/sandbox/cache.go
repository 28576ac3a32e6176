package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"godwit/internal/scratch"
)

const lockInterval = 100 * time.Millisecond

// cacheFolder holds what is dear to make and the same for all servers: downloaded programs and prepared data directories.
// It may be removed at any time when no server runs.
func cacheFolder() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "godwit"), nil
}

// publish returns the folder of the cache that existing finds, and when it finds none ("") the one that fill makes: fill
// fills dir and tells the name under which it is kept. A folder is there as a whole or not at all, whenever a process is
// killed, and when several want it at once, one makes it and the others wait for it.
func publish(ctx context.Context, topic string, existing func() string, fill func(dir string) (name string, err error)) (string, error) {
	if path := existing(); path != "" {
		return path, nil
	}
	cache, err := cacheFolder()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", err
	}
	lock, err := awaitLock(ctx, filepath.Join(cache, topic+".lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if path := existing(); path != "" {
		return path, nil
	}
	return fillAndRename(cache, topic, fill)
}

// fillAndRename is called under the topic's lock, so that unfinished folders of the topic are those of dead processes.
func fillAndRename(cache, topic string, fill func(dir string) (name string, err error)) (_ string, err error) {
	unfinished := ".making-" + topic
	leftovers, _ := filepath.Glob(filepath.Join(cache, unfinished+"-*")) // only a bad pattern is an error
	for _, leftover := range leftovers {
		if err := os.RemoveAll(leftover); err != nil {
			return "", err
		}
	}
	dir, err := os.MkdirTemp(cache, unfinished+"-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	content := filepath.Join(dir, "content")
	if err := os.Mkdir(content, 0o700); err != nil {
		return "", err
	}
	name, err := fill(content)
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, name)
	return path, os.Rename(content, path)
}

func awaitLock(ctx context.Context, path string) (*os.File, error) {
	for {
		lock, err := scratch.Lock(path)
		if !errors.Is(err, scratch.ErrLocked) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockInterval):
		}
	}
}
