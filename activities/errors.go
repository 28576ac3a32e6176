package activities

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/task"
)

const (
	// mostMessage is how much of an error's text goes into the history; the
	// ledger's events have it in full. Temporal keeps 4 KiB of a pending failure.
	mostMessage = 2000
	// busyDelay is the wait before what was busy is tried again.
	busyDelay = 2 * time.Second
	// soon is the wait after an attempt that got further before it failed: the
	// server's own delays grow with every attempt, and a copy of days has many.
	soon = time.Second
	// handOver is the wait after a stopping worker gave its shard back.
	handOver = 100 * time.Millisecond
)

// report makes the error that an activity returns. Only the outermost error
// decides about a retry, so nothing may wrap it afterwards.
func (p *pulse) report(err error, details ...any) error {
	if cause := context.Cause(p.activity); temporal.IsCanceledError(cause) {
		return temporal.NewCanceledError()
	}
	if cause := context.Cause(p.ctx); fault.Of(cause) != nil {
		err = cause
	}
	failure := p.classify(err)
	var exhausted *kind.Exhausted
	var advanced *kind.Advanced
	if errors.As(err, &exhausted) {
		failure = exhausted.Failure
	}
	failure.Message = shorten(failure.Message)
	if failure.Phase == "" {
		failure.Phase = p.phase()
	}
	options := temporal.ApplicationErrorOptions{
		NonRetryable: exhausted != nil || !failure.Class.Retryable(),
		Details:      append([]any{failure}, details...),
	}
	switch failure.Class {
	case task.Transient:
		if errors.As(err, &advanced) {
			options.NextRetryDelay = soon
		}
	case task.Busy:
		options.NextRetryDelay = busyDelay
	case task.Stopping:
		options.NextRetryDelay, options.Category = handOver, temporal.ApplicationErrorCategoryBenign
	}
	return temporal.NewApplicationErrorWithOptions(failure.Message, string(failure.Class), options)
}

// reported is report, and nil for nil.
func (p *pulse) reported(err error) error {
	if err == nil {
		return nil
	}
	return p.report(err)
}

func (p *pulse) classify(err error) *task.Failure {
	if p.run == nil {
		return kind.Classify(err)
	}
	return p.run.ClassifyIn(p.ctx, err)
}

func (p *pulse) phase() task.Phase {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last.Phase
}

func shorten(text string) string {
	if len(text) > mostMessage {
		text = strings.ToValidUTF8(text[:mostMessage], "") + " …"
	}
	return text
}

// interrupted reports whether an attempt ended because somebody wanted it to.
func (p *pulse) interrupted() bool {
	cause := context.Cause(p.activity)
	return cause != nil && orderly(cause) || stopRequested(activity.GetWorkerStopChannel(p.activity))
}

func stopRequested(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
