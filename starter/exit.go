package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"godwit/internal/task"
)

// The exit codes.
const (
	exitSuccess    = 0
	exitOther      = 1
	exitUsage      = 2
	exitFailed     = 3
	exitTimeout    = 4
	exitCancelled  = 5
	exitRolledBack = 6
)

// usageError is a mistake in how the command was called, or in a spec file.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// endedError is a migration that ended otherwise than it should have; how it
// ended has been printed.
type endedError struct{ state task.State }

func (e endedError) Error() string { return "it ended in " + string(e.state) }

// ended is the outcome of waiting for a migration.
func ended(state task.State) error {
	if state == task.Success {
		return nil
	}
	return endedError{state}
}

// exitCode is what the shell is told.
func exitCode(err error) int {
	var (
		usage usageError
		end   endedError
	)
	switch {
	case err == nil:
		return exitSuccess
	case errors.As(err, &usage):
		return exitUsage
	case !errors.As(err, &end):
		return exitOther
	}
	switch end.state {
	case task.Failed:
		return exitFailed
	case task.TimedOut:
		return exitTimeout
	case task.Cancelled:
		return exitCancelled
	case task.RolledBack:
		return exitRolledBack
	}
	return exitOther
}

// report says what went wrong, unless it has been said.
func report(w io.Writer, err error) {
	var end endedError
	switch {
	case err == nil, errors.As(err, &end):
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(w, "godwit: interrupted")
	default:
		fmt.Fprintf(w, "godwit: %v\n", err)
	}
}
