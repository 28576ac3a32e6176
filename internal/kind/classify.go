package kind

import (
	"context"
	"errors"
	"io"
	"net"

	"godwit/internal/engine/mysql"
	"godwit/internal/engine/postgres"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// ClassifyIn is Classify for the error of a call: when somebody has asked it to
// end, an error that comes of its ended context is of class stopping.
func (run *Run) ClassifyIn(ctx context.Context, err error) *task.Failure {
	f := Classify(err)
	if run.Stopped() && (ctx.Err() != nil || errors.Is(err, context.Canceled)) {
		f.Class = task.Stopping
	}
	return f
}

// Classify says what is to be done about an error. Faults know it themselves,
// a driver's errors are classified by its engine, and a lost connection is
// transient wherever it comes from. What nobody knows is internal.
func Classify(err error) *task.Failure {
	f := &task.Failure{Class: task.Internal, Message: err.Error()}
	if known := fault.Of(err); known != nil {
		f.Class, f.Table = known.Class, known.Table
		return f
	}
	if class, ok := mysql.Classify(err); ok {
		f.Class = class
		return f
	}
	if class, ok := postgres.Classify(err); ok {
		f.Class = class
		return f
	}
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		f.Class = task.Transient
	}
	return f
}
