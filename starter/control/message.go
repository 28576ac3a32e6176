package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"godwit/internal/task"
)

// updateLimit is how long to wait for the answer to an update.
const updateLimit = time.Minute

// Signal sends a signal to a migration that runs. A signal has no answer, so
// what makes no sense is refused here.
func (d *Desk) Signal(ctx context.Context, id, signal string, request task.Request) error {
	answer, err := d.Status(ctx, id)
	if err != nil {
		return err
	}
	st := answer.Status
	switch {
	case !answer.Open:
		return &RefusedError{ID: id, Verb: signal, Reason: ended(st)}
	case answer.Remark == "" && !slices.Contains(st.Can, signal):
		return d.settled(ctx, st, &RefusedError{ID: id, Verb: signal, Reason: standing(st)})
	}
	err = d.cluster.SignalWorkflow(ctx, id, "", signal, request)
	return d.refusal(id, signal, err)
}

// Update asks something of a migration that runs and waits until it is done
// or refused. The argument is what the update takes.
func (d *Desk) Update(ctx context.Context, id, update string, argument any) error {
	described, err := d.describe(ctx, id)
	if err != nil {
		return err
	}
	answer := d.answerOf(described)
	if !answer.Open {
		return &RefusedError{ID: id, Verb: update, Reason: ended(answer.Status), ended: true}
	}
	if err := d.RequireWorker(ctx, answer.Queue); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, updateLimit)
	defer cancel()
	handle, err := d.cluster.UpdateWorkflow(limited, client.UpdateWorkflowOptions{
		WorkflowID:   id,
		UpdateID:     uuid.NewString(),
		UpdateName:   update,
		Args:         []any{argument},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(limited, nil)
	}
	if limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("no worker on task queue %q has answered within %s; it may still take effect: godwit status %s", answer.Queue, updateLimit, id)
	}
	err = d.refusal(id, update, err)
	var refused *RefusedError
	if errors.As(err, &refused) {
		if now, failed := d.Status(ctx, id); failed == nil {
			return d.settled(ctx, now.Status, refused)
		}
	}
	return err
}

// settled is how a message is refused by a migration that is over but for the
// last steps of its workflow: as by one that has ended, once it has.
func (d *Desk) settled(ctx context.Context, st task.Status, refused *RefusedError) error {
	if !st.State.Final() || len(st.Can) > 0 {
		return refused
	}
	if _, err := d.closing(ctx, refused.ID, refused); err != nil {
		return err
	}
	return &RefusedError{ID: refused.ID, Verb: refused.Verb, Reason: ended(st), ended: true}
}

// closedMeanwhile is how the server calls the failure of an update whose workflow
// has ended before it answered.
const closedMeanwhile = "AcceptedUpdateCompletedWorkflow"

// endedRefusal is how a migration's refusal begins that has ended and whose
// workflow is about to close.
const endedRefusal = "the migration has ended"

// refusal makes the errors of messages to a workflow readable.
func (d *Desk) refusal(id, verb string, err error) error {
	var (
		gone        *serviceerror.NotFound
		application *temporal.ApplicationError
	)
	switch {
	case errors.As(err, &gone), errors.As(err, &application) && application.Type() == closedMeanwhile:
		return &RefusedError{ID: id, Verb: verb, Reason: "it has just ended; `godwit status " + id + "` shows how", ended: true}
	case errors.As(err, &application):
		return &RefusedError{ID: id, Verb: verb, Reason: application.Message(), ended: strings.HasPrefix(application.Message(), endedRefusal)}
	}
	return d.cluster.Explain(err)
}

// ended says how a migration ended and what is still possible.
func ended(st task.Status) string {
	reason := fmt.Sprintf("it has ended (%s)", st.State)
	if st.State.Resumable() {
		reason += fmt.Sprintf("; `godwit retry %s` continues it, `godwit rollback %s` undoes it", st.ID, st.ID)
	}
	return reason
}

// standing says how a migration stands and what is possible now.
func standing(st task.Status) string {
	reason := "it is " + string(st.State)
	if st.Phase != "" {
		reason += " in " + string(st.Phase)
	}
	if len(st.Can) > 0 {
		reason += "; you can " + strings.Join(st.Can, ", ")
	}
	return reason
}
