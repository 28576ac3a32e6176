// Package spec is the YAML spec of a migration: its types, defaults,
// validation and JSON Schema.
//
// It promises that a Spec that came out of Parse is complete (defaults filled
// in) and consistent in itself, and that whatever is wrong with a file is said
// with file, line, column, field and the nearest valid choice. Whether the
// connections, tables and types that it names exist is preflight's business.
//
// A spec has one form everywhere: what a user writes in YAML is, as JSON, what
// travels to the worker and stands in the ledger.
package spec

import (
	"godwit/internal/task"
)

// Spec is a whole migration as a user writes it: what every kind accepts, and
// the part of its kind. Exactly the part that belongs to Kind is set.
type Spec struct {
	Common
	Copy *CopySpec
}

// Common is what every kind of migration accepts.
type Common struct {
	// Kind is the kind of migration: copy.
	Kind task.Kind `json:"kind" jsonschema:"required"`
	// Name is shown in lists; by default it is made from what is migrated.
	Name string `json:"name,omitempty"`
	// Priority orders migrations that wait for capacity: 1 first, 5 last.
	Priority  int       `json:"priority,omitempty"`
	Timeouts  Timeouts  `json:"timeouts,omitzero"`
	Retry     Retry     `json:"retry,omitzero"`
	Throttle  Throttle  `json:"throttle,omitzero"`
	Verify    Verify    `json:"verify,omitzero"`
	OnFailure OnFailure `json:"on_failure,omitempty"`
	OnTimeout OnTimeout `json:"on_timeout,omitempty"`
}

// Timeouts limits the phases and the whole migration. Zero means no limit.
// Time spent paused, and waiting for an operator's cut-over, does not count.
type Timeouts struct {
	Total     Duration `json:"total,omitempty"`
	Preflight Duration `json:"preflight,omitempty"`
	Backup    Duration `json:"backup,omitempty"`
	Transform Duration `json:"transform,omitempty"`
	Verify    Duration `json:"verify,omitempty"`
	Cutover   Duration `json:"cutover,omitempty"`
	Cleanup   Duration `json:"cleanup,omitempty"`
}

// Retry says how often what failed is tried again before the migration fails.
type Retry struct {
	// Attempts a shard or a phase has before it goes to the retry queue.
	// Attempts that made progress do not count.
	Attempts int `json:"attempts,omitempty"`
	// Rounds of the retry queue.
	Rounds *int `json:"rounds,omitempty"`
	// Delay before the first round; each further one waits twice as long.
	Delay Duration `json:"delay,omitempty"`
	// MaxDelay is the longest wait between two tries.
	MaxDelay Duration `json:"max_delay,omitempty"`
}

// Throttle limits what a migration takes from the databases.
type Throttle struct {
	// RowsPerSecond over all shards together; 0 for no limit.
	RowsPerSecond int64 `json:"rows_per_second,omitempty"`
	// Parallel is how many shards run at once; it wins over shards.parallel.
	Parallel int `json:"parallel,omitempty"`
}

// Verify says how the result is compared with the source.
type Verify struct {
	Mode VerifyMode `json:"mode,omitempty"`
	// Report is how many differing rows are listed at the most.
	Report int `json:"report,omitempty"`
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
