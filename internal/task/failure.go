package task

import "fmt"

// Class says what to do about an error. It is the type of the Temporal
// ApplicationError that an activity returns, so the workflow and the CLI
// decide by it alone.
type Class string

// The classes of errors.
const (
	Transient  Class = "transient"  // a lost connection, a server that restarts: tried again
	Busy       Class = "busy"       // a lock, a deadlock, a throttle: tried again after a delay
	Data       Class = "data"       // a value that cannot be migrated; names table, key, column and value
	Config     Class = "config"     // spec, connection, privilege or definition: somebody must mend it
	Human      Class = "human"      // an outcome that only a human can decide
	Mismatch   Class = "mismatch"   // verification found a difference
	Superseded Class = "superseded" // another attempt has taken over; this one stopped without writing
	Stopping   Class = "stopping"   // the worker is stopping; another one goes on
	Timeout    Class = "timeout"    // a limit of the spec was passed
	Undone     Class = "rolled_back"
	Internal   Class = "internal" // a fault of Godwit's own
)

// Retryable reports whether the same attempt may succeed later without
// anybody doing anything.
func (c Class) Retryable() bool { return c == Transient || c == Busy || c == Stopping }

// Failure is an error as it is shown and stored: what class it is of, what it
// says, and where it happened.
type Failure struct {
	Class   Class  `json:"class"`
	Message string `json:"message"`
	Phase   Phase  `json:"phase,omitempty"`
	// Shard is the number of the shard, from 1; nil when the error is not a shard's.
	Shard *int   `json:"shard,omitempty"`
	Table string `json:"table,omitempty"`
}

func (f *Failure) Error() string {
	if f.Shard != nil {
		return fmt.Sprintf("shard %d: %s", *f.Shard, f.Message)
	}
	return f.Message
}
