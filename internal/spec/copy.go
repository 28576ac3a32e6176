package spec

// CopySpec is the part of a spec that belongs to kind: copy, a copy between
// two databases.
type CopySpec struct {
	// Source is the name of the connection that is copied from, known to the worker only.
	Source string `json:"source" jsonschema:"required,pattern=^[A-Za-z0-9_-]+$"`
	// Target is the name of the connection that is copied to, known to the worker only.
	Target string `json:"target" jsonschema:"required,pattern=^[A-Za-z0-9_-]+$"`
	// Tables to copy; by default all of the source connection's database. The
	// last entry that covers a table decides about it.
	Tables []TableSpec `json:"tables,omitempty" jsonschema:"minItems=1"`
	// Mode of the copy: offline, which is the default: nobody writes to the
	// source meanwhile, and verification notices if somebody did.
	Mode CopyMode `json:"mode" jsonschema:"default=offline"`
	// Schema says where the target's tables come from: create, which is the
	// default, or existing.
	Schema SchemaMode `json:"schema" jsonschema:"default=create"`
	// ExistingRows says what to do with a target table that has rows: fail,
	// which is the default, or replace (the table is set aside first).
	ExistingRows ExistingRows `json:"existing_rows" jsonschema:"default=fail"`
	// Shards says how tables are cut into shards.
	Shards Shards `json:"shards"`
	// Cutover says how the copy ends.
	Cutover CopyCutover `json:"cutover"`
	// KeepOld is how long a table that was set aside is kept for a rollback;
	// by default 24h.
	KeepOld *Duration `json:"keep_old,omitempty" jsonschema:"default=24h"`
}

// TableSpec is one entry of tables: a name or a pattern (shop.*, !shop.tmp_*),
// or one table with what is particular to it.
type TableSpec struct {
	// Name is the source's database.table, or a table of its default database.
	// A * stands for any characters, and a ! at the beginning takes away from
	// the entries before it.
	Name string `json:"name" jsonschema:"required"`
	// To is the target's schema.table; by default the target decides.
	To string `json:"to,omitempty"`
	// Where is an SQL condition of the source's dialect; rows that do not
	// meet it are not copied. By default all are.
	Where string `json:"where,omitempty"`
}

// CopyMode says whether the source may change during the copy.
type CopyMode string

// The modes of a copy.
const (
	Offline CopyMode = "offline"
)

// SchemaMode says where the target's tables come from.
type SchemaMode string

// The schema modes.
const (
	CreateSchema   SchemaMode = "create"
	ExistingSchema SchemaMode = "existing"
)

// ExistingRows says what to do with a target table that has rows.
type ExistingRows string

// The reactions to existing rows.
const (
	RefuseRows  ExistingRows = "fail"
	ReplaceRows ExistingRows = "replace" // after backup
)

// Shards says how tables are cut into shards.
type Shards struct {
	// Rows per shard, about; by default 250000 (in a backfill 125000), more for very big tables.
	Rows int64 `json:"rows,omitempty" jsonschema:"minimum=10"`
	// Parallel is how many shards run at once; by default 4. throttle.parallel
	// wins when it is set.
	Parallel int `json:"parallel" jsonschema:"default=4,minimum=1,maximum=64"`
}

// CopyCutover says how a copy ends.
type CopyCutover struct {
	// Mode says who starts the cut-over: auto (when verification is done),
	// which is the default, or manual (`godwit cutover ID`).
	Mode CutoverMode `json:"mode" jsonschema:"default=auto"`
	// Timeout limits one try of the cut-over; by default 30s.
	Timeout Duration `json:"timeout" jsonschema:"default=30s"`
	// SourceAfter says what becomes of the source's tables: leave, which is
	// the default: nothing.
	SourceAfter SourceAfter `json:"source_after" jsonschema:"default=leave"`
}

// CutoverMode says who starts the cut-over.
type CutoverMode string

// The cut-over modes.
const (
	AutoCutover   CutoverMode = "auto"
	ManualCutover CutoverMode = "manual" // waits for `godwit cutover ID`
)

// SourceAfter says what becomes of the source after the cut-over.
type SourceAfter string

// What becomes of the source.
const (
	LeaveSource SourceAfter = "leave"
)
