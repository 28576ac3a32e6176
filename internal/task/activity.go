package task

import (
	"encoding/json"
	"time"
)

// DefaultTaskQueue is the task queue that the CLI starts migrations on and
// the worker listens to, unless told otherwise.
const DefaultTaskQueue = "godwit"

// Workflow types.
const (
	MigrationWorkflow = "Migration"
	// PipelineWorkflow runs the steps of a pipeline.
	PipelineWorkflow = "Pipeline"
	// InquiryWorkflow asks the worker something that only it can know, since
	// connections belong to it: a plan, or the ledger's events.
	InquiryWorkflow = "Inquiry"
)

// Activity types. Workflows call activities by these names, so they import
// neither activities nor engines.
const (
	PreflightActivity        = "Preflight"
	BackupActivity           = "Backup"
	PrepareTransformActivity = "PrepareTransform"
	TransformShardActivity   = "TransformShard"
	FinishTransformActivity  = "FinishTransform"
	PrepareVerifyActivity    = "PrepareVerify"
	VerifyShardActivity      = "VerifyShard"
	FinishVerifyActivity     = "FinishVerify"
	TendActivity             = "Tend"
	CutoverActivity          = "Cutover"
	CleanupActivity          = "Cleanup"
	RollbackActivity         = "Rollback"
	RecordActivity           = "Record"
	PlanActivity             = "Plan"
	EventsActivity           = "Events"
	LedgerStatusActivity     = "LedgerStatus"
)

// Ref names a migration in every activity's input: enough to find its ledger,
// which has the rest. Connection names travel, never URLs or passwords.
type Ref struct {
	ID     string `json:"id"`
	Kind   Kind   `json:"kind"`
	Ledger string `json:"ledger"` // name of the connection whose database holds the ledger
	// Pipeline is the id of the pipeline that the migration is a step of.
	Pipeline string `json:"pipeline,omitempty"`
}

// PreflightInput starts a migration, or continues one that the ledger knows.
type PreflightInput struct {
	Ref
	Spec json.RawMessage `json:"spec"`
	// Resume says that the migration ran before: the ledger must know it, and
	// its fingerprint is compared.
	Resume bool `json:"resume"`
}

// PreflightResult is what the workflow needs to know of the plan.
type PreflightResult struct {
	Tables    int      `json:"tables"`
	RowsTotal int64    `json:"rows_total"`
	Bytes     int64    `json:"bytes_total"`
	Warnings  []string `json:"warnings"`
	// TendEvery asks for the Tend activity at this interval while the
	// migration waits (for an operator's cut-over); 0 for never.
	TendEvery time.Duration `json:"tend_every"`
}

// PhaseInput is the input of an activity that does a phase's work as a whole.
type PhaseInput struct {
	Ref
	State State `json:"state"`
	Phase Phase `json:"phase"`
	// Run is the workflow's run: an operator has begun each after the first.
	Run string `json:"run,omitempty"`
	// Reason says why, where a human or a failure asked for it (rollback, cleanup).
	Reason string `json:"reason,omitempty"`
	// Cancel says of a rollback that an operator has cancelled the migration:
	// what cannot be undone then stays as it is.
	Cancel bool `json:"cancel,omitempty"`
	// Step says that the migration is a pipeline's step: what it has made is to be
	// undone as long as the pipeline can be.
	Step bool `json:"step,omitempty"`
}

// RollbackResult tells what was left as it is of a migration that is cancelled,
// because nothing could undo it.
type RollbackResult struct {
	Left []string `json:"left,omitempty"`
}

// BackupResult tells what was backed up.
type BackupResult struct {
	Items []BackupItem `json:"items"`
}

// BackupItem is one thing that is kept so that a migration can be undone.
type BackupItem struct {
	What    string `json:"what"`    // e.g. "table public.orders"
	Where   string `json:"where"`   // e.g. "godwit_old_….orders"
	Bytes   int64  `json:"bytes"`   // its size
	Restore string `json:"restore"` // how it is restored by hand
}

// Work is a phase's work cut into shards. Shards are numbered from 1 to
// Shards; those that are done already are counted in Done.
type Work struct {
	Shards    int   `json:"shards"`
	RowsTotal int64 `json:"rows_total"`
	Bytes     int64 `json:"bytes_total"`
	Open      []int `json:"open"` // numbers of the shards still to be done, in the order to do them
	Done      int   `json:"done"`
	RowsDone  int64 `json:"rows_done"`
	BytesDone int64 `json:"bytes_done"`
	// Labels describe the open shards ("shop.orders 3/8"), in the order of Open.
	Labels []string `json:"labels"`
	// Streams is how many of the shards should run at once, unless the throttle
	// says otherwise; 0 is as many as may.
	Streams int `json:"streams,omitempty"`
	// Changelog is what is noted of changes and still to be applied, where
	// changes are noted.
	Changelog *ChangelogStatus `json:"changelog,omitempty"`
}

// ShardInput is the input of TransformShard and VerifyShard.
type ShardInput struct {
	Ref
	Phase Phase `json:"phase"`
	Shard int   `json:"shard"`
	// Round is 0 for the first try and counts the rounds of the retry queue.
	Round int `json:"round"`
}

// ShardResult tells what a shard's activity did.
type ShardResult struct {
	Shard int    `json:"shard"`
	Table string `json:"table"`
	Rows  int64  `json:"rows"`  // rows of the whole shard
	Bytes int64  `json:"bytes"` // bytes of the whole shard
	// Held tells how long what has held the migration back until now.
	Held []HeldTime `json:"held,omitempty"`
	// Changelog is what was noted of changes and still to be applied when it ended.
	Changelog *ChangelogStatus `json:"changelog,omitempty"`
}

// VerifySummary tells what verification compared.
type VerifySummary struct {
	Mode      string `json:"mode"`
	Tables    int    `json:"tables"`
	Rows      int64  `json:"rows"` // rows compared
	Different int64  `json:"different"`
	// Checked says in words what was found right where rows are not compared
	// with a source.
	Checked  []string     `json:"checked,omitempty"`
	Rechecks int          `json:"rechecks"`
	Diffs    []Difference `json:"diffs"` // the first ones; the ledger's events have all that were listed
}

// Difference is one row that is not the same on both sides.
type Difference struct {
	Table   string       `json:"table"`
	Key     string       `json:"key"`
	What    string       `json:"what"` // missing, extra, different
	Columns []ColumnDiff `json:"columns,omitempty"`
}

// ColumnDiff is a value that is not the same on both sides.
type ColumnDiff struct {
	Column string `json:"column"`
	Source string `json:"source"`
	Target string `json:"target"`
}

// CutoverResult tells what is kept after the cut-over and for how long.
type CutoverResult struct {
	Kept    []BackupItem  `json:"kept"`
	KeepFor time.Duration `json:"keep_for"`
	// TendEvery asks for the Tend activity at this interval while it is kept; 0 for never.
	TendEvery time.Duration `json:"tend_every,omitempty"`
	// Shut says that nothing has been cut over, because the window in which it may
	// be is over: it is called again in the next one.
	Shut bool `json:"shut,omitempty"`
}

// TendResult tells what is left to do after tending.
type TendResult struct {
	Pending int64      `json:"pending"` // noted changes still to be applied
	Oldest  *time.Time `json:"oldest,omitempty"`
}

// RecordInput writes a change of state or settings to the ledger.
type RecordInput struct {
	Ref
	State    State             `json:"state"`
	Phase    Phase             `json:"phase"`
	Event    string            `json:"event"`
	Detail   string            `json:"detail,omitempty"`
	Error    *Failure          `json:"error,omitempty"`
	Throttle *ThrottleSettings `json:"throttle,omitempty"`
}

// InquiryInput asks the worker for one thing; exactly one field is set.
type InquiryInput struct {
	Plan   *PlanInput   `json:"plan,omitempty"`
	Events *EventsInput `json:"events,omitempty"`
	Status *Ref         `json:"status,omitempty"`
}

// InquiryResult is the answer to an InquiryInput.
type InquiryResult struct {
	Plan   *Plan       `json:"plan,omitempty"`
	Events *EventsPage `json:"events,omitempty"`
	Status *Status     `json:"status,omitempty"`
}

// PlanInput asks what a migration would do. Nothing is changed.
type PlanInput struct {
	Spec json.RawMessage `json:"spec"`
}

// Plan is what a migration would do: preflight's findings in full.
type Plan struct {
	Kind       Kind          `json:"kind"`
	Name       string        `json:"name"`
	Source     string        `json:"source,omitempty"` // connection and server, without secrets
	Target     string        `json:"target"`
	Tables     []TablePlan   `json:"tables"`
	Statements []string      `json:"statements"` // the SQL, in order
	Warnings   []string      `json:"warnings"`
	RowsTotal  int64         `json:"rows_total"`
	BytesTotal int64         `json:"bytes_total"`
	Shards     int           `json:"shards"`
	Estimate   time.Duration `json:"estimate"` // of the whole run
	// Advice says whether to wait for it or to leave it.
	Advice string `json:"advice"`
	// Steps are the plans of a pipeline's steps.
	Steps []StepPlan `json:"steps,omitempty"`
}

// StepPlan is what a step of a pipeline would do.
type StepPlan struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Group string `json:"group,omitempty"`
	Does  string `json:"does"`
	// Plan is its migration's, nil where it is none, or where it can only be planned
	// once earlier steps are done, which Problem says then.
	Plan    *Plan  `json:"plan,omitempty"`
	Problem string `json:"problem,omitempty"`
	// Undo says whether and for how long it can be undone; Final that it cannot: when
	// it is done, the pipeline is past its point of no return.
	Undo  string `json:"undo"`
	Final bool   `json:"final,omitempty"`
}

// TablePlan is one table of a plan.
type TablePlan struct {
	Source  string       `json:"source"`
	Target  string       `json:"target"`
	Rows    int64        `json:"rows"`
	Bytes   int64        `json:"bytes"`
	Shards  int          `json:"shards"`
	Key     []string     `json:"key"` // empty: no usable key
	Columns []ColumnPlan `json:"columns"`
	Notes   []string     `json:"notes"`
}

// ColumnPlan is one column of a TablePlan.
type ColumnPlan struct {
	Source     string `json:"source"`
	SourceType string `json:"source_type"`
	Target     string `json:"target"`
	TargetType string `json:"target_type"`
	Note       string `json:"note,omitempty"`
}

// EventsInput asks for a migration's events after a given one.
type EventsInput struct {
	Ref
	After int64 `json:"after"` // event number; 0 for all
	Limit int   `json:"limit"`
	// Wait is how long to wait for a first event when there is none.
	Wait time.Duration `json:"wait"`
}

// EventsPage is a stretch of a migration's events.
type EventsPage struct {
	Events []Event `json:"events"`
	State  State   `json:"state"`
	More   bool    `json:"more"`
}

// Event is one line of the audit trail.
type Event struct {
	No       int64         `json:"no"`
	At       time.Time     `json:"at"`
	What     string        `json:"what"`
	Phase    Phase         `json:"phase,omitempty"`
	Table    string        `json:"table,omitempty"`
	Shard    int           `json:"shard,omitempty"`
	Attempt  int           `json:"attempt,omitempty"`
	Duration time.Duration `json:"duration,omitempty"`
	Detail   string        `json:"detail,omitempty"`
	Error    *Failure      `json:"error,omitempty"`
	Stack    string        `json:"stack,omitempty"`
	Owner    string        `json:"owner,omitempty"` // worker that wrote it
}
