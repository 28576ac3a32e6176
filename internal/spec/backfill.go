package spec

// BackfillSpec is the part of a spec that belongs to kind: backfill, an UPDATE
// of a big table, or a statement of one's own, in many small transactions.
type BackfillSpec struct {
	// Database is the name of the connection to the table's database, known to the worker only.
	Database string `json:"database" jsonschema:"required,pattern=^[A-Za-z0-9_-]+$"`
	// Table is schema.table, or a table of the connection's database (on
	// PostgreSQL: of its schema public).
	Table string `json:"table" jsonschema:"required"`
	// Set gives columns their new values: an SQL expression each, in the
	// database's dialect. All of them see the row as it was before.
	Set map[string]string `json:"set,omitempty"`
	// Where is an SQL condition: only rows that meet it are changed. By default all are.
	Where string `json:"where,omitempty"`
	// From is another table, schema.table, whose columns set, where and on may use.
	From string `json:"from,omitempty"`
	// On is the SQL condition that finds a row's partner in from; there must be at most one.
	On string `json:"on,omitempty"`
	// Statement is an INSERT, UPDATE or DELETE of one's own in place of set, or
	// a list of them, run for range after range of the table: :range stands for
	// the range as a condition (:range(o) of a table with the alias o), :low and
	// :high for its first and last key.
	Statement Statements `json:"statement,omitempty"`
	// Passes is how many times the table is gone through at the most, until no
	// row meets where any more; by default 5. Where set does not make where
	// false, and with a statement, there is one pass.
	Passes int `json:"passes" jsonschema:"default=5,minimum=1,maximum=100"`
	// Check is a query that verification runs at the end.
	Check *QueryCheck `json:"check,omitempty"`
	// Backup says what is kept for a rollback: rows, which is the default (the
	// old values, saved in the transaction that changes them), or none.
	Backup RowBackup `json:"backup" jsonschema:"default=rows"`
	// Shards says how the table is cut into shards.
	Shards Shards `json:"shards"`
	// Chunks says how big a transaction is.
	Chunks Chunks `json:"chunks"`
	// Cutover says how the backfill ends.
	Cutover BackfillCutover `json:"cutover"`
	// KeepOld is how long the old values are kept for a rollback; by default 24h.
	KeepOld *Duration `json:"keep_old,omitempty" jsonschema:"default=24h"`
}

// Statements is one SQL statement, or a list that is run in one transaction.
type Statements []string

// QueryCheck is a query with the answer that is expected.
type QueryCheck struct {
	// Query is an SQL query with one row of one column as its result.
	Query string `json:"query" jsonschema:"required"`
	// Expect is that result; by default 0.
	Expect Scalar `json:"expect" jsonschema:"default=0"`
}

// Scalar is a text, a number or a truth value, as the database writes it.
type Scalar string

// RowBackup says what is kept of the rows that are changed.
type RowBackup string

// The backups of rows.
const (
	BackupRows RowBackup = "rows"
	NoBackup   RowBackup = "none"
)

// Chunks says how big a transaction is.
type Chunks struct {
	// Time is how long a transaction should take, about; its number of rows
	// follows. By default 200ms.
	Time Duration `json:"time" jsonschema:"default=200ms"`
	// Rows is how many rows a transaction looks at, at the most; by default 50000.
	Rows int64 `json:"rows" jsonschema:"default=50000,minimum=1,maximum=1000000"`
}

// BackfillCutover says how a backfill ends.
type BackfillCutover struct {
	// Mode says who starts the cut-over: auto (when verification is done),
	// which is the default, or manual (`godwit cutover ID`).
	Mode CutoverMode `json:"mode" jsonschema:"default=auto"`
	// SQL is a statement that closes the backfill, like ALTER TABLE … SET NOT
	// NULL; by default there is none. It is run once.
	SQL string `json:"sql,omitempty"`
	// Undo is the statement that takes sql back in a rollback. Without it, a
	// backfill with sql cannot be rolled back after its cut-over.
	Undo string `json:"undo,omitempty"`
	// Timeout limits how long sql, or undo, waits for the table's lock in one try; by default 3s.
	Timeout Duration `json:"timeout" jsonschema:"default=3s"`
}
