// Package fault is the error whose class is known: what is to be done about
// it, and which table it is about. Errors of the database drivers are
// classified by their engine, everything else that Godwit finds wrong by
// itself is a fault.
//
// It promises that the class of an error survives wrapping with %w.
package fault

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"godwit/internal/task"
)

// Error is an error with its class.
type Error struct {
	Class task.Class
	Table string // the table it is about, when there is one
	cause error
	calls []uintptr
}

func (e *Error) Error() string { return e.cause.Error() }

// Unwrap returns what the message was made from.
func (e *Error) Unwrap() error { return e.cause }

// New makes an error of a class. The format is fmt.Errorf's, %w included.
func New(class task.Class, format string, args ...any) *Error {
	return &Error{Class: class, cause: fmt.Errorf(format, args...), calls: callers()}
}

// About makes an error of a class that is about one table.
func About(table string, class task.Class, format string, args ...any) *Error {
	return &Error{Class: class, Table: table, cause: fmt.Errorf(format, args...), calls: callers()}
}

// mostCalls is how much of a stack is kept.
const mostCalls = 32

func callers() []uintptr {
	calls := make([]uintptr, mostCalls)
	return calls[:runtime.Callers(3, calls)] // without this, New and Callers
}

// Stack tells where an error arose: the calls that led to it, innermost first,
// of the fault in its chain, or of whoever asks when there is none.
func Stack(err error) string {
	calls := callers()
	if e := Of(err); e != nil {
		calls = e.calls
	}
	var b strings.Builder
	frames := runtime.CallersFrames(calls)
	for {
		frame, more := frames.Next()
		fmt.Fprintf(&b, "%s\n\t%s:%d\n", frame.Function, filepath.Base(frame.File), frame.Line)
		if !more {
			return b.String()
		}
	}
}

// Of returns the fault in an error's chain, nil when there is none.
func Of(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
