package task

// Signals, usable as they are from the Temporal Web UI.
const (
	PauseSignal  = "pause"
	ResumeSignal = "resume"
	CancelSignal = "cancel" // Temporal's own cancel request means the same
)

// Updates: a refusal says why.
const (
	CutoverUpdate  = "cutover"
	RollbackUpdate = "rollback"
	RetryUpdate    = "retry"
	SkipUpdate     = "skip"
	ThrottleUpdate = "throttle"
	CleanupUpdate  = "cleanup" // stop keeping what a rollback would need
)

// StatusQuery is the query that returns a Status.
const StatusQuery = "status"

// Request is the input of the signals and updates that take only a reason.
type Request struct {
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"` // who asks, for the audit trail
}

// Names of the search attributes.
const (
	StateAttribute     = "GodwitState"
	KindAttribute      = "GodwitKind"
	PhaseAttribute     = "GodwitPhase"
	TargetAttribute    = "GodwitTarget"
	PercentAttribute   = "GodwitPercent"
	AttentionAttribute = "GodwitNeedsAttention"
)
