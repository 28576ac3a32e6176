package spec

// DDLSpec is the part of a spec that belongs to kind: ddl, a change of a big
// table's definition while it is being used.
type DDLSpec struct {
	// Database is the name of the connection to the table's database, known to the worker only.
	Database string `json:"database" jsonschema:"required,pattern=^[A-Za-z0-9_-]+$"`
	// Table is schema.table, or a table of the connection's database (on
	// PostgreSQL: of its schema public).
	Table string `json:"table" jsonschema:"required"`
	// Alter is what follows ALTER TABLE and the table's name, in the database's
	// dialect: one or more actions.
	Alter string `json:"alter" jsonschema:"required"`
	// Strategy says how it is done: auto, which is the default (by a change of the
	// catalog alone, or in steps that keep nobody out while rows are read, and
	// otherwise by an online copy), direct (that or not at all, and on MySQL and
	// MariaDB also what the server can build beside the writers in one long
	// statement), or shadow (an online copy in any case).
	Strategy DDLStrategy `json:"strategy" jsonschema:"default=auto"`
	// Renames are columns that the ALTER gives another name: the old name and the
	// new one. Without it, a column that is gone under its name is an error.
	Renames map[string]string `json:"renames,omitempty"`
	// Columns gives columns of the new table their values, as SQL expressions over
	// the old one's columns: those that are new, or whose values are to change.
	Columns map[string]string `json:"columns,omitempty"`
	// Indexes says when an online copy gets the indexes that only serve readers:
	// after its rows, inline (from the beginning), or auto, which is the default
	// (after, unless replicas would be behind for as long as that takes).
	Indexes IndexTime `json:"indexes" jsonschema:"default=auto"`
	// Shards says how an online copy is cut into shards.
	Shards Shards `json:"shards"`
	// Chunks says how big a transaction of an online copy is.
	Chunks Chunks `json:"chunks"`
	// Undo is an SQL statement that takes a direct change back in a rollback.
	// Without it, there is none once the change has been made. An online copy
	// needs none: the old table is kept.
	Undo string `json:"undo,omitempty"`
	// Cutover says when and how the change is made.
	Cutover DDLCutover `json:"cutover"`
	// KillBlockers allows to end sessions that keep the table locked; by default none is.
	KillBlockers *KillBlockers `json:"kill_blockers,omitempty"`
	// KeepOld is how long a rollback stays possible after the cut-over, by undo or
	// with the old table of an online copy, which is kept up to date until then; by
	// default 24h, and 0 for not at all. Until then no other migration may have the
	// table.
	KeepOld *Duration `json:"keep_old,omitempty" jsonschema:"default=24h"`
}

// DDLStrategy says how the definition of a table is changed.
type DDLStrategy string

// The strategies.
const (
	AutoStrategy   DDLStrategy = "auto"   // direct, when that keeps nobody out
	DirectStrategy DDLStrategy = "direct" // as the server does it beside the writers
	ShadowStrategy DDLStrategy = "shadow" // by an online copy
)

// IndexTime says when an online copy gets its indexes.
type IndexTime string

// The times.
const (
	AutoIndexes   IndexTime = "auto"
	AfterIndexes  IndexTime = "after"  // when the rows are there
	InlineIndexes IndexTime = "inline" // before the first row
)

// DDLCutover says when and how the change of a definition is made.
type DDLCutover struct {
	// Mode says who starts the cut-over: auto (when everything is prepared),
	// which is the default, or manual (`godwit cutover ID`).
	Mode CutoverMode `json:"mode" jsonschema:"default=auto"`
	// Between is the time of the day in which it may be made, in UTC by the
	// worker's clock, like 02:00-04:00; by default any.
	Between Window `json:"between,omitempty" jsonschema:"pattern=^[0-2][0-9]:[0-5][0-9]-[0-2][0-9]:[0-5][0-9]$"`
	// Timeout limits how long one try waits for the table's lock, and so how long
	// others can be kept waiting behind it; by default 3s.
	Timeout Duration `json:"timeout" jsonschema:"default=3s"`
	// RetryDelay is the wait after a try in vain; by default 1s. It doubles with
	// each, up to 30s. All of them together end with timeouts.cutover.
	RetryDelay Duration `json:"retry_delay" jsonschema:"default=1s"`
}

// KillBlockers says which sessions that keep a table locked may be ended.
type KillBlockers struct {
	// After is how long they are waited for before; by default 30s.
	After Duration `json:"after" jsonschema:"default=30s"`
	// Most is how many sessions are ended for one step, at the most; by default 3.
	Most int `json:"most" jsonschema:"default=3,minimum=1,maximum=100"`
}
