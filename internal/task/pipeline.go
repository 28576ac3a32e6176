package task

import (
	"encoding/json"
	"time"
)

// Activity types of pipelines.
const (
	OpenPipelineActivity = "OpenPipeline"
	RecordStepsActivity  = "RecordSteps"
	ConditionActivity    = "Condition"
	NeedsActivity        = "Needs"
	CallActivity         = "Call"
	// LookForPipelineActivity is a local one: it speaks to Temporal alone.
	LookForPipelineActivity = "LookForPipeline"
)

// Updates and signals of pipelines and their steps.
const (
	ApproveUpdate = "approve" // let a step begin that waits for an operator
	// StepSignal is from a step's migration to its pipeline: a StepReport.
	StepSignal = "step"
	// ExpireSignal is from a pipeline to a step's migration: end in TIMEOUT, with
	// everything kept.
	ExpireSignal = "expire"
	// RollbackSignal asks a step's migration to be undone; a workflow cannot send an
	// update.
	RollbackSignal = "rollback"
	// CleanupSignal asks it to stop keeping what a rollback would need.
	CleanupSignal = "cleanup"
	// KeepSignal says until when it keeps that: a KeepRequest.
	KeepSignal = "keep"
)

// StepID is the id of the migration that a step of a pipeline is.
func StepID(pipeline, step string) string { return pipeline + "." + step }

// StepRequest is the input of the updates about a step.
type StepRequest struct {
	Request
	// Step is the name of a step; empty for the one that waits.
	Step string `json:"step,omitempty"`
}

// UndoRequest asks a step's migration to be undone.
type UndoRequest struct {
	Request
	// Leave says that what cannot be undone is left as it is.
	Leave bool `json:"leave,omitempty"`
}

// KeepRequest says how long a step that is done keeps what undoes it.
type KeepRequest struct {
	// Over says that the pipeline is done, or has been undone without this step: the
	// time of keep_old begins. Otherwise the step keeps everything until it is told so.
	Over bool `json:"over"`
}

// StepReport is what a step's migration tells its pipeline: that it has succeeded,
// and how it has ended.
type StepReport struct {
	ID    string `json:"id"`
	Run   string `json:"run"`
	Chain string `json:"chain"` // the first of the runs that continue each other
	State State  `json:"state"`
	// Closed says that it has ended: nothing is kept any more.
	Closed bool `json:"closed,omitempty"`
	// KeepFor is how long what undoes it is kept once its pipeline is over; 0 when there
	// is nothing. KeptUntil is nil before that.
	KeepFor   time.Duration `json:"keep_for,omitempty"`
	KeptUntil *time.Time    `json:"kept_until,omitempty"`
	Error     *Failure      `json:"error,omitempty"`
	// Botched says that its rollback has failed.
	Botched bool `json:"botched,omitempty"`
	// Left says what its rollback has left as it is; empty for nothing.
	Left   string `json:"left,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// PipelineRef names a pipeline to a step's migration.
type PipelineRef struct {
	ID string `json:"id"`
	// Chain is the first of the runs that continue each other: another pipeline may
	// have the id by now.
	Chain string `json:"chain"`
}

// PipelineFound tells whether a pipeline is there.
type PipelineFound struct {
	Open bool `json:"open"`
}

// OpenPipelineInput writes a pipeline to its ledger.
type OpenPipelineInput struct {
	Ref
	Spec  json.RawMessage `json:"spec"`
	Name  string          `json:"name"`
	Steps []string        `json:"steps"`
}

// RecordStepsInput writes a pipeline's state, and those of steps, to its ledger.
type RecordStepsInput struct {
	RecordInput
	Steps []PhaseStatus `json:"steps,omitempty"`
}

// ConditionInput asks a query until it is true, or once.
type ConditionInput struct {
	Database string        `json:"database"`
	Query    string        `json:"query"`
	Expect   *string       `json:"expect,omitempty"`
	Every    time.Duration `json:"every,omitempty"` // 0 for once
}

// ConditionResult is the answer.
type ConditionResult struct {
	True   bool   `json:"true"`
	Answer string `json:"answer"`
}

// NeedsInput asks a ledger how migrations stand, by name or id.
type NeedsInput struct {
	Ledger string   `json:"ledger"`
	Names  []string `json:"names"`
}

// NeedsResult tells which have finished, which are all of them: one that has not is
// an error.
type NeedsResult struct {
	Done []string `json:"done,omitempty"`
}

// CallInput calls an address.
type CallInput struct {
	Key           string            `json:"key"` // the same for all tries
	Method        string            `json:"method"`
	URL           string            `json:"url"`
	Headers       map[string]string `json:"headers,omitempty"`
	SecretHeaders map[string]string `json:"secret_headers,omitempty"`
	Body          string            `json:"body,omitempty"`
	Status        int               `json:"status,omitempty"`
	Contains      string            `json:"contains,omitempty"`
	Limit         time.Duration     `json:"limit"`
	// Repeat says that it may be sent twice.
	Repeat bool `json:"repeat,omitempty"`
}

// CallResult is the answer, or what is known of a call without one: then it is a detail
// of the error.
type CallResult struct {
	Status int `json:"status"`
	// Unsent says that it cannot have arrived: nobody took it.
	Unsent bool `json:"unsent,omitempty"`
}
