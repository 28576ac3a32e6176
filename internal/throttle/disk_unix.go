//go:build unix

package throttle

import (
	"context"

	"golang.org/x/sys/unix"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// freeAt is the probe of what is free at a path, for those who are not root.
func freeAt(path string) probe {
	return func(context.Context) (float64, string, error) {
		var s unix.Statfs_t
		if err := unix.Statfs(path, &s); err != nil {
			return 0, "", fault.New(task.Config, "%s on the worker's machine: %w", path, err)
		}
		return float64(s.Bavail) * float64(s.Bsize), "", nil
	}
}
