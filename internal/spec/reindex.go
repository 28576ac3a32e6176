package spec

// ReindexSpec is the part of a spec that belongs to kind: reindex: indexes of
// tables in use are rebuilt, made or dropped.
type ReindexSpec struct {
	// Database is the name of the connection to the indexes' database, known to the worker only.
	Database string `json:"database" jsonschema:"required,pattern=^[A-Za-z0-9_-]+$"`
	// Table is schema.table, or a table of the connection's database (on
	// PostgreSQL: of its schema public). Without index, create and drop, all its
	// indexes are rebuilt.
	Table string `json:"table,omitempty"`
	// Schema is a schema (on MySQL and MariaDB, a database) of which the indexes of
	// all tables are rebuilt, or in which index and drop are, in place of table.
	Schema string `json:"schema,omitempty"`
	// Index is the name of an index to be rebuilt, or a list of them.
	Index Names `json:"index,omitempty"`
	// Create is a CREATE INDEX statement, or a list of them, in the database's
	// dialect. How the index is built is not said in it.
	Create Statements `json:"create,omitempty"`
	// Drop is the name of an index to be dropped in the cut-over, or a list of them.
	Drop Names `json:"drop,omitempty"`
	// Strategy says how it is done: auto, which is the default (in place, unless the
	// throttle has a limit that only a copy of the table can keep), inplace (each
	// index by a statement of the server's that keeps nobody out), or shadow (on MySQL
	// and MariaDB: the table is written anew with all its indexes, by an online copy).
	Strategy BuildStrategy `json:"strategy" jsonschema:"default=auto"`
	// Bloat leaves out indexes that are not worth being rebuilt; by default all are.
	// PostgreSQL only.
	Bloat *Bloat `json:"bloat,omitempty"`
	// Build says what building one index may take.
	Build Build `json:"build"`
	// Critical says when the building of an index is given up, to be begun again
	// later with less.
	Critical Critical `json:"critical"`
	// Shards says how many indexes are built at once.
	Shards IndexShards `json:"shards"`
	// Cutover says when indexes are dropped.
	Cutover ReindexCutover `json:"cutover"`
	// KeepOld is how long a rollback stays possible after indexes have been dropped;
	// by default 24h, and 0 for not at all. Until then no other migration may have
	// their tables. Where none is dropped, nothing is kept.
	KeepOld *Duration `json:"keep_old,omitempty" jsonschema:"default=24h"`
}

// BuildStrategy says how indexes are built.
type BuildStrategy string

// The strategies.
const (
	AutoBuild   BuildStrategy = "auto"
	InPlace     BuildStrategy = "inplace" // by the server, beside the writers
	ShadowBuild BuildStrategy = "shadow"  // by an online copy of the table
)

// Names is one name, or a list of them.
type Names []string

// Bloat says which indexes are worth being rebuilt: those that are in both limits.
type Bloat struct {
	// Percent of the index that is wasted, at the least: measured by pgstattuple
	// where that is installed, and otherwise estimated; by default 30.
	Percent int `json:"percent" jsonschema:"default=30,minimum=1,maximum=99"`
	// Size of the index, at the least; by default 1MiB.
	Size Size `json:"size" jsonschema:"default=1MiB"`
}

// Build says what building one index may take.
type Build struct {
	// Workers is how many processes or threads help to build; by default as many
	// as the server is set to. On MariaDB there are none.
	Workers *int `json:"workers,omitempty" jsonschema:"minimum=0,maximum=64"`
	// Memory is what it may sort in, like 256MiB; by default what the server is set to.
	Memory Size `json:"memory,omitempty"`
	// LockTimeout is how long a statement waits for the table's lock on MySQL and
	// MariaDB, where others wait behind it: at the beginning of a build, and at its
	// end, where giving up loses it; by default 30s.
	LockTimeout Duration `json:"lock_timeout" jsonschema:"default=30s"`
}

// Critical says when a build is given up: when a guard of the throttle is beyond
// its limit by so much, for so long.
type Critical struct {
	// Percent of a guard's limit; by default 150.
	Percent int `json:"percent" jsonschema:"default=150,minimum=100,maximum=10000"`
	// After is how long it has to stay so; by default 30s, and 0 for never.
	After *Duration `json:"after,omitempty" jsonschema:"default=30s"`
}

// IndexShards says how many indexes are built at once.
type IndexShards struct {
	// Parallel is how many indexes are built at once, of different tables; by default 1.
	Parallel int `json:"parallel" jsonschema:"default=1,minimum=1,maximum=64"`
}

// ReindexCutover says when indexes are dropped.
type ReindexCutover struct {
	// Mode says who starts it: auto (when verification is done), which is the
	// default, or manual (`godwit cutover ID`).
	Mode CutoverMode `json:"mode" jsonschema:"default=auto"`
}
