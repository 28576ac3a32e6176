package spec

import (
	"cmp"

	"godwit/internal/task"
)

// PipelineSpec is the part of a spec that belongs to kind: pipeline: several steps
// that are done in order.
type PipelineSpec struct {
	// Ledger is the name of the connection whose database has the pipeline's own
	// rows; by default that of its first step with a database.
	Ledger string `json:"ledger,omitempty"`
	// Steps are done one after the other, in this order.
	Steps []Step `json:"steps" jsonschema:"required"`
}

// Step is one step of a pipeline. It has exactly one of copy, ddl, backfill, reindex,
// sql, wait, http and group, or approve alone.
type Step struct {
	// Name tells the step from the others: small letters, digits, - and _.
	Name string `json:"name" jsonschema:"required"`
	// Copy is a copy between databases.
	Copy *CopyStep `json:"copy,omitempty"`
	// DDL is a change of a table's definition.
	DDL *DDLStep `json:"ddl,omitempty"`
	// Backfill changes the rows of a table.
	Backfill *BackfillStep `json:"backfill,omitempty"`
	// Reindex builds, rebuilds or drops indexes.
	Reindex *ReindexStep `json:"reindex,omitempty"`
	// SQL is a statement that is run once, or a query with the answer that it must have.
	SQL *SQLStep `json:"sql,omitempty"`
	// Wait waits until a query is true, or a window of the day opens.
	Wait *WaitStep `json:"wait,omitempty"`
	// HTTP calls an address and looks at the answer.
	HTTP *HTTPStep `json:"http,omitempty"`
	// Group has steps that are done side by side; it is done when all of them are.
	Group []Step `json:"group,omitempty"`
	// Approve makes the step wait for an operator first: `godwit approve ID STEP`.
	Approve bool `json:"approve,omitempty"`
	// When is a condition: where it is not true when it is the step's turn, the step
	// is skipped.
	When *Condition `json:"when,omitempty"`
	// Needs names what has to be done before, or a list of it: a step of this
	// pipeline, or a migration by its name or id, in the ledger of the step's database.
	Needs Names `json:"needs,omitempty"`
	// Timeout limits each try of the step; by default it is not limited. Time spent
	// paused, and waiting for approval, does not count.
	Timeout Duration `json:"timeout,omitempty"`
	// Retries is how often the step is tried again before on_failure is done; by
	// default 3 where that, or on_timeout, is retry, and otherwise 0.
	Retries *int `json:"retries,omitempty" jsonschema:"minimum=0,maximum=100"`
	// Backoff is the wait before the first of them; each further one waits twice as
	// long, up to the pipeline's retry.max_delay. By default it is retry.delay.
	Backoff Duration `json:"backoff,omitempty"`
	// OnFailure says what is done when the step has failed and has no retries left:
	// hold (it waits for an operator), skip (what it has begun is undone, and the next
	// one begins), rollback (it and all before it are undone), or retry (again, and
	// then hold). By default it is the pipeline's own on_failure.
	OnFailure StepReaction `json:"on_failure,omitempty"`
	// OnTimeout says what is done when timeout has passed: hold, skip, rollback, or
	// retry (again from where it was, with the retries that are left, and then hold).
	// By default it is the pipeline's own on_timeout, where fail is hold.
	OnTimeout StepReaction `json:"on_timeout,omitempty"`
}

// StepReaction is what is done about a step that failed or took too long.
type StepReaction string

// The reactions.
const (
	StepRetry    StepReaction = "retry"
	StepSkip     StepReaction = "skip"
	StepRollback StepReaction = "rollback"
	StepHold     StepReaction = "hold"
)

// StepCommon is what every migration accepts that is a step.
type StepCommon struct {
	// Priority orders migrations that wait for capacity: 1 first, 5 last; by default the
	// pipeline's.
	Priority int `json:"priority,omitempty" jsonschema:"minimum=1,maximum=5"`
	// Timeouts limits the phases of the step's migration.
	Timeouts Timeouts `json:"timeouts"`
	// Retry says how often what failed is tried again within the migration.
	Retry Retry `json:"retry"`
	// Throttle limits what the migration takes from the databases.
	Throttle Throttle `json:"throttle,omitzero"`
	// Verify says how the result is compared with the source.
	Verify Verify `json:"verify"`
}

// CopyStep is a step that copies: the fields of kind: copy.
type CopyStep struct {
	StepCommon
	CopySpec
}

// DDLStep is a step that changes a definition: the fields of kind: ddl.
type DDLStep struct {
	StepCommon
	DDLSpec
}

// BackfillStep is a step that changes rows: the fields of kind: backfill.
type BackfillStep struct {
	StepCommon
	BackfillSpec
}

// ReindexStep is a step about indexes: the fields of kind: reindex.
type ReindexStep struct {
	StepCommon
	ReindexSpec
}

// SQLStep is a step that runs a statement once: the fields of kind: sql.
type SQLStep struct {
	StepCommon
	SQLSpec
}

// Condition is a query and the answer that makes it true.
type Condition struct {
	// Database is the name of the connection.
	Database string `json:"database" jsonschema:"required,pattern=^[A-Za-z0-9_-]+$"`
	// Query has one row of one column as its result.
	Query string `json:"query" jsonschema:"required"`
	// Expect is the result that makes it true; by default any but NULL, false, 0 and
	// nothing.
	Expect *Scalar `json:"expect,omitempty"`
}

// WaitStep waits until a query is true, or until a window of the day opens; with
// both, for the query and then for the window.
type WaitStep struct {
	// Database is the name of the connection that the query is for.
	Database string `json:"database,omitempty" jsonschema:"pattern=^[A-Za-z0-9_-]+$"`
	// Query has one row of one column as its result.
	Query string `json:"query,omitempty"`
	// Expect is the result that is waited for; by default any but NULL, false, 0 and
	// nothing.
	Expect *Scalar `json:"expect,omitempty"`
	// Every is how often it is asked; by default 10s.
	Every Duration `json:"every" jsonschema:"default=10s"`
	// Between is a window of the day in UTC, like 22:00-05:00, that is waited for.
	Between Window `json:"between,omitempty"`
}

// HTTPMethod is what is asked of an address.
type HTTPMethod string

// HTTPStep calls an address from the worker and looks at the answer. It cannot be
// undone, except that GET and HEAD change nothing.
type HTTPStep struct {
	// Method is GET, which is the default, HEAD, POST, PUT, PATCH or DELETE.
	Method HTTPMethod `json:"method" jsonschema:"default=GET"`
	// URL is the address, without a user and a password.
	URL string `json:"url" jsonschema:"required"`
	// Headers are sent along. Every call has an Idempotency-Key besides, the same for
	// all tries. What tells who calls belongs to secret_headers.
	Headers map[string]string `json:"headers,omitempty"`
	// SecretHeaders are sent along, too: names of environment variables of the worker's
	// that begin with GODWIT_HTTP_ and have the values.
	SecretHeaders map[string]string `json:"secret_headers,omitempty"`
	// Body is sent along.
	Body string `json:"body,omitempty"`
	// Status is the answer's status that is expected; by default any from 200 to 299.
	Status int `json:"status,omitempty" jsonschema:"minimum=100,maximum=599"`
	// Contains is a text that has to be in the answer.
	Contains string `json:"contains,omitempty"`
	// Repeat says that the call may be made twice, where it is not known whether it
	// has arrived; by default only one that is GET, HEAD, PUT or DELETE is.
	Repeat bool `json:"repeat,omitempty"`
	// Limit is how long the answer is waited for; by default 30s.
	Limit Duration `json:"limit" jsonschema:"default=30s"`
}

// Kind is what the step does, in one word.
func (s *Step) Kind() string {
	switch {
	case s.Copy != nil:
		return string(task.Copy)
	case s.DDL != nil:
		return string(task.DDL)
	case s.Backfill != nil:
		return string(task.Backfill)
	case s.Reindex != nil:
		return string(task.Reindex)
	case s.SQL != nil:
		return string(task.SQL)
	case s.Wait != nil:
		return "wait"
	case s.HTTP != nil:
		return "http"
	case s.Group != nil:
		return "group"
	}
	return "approve"
}

// Database is the connection that the step writes to, or asks; empty for none.
func (s *Step) Database() string {
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
	case s.Wait != nil:
		return s.Wait.Database
	}
	return ""
}

// Flat are the steps, with those of groups in place of the groups.
func (p *PipelineSpec) Flat() []*Step {
	var flat []*Step
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Group == nil {
			flat = append(flat, s)
		}
		for j := range s.Group {
			flat = append(flat, &s.Group[j])
		}
	}
	return flat
}

// Home is the connection whose database has the pipeline's own rows; empty when no
// step has any.
func (p *PipelineSpec) Home() string {
	if p.Ledger != "" {
		return p.Ledger
	}
	for _, s := range p.Flat() {
		if name := s.Database(); name != "" {
			return name
		}
	}
	return ""
}

// defaultPriority is that of every kind.
const defaultPriority = 3

// Migration is the spec of the migration that a step is, nil where it is none.
func (s *Step) Migration() *Spec {
	out := &Spec{}
	var common StepCommon
	switch {
	case s.Copy != nil:
		common, out.Copy = s.Copy.StepCommon, &s.Copy.CopySpec
	case s.DDL != nil:
		common, out.DDL = s.DDL.StepCommon, &s.DDL.DDLSpec
	case s.Backfill != nil:
		common, out.Backfill = s.Backfill.StepCommon, &s.Backfill.BackfillSpec
	case s.Reindex != nil:
		common, out.Reindex = s.Reindex.StepCommon, &s.Reindex.ReindexSpec
	case s.SQL != nil:
		common, out.SQL = s.SQL.StepCommon, &s.SQL.SQLSpec
	default:
		return nil
	}
	out.Common = Common{Kind: task.Kind(s.Kind()), Name: s.Name, Priority: cmp.Or(common.Priority, defaultPriority), Timeouts: common.Timeouts, Retry: common.Retry,
		Throttle: common.Throttle, Verify: common.Verify, OnFailure: Hold, OnTimeout: TimeoutFail}
	return out
}
