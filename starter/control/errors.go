package control

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

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
