package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/workflows"
)

// Order is a migration to be started.
type Order struct {
	Spec *spec.Spec
	ID   string // empty for a new one
	// Unattended starts it although no worker listens.
	Unattended bool
}

// Started is a run that has begun.
type Started struct {
	ID    string `json:"id"`
	RunID string `json:"run_id"`
	URL   string `json:"url"`
}

// Start starts a migration and returns at once. An id that is taken is an
// *ExistsError; without a worker it is a *NoWorkerError.
func (d *Desk) Start(ctx context.Context, order Order) (Started, error) {
	id, err := d.idFor(ctx, order)
	if err != nil {
		return Started{}, err
	}
	if !order.Unattended {
		if err := d.RequireWorker(ctx, d.queue); err != nil {
			return Started{}, err
		}
	}
	b, err := beginningOf(order.Spec)
	if err != nil {
		return Started{}, err
	}
	return d.execute(ctx, id, d.queue, b, "started by "+Operator())
}

// beginning is what a workflow is started with, whoever starts it.
type beginning struct {
	workflow string
	input    any
	common   spec.Common
	target   string
	verb     string // before its summary
}

// beginningOf is what a migration, or a pipeline, is started with.
func beginningOf(s *spec.Spec) (beginning, error) {
	place := placeOf(s)
	raw, err := json.Marshal(s)
	b := beginning{workflow: task.MigrationWorkflow, input: workflows.MigrationInput{Spec: raw, Ledger: place, Target: place}, common: s.Common, target: place}
	if s.Pipeline != nil {
		b.workflow, b.input = task.PipelineWorkflow, workflows.PipelineInput{Spec: raw, Ledger: place, Target: place}
	}
	return b, err
}

// migrate starts another run of a single migration.
func (d *Desk) migrate(ctx context.Context, id, queue string, in workflows.MigrationInput, details string) (Started, error) {
	s, err := in.Common()
	if err != nil {
		return Started{}, err
	}
	b := beginning{workflow: task.MigrationWorkflow, input: in, common: s, target: in.Target}
	switch {
	case in.Rollback:
		b.verb = "roll back "
	case in.Resume:
		b.verb = "continue "
	}
	return d.execute(ctx, id, queue, b, details)
}

// idFor is a new id, or the one that was asked for, unless it is one that
// retry continues: Temporal itself would let it begin anew.
func (d *Desk) idFor(ctx context.Context, order Order) (string, error) {
	if order.ID == "" {
		return task.NewID(order.Spec.Kind)
	}
	if err := task.CheckID(order.ID); err != nil {
		return "", err
	}
	if err := checkStepIDs(order.Spec, order.ID); err != nil {
		return "", err
	}
	answer, err := d.glance(ctx, order.ID)
	var missing *NotFoundError
	switch {
	case errors.As(err, &missing):
		return order.ID, nil
	case err != nil:
		return "", err
	case answer.Open, answer.Status.State == task.Success, answer.Status.State.Resumable():
		return "", &ExistsError{ID: order.ID, State: answer.Status.State}
	}
	return order.ID, nil
}

// checkStepIDs reports why an id cannot be a pipeline's: those of its steps begin with it.
func checkStepIDs(s *spec.Spec, id string) error {
	if s.Pipeline == nil {
		return nil
	}
	for _, step := range s.Pipeline.Flat() {
		if err := task.CheckID(task.StepID(id, step.Name)); err != nil {
			return fmt.Errorf("%w: the ids of a pipeline's steps are its own, a dot, and the step's name; choose a shorter id", err)
		}
	}
	return nil
}

// placeOf is the connection that a migration writes to: its ledger is there.
func placeOf(s *spec.Spec) string {
	switch {
	case s.Copy != nil:
		return s.Copy.Target
	case s.DDL != nil:
		return s.DDL.Database
	case s.Backfill != nil:
		return s.Backfill.Database
	case s.Reindex != nil:
		return s.Reindex.Database
	case s.SQL != nil:
		return s.SQL.Database
	case s.Pipeline != nil:
		return s.Pipeline.Home()
	}
	return ""
}

func (d *Desk) execute(ctx context.Context, id, queue string, b beginning, details string) (Started, error) {
	run, err := d.cluster.ExecuteWorkflow(ctx, b.options(id, queue, details), b.workflow, b.input)
	var exists *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &exists) {
		return Started{}, d.taken(ctx, id)
	}
	if err != nil {
		return Started{}, d.notSetUp(err)
	}
	return Started{ID: id, RunID: run.GetRunID(), URL: d.cluster.Link(id, run.GetRunID())}, nil
}

// options are those of a run, whoever starts it.
func (b beginning) options(id, queue, details string) client.StartWorkflowOptions {
	s := b.common
	return client.StartWorkflowOptions{
		ID:                                       id,
		TaskQueue:                                queue,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            summary(s, b.verb),
		StaticDetails:                            details,
		Memo:                                     map[string]any{nameMemo: s.Name},
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword(task.StateAttribute).ValueSet(string(task.Pending)),
			temporal.NewSearchAttributeKeyKeyword(task.KindAttribute).ValueSet(string(s.Kind)),
			temporal.NewSearchAttributeKeyKeyword(task.TargetAttribute).ValueSet(b.target),
			temporal.NewSearchAttributeKeyFloat64(task.PercentAttribute).ValueSet(0),
			temporal.NewSearchAttributeKeyBool(task.AttentionAttribute).ValueSet(false),
		),
		Priority: temporal.Priority{PriorityKey: s.Priority},
	}
}

// taken says what is there already under an id.
func (d *Desk) taken(ctx context.Context, id string) error {
	answer, err := d.glance(ctx, id)
	if err != nil {
		return fmt.Errorf("%s is taken by something that is no migration of this namespace; choose another --id", id)
	}
	return &ExistsError{ID: id, State: answer.Status.State}
}

// mostSummary is the longest summary that Temporal shows, in bytes.
const mostSummary = 200

func summary(s spec.Common, verb string) string {
	text := verb + string(s.Kind) + " " + s.Name
	if len(text) > mostSummary {
		text = strings.ToValidUTF8(text[:mostSummary], "")
	}
	return text
}
