package spec

// CopySpec is the part of a spec that belongs to kind: copy, a copy between
// two databases.
type CopySpec struct {
	// Source and Target are names of connections, known to the worker only.
	Source string `json:"source" jsonschema:"required"`
	Target string `json:"target" jsonschema:"required"`
	// Tables to copy; by default all of the source connection's database.
	Tables []TableSpec `json:"tables,omitempty"`
	// Mode: offline (nobody writes to the source meanwhile; verification
	// notices if somebody did).
	Mode CopyMode `json:"mode,omitempty"`
	// Schema: create the target's tables, or use the existing ones.
	Schema SchemaMode `json:"schema,omitempty"`
	// ExistingRows says what to do with a target table that has rows.
	ExistingRows ExistingRows `json:"existing_rows,omitempty"`
	Shards       Shards       `json:"shards,omitzero"`
	Cutover      CopyCutover  `json:"cutover,omitzero"`
	// KeepOld is how long a table that was set aside is kept for a rollback.
	KeepOld *Duration `json:"keep_old,omitempty"`
}

// TableSpec is one entry of tables: a name or a pattern (shop.*, !shop.tmp_*),
// or one table with what is particular to it.
type TableSpec struct {
	// Name is the source's database.table, or a table of its default database.
	Name string `json:"name" jsonschema:"required"`
	// To is the target's schema.table.
	To string `json:"to,omitempty"`
	// Where is an SQL condition of the source's dialect; rows that do not
	// meet it are not copied.
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
	// Rows per shard, about. By default 250000, more for very big tables.
	Rows int64 `json:"rows,omitempty"`
	// Parallel is how many shards run at once.
	Parallel int `json:"parallel,omitempty"`
}

// CopyCutover says how a copy ends.
type CopyCutover struct {
	Mode CutoverMode `json:"mode,omitempty"`
	// Timeout limits one try of the cut-over.
	Timeout Duration `json:"timeout,omitempty"`
	// SourceAfter says what becomes of the source's tables: leave.
	SourceAfter SourceAfter `json:"source_after,omitempty"`
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
