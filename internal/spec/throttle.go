package spec

// Throttle limits what a migration takes from the databases, and says what it
// is held by: each guard holds the work when its watermark is passed, and lets
// it go on when resume_at percent of it are reached again. The word none
// instead of the fields means no guards and no limits, which is the default.
type Throttle struct {
	// Replicas are the names of connections to replicas whose lag max_lag
	// watches. Of a PostgreSQL database that is written, those in its
	// pg_stat_replication and its slots are watched as well; by default only they are.
	Replicas []string `json:"replicas,omitempty" jsonschema:"minItems=1"`
	// MaxLag is how far a replica may be behind; by default it is not watched.
	MaxLag Duration `json:"max_lag,omitempty"`
	// MaxActive is how many threads or backends may be running statements; by default, and with 0, it is not watched.
	MaxActive int `json:"max_active,omitempty" jsonschema:"minimum=0"`
	// MaxIOWaits is how many reads, writes and syncs may be waiting for the disk; by default, and with 0, it is not watched.
	MaxIOWaits int `json:"max_io_waits,omitempty" jsonschema:"minimum=0"`
	// MaxCommitLatency is how long a small write of our own may take, which is
	// what the application feels; by default it is not watched. Chunks shrink before it holds.
	MaxCommitLatency Duration `json:"max_commit_latency,omitempty"`
	// MaxLogGrowth is by how much the WAL, or the binary log and the undo files,
	// of the written server may have grown since the migration began, as a size
	// or as fields; by default it is not watched.
	MaxLogGrowth *LogGrowth `json:"max_log_growth,omitempty"`
	// MaxArchiveQueue is how many WAL files of a written PostgreSQL server may
	// wait to be archived; by default, and with 0, it is not watched.
	MaxArchiveQueue int `json:"max_archive_queue,omitempty" jsonschema:"minimum=0"`
	// MaxChangelog is how many noted changes of an online copy may be pending, as a
	// number or as fields; by default 1000000, and 0 for any number.
	MaxChangelog *ChangelogLimit `json:"max_changelog,omitempty"`
	// MaxTransactionAge is how old the oldest transaction of others may be; by default it is not watched.
	MaxTransactionAge Duration `json:"max_transaction_age,omitempty"`
	// MinFreeDisk is how much disk must stay free; by default it is not watched.
	MinFreeDisk *FreeDisk `json:"min_free_disk,omitempty"`
	// Query is a guard of your own, in SQL; by default there is none.
	Query *QueryGuard `json:"query,omitempty"`
	// HTTP is the address of an endpoint that is asked once a second: 200 means
	// go, anything else holds, with the answer's first line as the reason. By default there is none.
	HTTP string `json:"http,omitempty"`
	// Hold is the reason of an operator's hold, with which the migration begins;
	// `godwit throttle ID --release` ends it. By default there is none.
	Hold string `json:"hold,omitempty"`
	// RowsPerSecond over all shards together; by default, and with 0, there is no limit.
	RowsPerSecond int64 `json:"rows_per_second,omitempty" jsonschema:"minimum=0"`
	// BytesPerSecond over all shards together, like 20MiB; by default, and with 0, there is no limit.
	BytesPerSecond Size `json:"bytes_per_second,omitempty"`
	// Parallel is how many shards run at once. It wins over shards.parallel,
	// which decides by default.
	Parallel int `json:"parallel,omitempty" jsonschema:"minimum=1,maximum=64"`
	// ResumeAt is the low watermark of every guard, in percent of its high one; by default 80.
	ResumeAt int `json:"resume_at,omitempty" jsonschema:"minimum=1,maximum=100"`
	// None is the word none: what a kind does by itself to go easy on the
	// application is left out, too.
	None bool `json:"-"`
}

// defaultResumeAt is the low watermark when the spec does not say.
const defaultResumeAt = 80

// Low is the low watermark as a part of the high one.
func (t *Throttle) Low() float64 {
	if t.ResumeAt == 0 {
		return defaultResumeAt / 100.0
	}
	return float64(t.ResumeAt) / 100
}

// LogGrowth is a budget of log. Written as a size alone it holds.
type LogGrowth struct {
	// Bytes is the budget, like 20GiB.
	Bytes Size `json:"bytes" jsonschema:"required"`
	// Then says what happens when it is used up: hold, which is the default, or
	// stop (FAILED with everything kept).
	Then Reaction `json:"then,omitempty"`
}

// ChangelogLimit bounds what is noted of changes and not applied yet. Written as
// a number alone it holds: the copy waits until changes are applied.
type ChangelogLimit struct {
	// Rows is how many noted changes may be pending, and 0 for any number.
	Rows int64 `json:"rows" jsonschema:"minimum=0"`
	// Then says what happens when there are more: hold, which is the default, or
	// stop (FAILED with everything kept).
	Then Reaction `json:"then,omitempty"`
}

// defaultChangelog is how many noted changes may be pending when nobody says.
const defaultChangelog = 1_000_000

// Changelog is the limit of noted changes that is in force; its Rows are 0 for none.
func (t *Throttle) Changelog() ChangelogLimit {
	switch {
	case t.MaxChangelog != nil:
		return *t.MaxChangelog
	case t.None:
		return ChangelogLimit{}
	}
	return ChangelogLimit{Rows: defaultChangelog}
}

// FreeDisk is how much disk must stay free, and where that is seen: exactly
// one of path, query and url.
type FreeDisk struct {
	// Bytes that must stay free, like 50GiB.
	Bytes Size `json:"bytes" jsonschema:"required"`
	// Path is a directory of the worker's machine, for a database on the same
	// one; by default query or url is asked.
	Path string `json:"path,omitempty"`
	// Query is a query on the written database that returns one number, the
	// bytes that are free; by default path or url is asked.
	Query string `json:"query,omitempty"`
	// URL is an address that answers with the bytes that are free, as a number
	// or a size; by default path or query is asked.
	URL string `json:"url,omitempty"`
	// Then says what happens when there is less: hold, which is the default, or
	// stop (FAILED with everything kept).
	Then Reaction `json:"then,omitempty"`
}

// QueryGuard is a query that returns one number.
type QueryGuard struct {
	// SQL is the query, with one number as its result.
	SQL string `json:"sql" jsonschema:"required"`
	// Max is the highest number that does not hold; by default 0.
	Max int64 `json:"max,omitempty"`
	// Connection is where it runs; by default the database that is written.
	Connection string `json:"connection,omitempty" jsonschema:"pattern=^[A-Za-z0-9_-]+$"`
}

// Reaction is what a guard does when its watermark is passed.
type Reaction string

// The reactions of a guard.
const (
	ThenHold Reaction = "hold" // wait until it is over
	ThenStop Reaction = "stop" // FAILED with everything kept
)
