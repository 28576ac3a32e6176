package task

// State says how a migration stands. A migration is always in exactly one.
type State string

// The states of a migration.
const (
	Pending    State = "PENDING"
	Running    State = "RUNNING"
	Retrying   State = "RETRYING"    // a shard or step failed or timed out and waits for its next try
	Paused     State = "PAUSED"      // by an operator
	Success    State = "SUCCESS"     // cut over, after verification
	Failed     State = "FAILED"      // cannot go on by itself; retry continues it, rollback undoes it
	TimedOut   State = "TIMEOUT"     // a limit of the spec was passed
	Cancelled  State = "CANCELLED"   // by an operator; nothing half-made is left behind
	RolledBack State = "ROLLED_BACK" // undone, by an operator or by on_failure: rollback
)

// Skipped is how a pipeline's step stands that was passed over; no migration is.
const Skipped State = "SKIPPED"

// States lists every state, in the order of a migration's life.
var States = []State{Pending, Running, Retrying, Paused, Success, Failed, TimedOut, Cancelled, RolledBack}

// Final reports whether a migration in this state does nothing more by itself
// that anybody has to wait for.
func (s State) Final() bool {
	switch s {
	case Success, Failed, TimedOut, Cancelled, RolledBack:
		return true
	}
	return false
}

// Resumable reports whether `retry` can continue a migration in this state.
func (s State) Resumable() bool { return s == Failed || s == TimedOut }

// Phase is a stretch of a migration. Every kind has all of them, in the order
// of Phases, even where one is trivial.
type Phase string

// The phases of a migration.
const (
	Preflight Phase = "preflight"
	Backup    Phase = "backup"
	Transform Phase = "transform"
	Verify    Phase = "verify"
	Cutover   Phase = "cutover"
	Cleanup   Phase = "cleanup"
)

// Phases lists every phase in the order in which they run.
var Phases = []Phase{Preflight, Backup, Transform, Verify, Cutover, Cleanup}

// PhaseWeights are how much of a whole migration the phases are, as a rule, in
// percent.
var PhaseWeights = map[Phase]float64{Preflight: 1, Backup: 1, Transform: 68, Verify: 27, Cutover: 2, Cleanup: 1}

// indexWeights are those of an index rebuild, whose verification reads little or
// nothing.
var indexWeights = map[Phase]float64{Preflight: 1, Backup: 1, Transform: 90, Verify: 6, Cutover: 1, Cleanup: 1}

// WeightsOf are how much of a whole migration of a kind the phases are, as a
// rule, in percent.
func WeightsOf(kind Kind) map[Phase]float64 {
	if kind == Reindex {
		return indexWeights
	}
	return PhaseWeights
}

// Kind is a kind of migration.
type Kind string

// The kinds of migration.
const (
	Copy     Kind = "copy"
	DDL      Kind = "ddl"
	Backfill Kind = "backfill"
	Reindex  Kind = "reindex"
	// SQL is a statement or a query, run once.
	SQL Kind = "sql"
	// Pipeline is several migrations and other steps, in order.
	Pipeline Kind = "pipeline"
)

// Kinds lists the kinds of migration that this version runs.
var Kinds = []Kind{Copy, DDL, Backfill, Reindex, SQL, Pipeline}
