package engine

// IndexWish says what is to be done about indexes.
type IndexWish struct {
	// Schema asks for all tables of a schema, Table for one of them.
	Schema string
	Table  Name
	// Indexes are to be rebuilt; none are all of the tables that are asked for,
	// unless something is to be made or dropped.
	Indexes []string
	// Create are CREATE INDEX statements, Drop the names of indexes.
	Create, Drop []string
	// Bloat leaves out what has less of it.
	Bloat *BloatLimit
}

// BloatLimit says which indexes are worth being rebuilt.
type BloatLimit struct {
	Percent float64 // of the index that is wasted, at least
	Bytes   int64   // size of the index, at least
}

// IndexPlan is what a wish comes to: the works, in the order in which they are done.
type IndexPlan struct {
	Works []IndexWork
	// Notes are what an operator should know: what is left out and why, and what
	// was found that earlier builds have left.
	Notes []string
}

// IndexAction is what is done about one index.
type IndexAction string

// The actions.
const (
	RebuildIndex IndexAction = "rebuild"
	CreateIndex  IndexAction = "create"
	DropIndex    IndexAction = "drop"
)

// IndexWork is one index that is rebuilt, made or dropped. It is kept in the ledger.
type IndexWork struct {
	Action IndexAction `json:"action"`
	Table  Name        `json:"table"`
	Index  string      `json:"index"`
	// Steps are the statements, in order.
	Steps []IndexStep `json:"steps"`
	// Definition is the statement by which the index comes back, or into being.
	Definition string `json:"definition"`
	// Shape is what it has to be in the end, in words of the catalog.
	Shape string `json:"shape,omitempty"`
	// Unique indexes may meet duplicates: of these Keys, where Where is true.
	Unique bool     `json:"unique,omitempty"`
	Keys   []string `json:"keys,omitempty"`
	Where  string   `json:"where,omitempty"`
	// Method is the kind of index: btree, gin …
	Method string `json:"method"`
	// Rows is how many rows are read for it, about, and Bytes its size, or that
	// of the table where it is not there yet.
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
	// Bloat is the part of it that is wasted, in percent; nil where nobody knows.
	Bloat *float64 `json:"bloat,omitempty"`
}

// Name is the index with its table's schema.
func (w *IndexWork) Name() Name { return Name{Schema: w.Table.Schema, Table: w.Index} }

// IndexStep is one statement, or several that nobody comes between.
type IndexStep struct {
	SQL []string `json:"sql"`
	// Builds says that rows are read; the others are over in a moment.
	Builds bool `json:"builds,omitempty"`
	// Locks says that it needs the table for itself for a moment, and that others
	// wait behind it while it waits for that.
	Locks bool `json:"locks,omitempty"`
}

// IndexStand is how far an index has come, by the catalog.
type IndexStand struct {
	Done int // steps
	// Mark tells the index from the one that the next step makes of it.
	Mark string
}

// BuildLimits is what one build may take.
type BuildLimits struct {
	Workers *int  // processes or threads besides the first; nil as the server has it
	Memory  int64 // bytes to sort in; 0 as the server has it
	// Halved is how many times both are to be halved.
	Halved int
	// LockWait is how many seconds a statement waits for the table's lock where
	// others wait behind it.
	LockWait float64
}

// IndexProgress is how far a build has come, by the server's own account.
type IndexProgress struct {
	Phase string // in the server's words; empty when it tells nothing
	// Before is the part of the whole that the phases before are, as a rule, and
	// Part that of this one, which is 0 for a phase that only waits.
	Before, Part float64
	// Within is how much of this phase is done, 0 to 1; negative when the server
	// does not tell.
	Within float64
	// Workers is how many processes are seen to help.
	Workers int
	// Waits says in words whom it waits for; empty while it works.
	Waits string
}
