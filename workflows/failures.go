package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"

	"godwit/internal/task"
)

// resetType is the type of the failure of an activity that was running when an
// operator reset the workflow.
const resetType = "ResetWorkflow"

// judge makes a Failure of an activity's error; nil of nil.
func judge(err error, phase task.Phase) *task.Failure {
	if err == nil {
		return nil
	}
	failure := &task.Failure{Class: task.Internal, Message: err.Error(), Phase: phase}
	var application *temporal.ApplicationError
	var timeout *temporal.TimeoutError
	switch {
	case errors.As(err, &application):
		failure.Class, failure.Message = classOf(application), application.Message()
		var told task.Failure
		if application.HasDetails() && application.Details(&told) == nil && told.Message != "" {
			failure.Message, failure.Table, failure.Shard = told.Message, told.Table, told.Shard
		}
	case errors.As(err, &timeout):
		failure.Class, failure.Message = task.Stopping, "the worker that did it was lost: "+timeout.Error()
	case temporal.IsCanceledError(err):
		failure.Class, failure.Message = task.Superseded, "it was cancelled from outside"
	}
	return failure
}

// comparedBy tells what a verification compared that ended in a mismatch; nil
// when its error does not say.
func comparedBy(err error) *task.VerifySummary {
	var application *temporal.ApplicationError
	var failure task.Failure
	var summary task.VerifySummary
	if !errors.As(err, &application) || application.Details(&failure, &summary) != nil {
		return nil
	}
	return &summary
}

func classOf(err *temporal.ApplicationError) task.Class {
	switch class := task.Class(err.Type()); class {
	case resetType:
		return task.Superseded
	case task.Transient, task.Busy, task.Data, task.Config, task.Human, task.Mismatch, task.Superseded, task.Stopping, task.Timeout, task.Undone:
		return class
	}
	return task.Internal
}

// repeatable reports whether a failure says nothing about the work itself: it
// is begun again, as often as that happens, and not counted.
func repeatable(class task.Class) bool { return class == task.Superseded || class == task.Stopping }

// at says that a failure belongs to another phase than the current one.
func at(phase task.Phase, err error) error {
	var failure *task.Failure
	if errors.As(err, &failure) {
		failure.Phase = phase
	}
	return err
}

// waiting is a shard that failed and waits for another try, or has none left.
type waiting struct {
	No    int       `json:"no"`
	Label string    `json:"label"`
	Round int       `json:"round"` // the round of the retry queue it waits for, from 1
	Due   time.Time `json:"due"`
	// Failure is why its last try failed.
	Failure task.Failure `json:"failure"`
}

// lostFailure is why a phase fails whose other shards are all done: the first
// failure, and how many there are.
func (m *migration) lostFailure() *task.Failure {
	lost := m.st.Lost
	first := lost[0].Failure
	tried := "at the first try"
	if rounds := m.settings.rounds(); rounds > 0 {
		tried = fmt.Sprintf("also in %s of the retry queue", plural(rounds, "round"))
	}
	message := fmt.Sprintf("shard %s failed %s: %s", lost[0].Label, tried, first.Message)
	if len(lost) > 1 {
		labels := make([]string, 0, len(lost)-1)
		for _, w := range lost[1:] {
			labels = append(labels, w.Label)
		}
		message += fmt.Sprintf(" (and %s: %s)", plural(len(labels), "other shard"), listed(labels, 10))
	}
	message += fmt.Sprintf("; %d of %s done", m.st.Tally.Done, plural(m.st.Tally.Shards, "shard"))
	return &task.Failure{Class: first.Class, Message: message, Phase: m.st.Phase, Shard: first.Shard, Table: first.Table}
}

// listed joins the first of some names.
func listed(names []string, most int) string {
	more := len(names) - most
	if more > 0 {
		names = slices.Concat(names[:most], []string{fmt.Sprintf("and %d more", more)})
	}
	text := ""
	for i, name := range names {
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
