// Package spec is the YAML spec of a migration: its types, defaults,
// validation and JSON Schema.
//
// It promises that a Spec that came out of Parse is complete (defaults filled
// in) and consistent in itself, and that whatever is wrong with a file is said
// with file, line, column, field and the nearest valid choice, all mistakes at
// once. Whether the connections, tables and types that it names exist is
// preflight's business.
//
// A spec has one form everywhere: what a user writes in YAML is, as JSON, what
// travels to the worker and stands in the ledger. There, every default is
// written out, so that a worker of another version with other defaults goes on
// with what was started.
//
// The comments of the types below are the descriptions in the JSON Schema, and
// their jsonschema tags are the one place where defaults and ranges are stated.
// A kind of migration is a struct like CopySpec, and a line in kinds.
package spec

import (
	"godwit/internal/task"
)

// Spec is a whole migration as a user writes it: what every kind accepts, and
// the part of its kind. Exactly the part that belongs to Kind is set.
type Spec struct {
	Common
	Copy     *CopySpec
	Backfill *BackfillSpec
	DDL      *DDLSpec
	Reindex  *ReindexSpec
	SQL      *SQLSpec
	Pipeline *PipelineSpec
}

// Common is what every kind of migration accepts.
type Common struct {
	// Kind is the kind of migration: copy, ddl, backfill, reindex, sql or
	// pipeline.
	Kind task.Kind `json:"kind" jsonschema:"required"`
	// Name is shown in lists; by default it is made from what is migrated,
	// like "legacy → warehouse".
	Name string `json:"name,omitempty"`
	// Priority orders migrations that wait for capacity: 1 first, 5 last; by
	// default 3.
	Priority int `json:"priority" jsonschema:"default=3,minimum=1,maximum=5"`
	// Timeouts limits the phases and the whole migration.
	Timeouts Timeouts `json:"timeouts"`
	// Retry says how often what failed is tried again before the migration fails.
	Retry Retry `json:"retry"`
	// Throttle limits what the migration takes from the databases; by default nothing does.
	Throttle Throttle `json:"throttle,omitzero"`
	// Verify says how the result is compared with the source.
	Verify Verify `json:"verify"`
	// OnFailure says what happens when the migration cannot go on by itself:
	// hold (FAILED with everything kept, for retry or rollback), which is the
	// default, or rollback.
	OnFailure OnFailure `json:"on_failure" jsonschema:"default=hold"`
	// OnTimeout says what happens when a limit of timeouts is passed: fail
	// (TIMEOUT with everything kept), which is the default, retry (start the
	// phase again, at most retry.attempts times, then fail), or rollback.
	OnTimeout OnTimeout `json:"on_timeout" jsonschema:"default=fail"`
}

// Timeouts limits the phases and the whole migration. Zero means no limit.
// Time spent paused, and waiting for an operator's cut-over, does not count.
type Timeouts struct {
	// Total limits the whole migration; by default it is not limited.
	Total Duration `json:"total,omitempty"`
	// Preflight limits the checks beforehand; by default 10m.
	Preflight Duration `json:"preflight" jsonschema:"default=10m"`
	// Backup limits the backup; by default it is not limited.
	Backup Duration `json:"backup,omitempty"`
	// Transform limits the copying or rewriting itself; by default it is not limited.
	Transform Duration `json:"transform,omitempty"`
	// Verify limits the comparison; by default it is not limited.
	Verify Duration `json:"verify,omitempty"`
	// Cutover limits all tries of the cut-over together; by default 10m.
	Cutover Duration `json:"cutover" jsonschema:"default=10m"`
	// Cleanup limits the removal of what was kept for a rollback; by default it is not limited.
	Cleanup Duration `json:"cleanup,omitempty"`
}

// Retry says how often what failed is tried again before the migration fails.
type Retry struct {
	// Attempts a shard or a phase has before it goes to the retry queue; by
	// default 3. Attempts that made progress do not count.
	Attempts int `json:"attempts" jsonschema:"default=3,minimum=1,maximum=100"`
	// Rounds of the retry queue; by default 2, 0 for none.
	Rounds *int `json:"rounds,omitempty" jsonschema:"default=2,minimum=0,maximum=100"`
	// Delay before the first round; by default 5s. Each further one waits twice as long.
	Delay Duration `json:"delay" jsonschema:"default=5s"`
	// MaxDelay is the longest wait between two tries; by default 5m.
	MaxDelay Duration `json:"max_delay" jsonschema:"default=5m"`
}

// Verify says how the result is compared with the source.
type Verify struct {
	// Mode is how much is looked at: checksum (count and digest of every row's
	// values), which is the default, count (of rows), or none.
	Mode VerifyMode `json:"mode" jsonschema:"default=checksum"`
	// Report is how many differing rows are listed at the most; by default 100.
	Report int `json:"report" jsonschema:"default=100,minimum=1,maximum=10000"`
}

// VerifyMode is how much verification looks at.
type VerifyMode string

// The modes of verification.
const (
	Checksum VerifyMode = "checksum" // count and digest of every row's values
	Count    VerifyMode = "count"    // count of rows
	NoVerify VerifyMode = "none"
)

// OnFailure is what happens when a migration cannot go on by itself.
type OnFailure string

// The reactions to a failure.
const (
	Hold     OnFailure = "hold"     // FAILED with everything kept, for retry or rollback
	Rollback OnFailure = "rollback" // undo it
)

// OnTimeout is what happens when a limit is passed.
type OnTimeout string

// The reactions to a timeout.
const (
	TimeoutRetry    OnTimeout = "retry"    // start the phase again, at most retry.attempts times, then fail
	TimeoutFail     OnTimeout = "fail"     // TIMEOUT with everything kept
	TimeoutRollback OnTimeout = "rollback" // undo it
)
