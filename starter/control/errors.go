package control

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"godwit/internal/document"
	"godwit/internal/task"
)

// NotFoundError says that there is no migration of an id.
type NotFoundError struct{ ID, Namespace string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("Temporal knows no migration %s in namespace %q; `godwit list` shows those that there are, and status --ledger asks a database", e.ID, e.Namespace)
}

// NoWorkerError says that nobody would do the work.
type NoWorkerError struct{ Queue string }

func (e *NoWorkerError) Error() string {
	return fmt.Sprintf("no worker is listening on task queue %q; start one: godwit-worker --connections FILE", e.Queue)
}

// ExistsError says that an id is taken by a migration that is not to be
// started again.
type ExistsError struct {
	ID    string
	State task.State
}

func (e *ExistsError) Error() string {
	switch {
	case e.State == task.Success:
		return fmt.Sprintf("%s is done already (SUCCESS); `godwit status %s` shows it, another --id starts another one", e.ID, e.ID)
	case e.State.Resumable():
		return fmt.Sprintf("%s exists already and is %s; `godwit retry %s` continues it", e.ID, e.State, e.ID)
	}
	return fmt.Sprintf("%s exists already and is %s; use `godwit status %s`", e.ID, e.State, e.ID)
}

// BookedError says that the id of a schedule is taken.
type BookedError struct{ ID string }

func (e *BookedError) Error() string {
	return fmt.Sprintf("there is a schedule %s already; choose another --id, or `godwit schedule delete %s` first (`godwit schedule list` shows it)", e.ID, e.ID)
}

// NotBookedError says that there is no schedule of an id.
type NotBookedError struct {
	ID, Namespace string
	Known         []string // the schedules that there are
}

func (e *NotBookedError) Error() string {
	hint := "there are none"
	if len(e.Known) > 0 {
		hint = document.Suggest(e.ID, e.Known)
	}
	return fmt.Sprintf("there is no schedule %s of migrations in namespace %q; %s", e.ID, e.Namespace, hint)
}

// OverlapError says that a schedule starts nothing, since its last run is not over.
type OverlapError struct {
	Schedule string
	Run      LastRun
}

func (e *OverlapError) Error() string {
	if e.Run.State == task.Success {
		return fmt.Sprintf("%s: its last run %s is done and keeps something for a rollback, so it is not over yet; `godwit cleanup %s` ends that", e.Schedule, e.Run.ID, e.Run.ID)
	}
	return fmt.Sprintf("%s: its last run %s is not over yet (%s); look at it: godwit status %s", e.Schedule, e.Run.ID, e.Run.State, e.Run.ID)
}

// RefusedError says that a migration does not do what is asked, and why.
type RefusedError struct {
	ID     string
	Verb   string
	Reason string

	ended bool // while it was asked
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s: cannot %s: %s", e.ID, e.Verb, e.Reason)
}

// failureMessage is what the innermost error of a workflow says, without the
// frames that Temporal puts around it.
func failureMessage(err error) string {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application.Message()
	}
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		return "no worker gave an answer in time; look whether godwit-worker runs and what it logs"
	}
	return err.Error()
}
