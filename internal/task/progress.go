package task

import "time"

// Status is the whole answer to "how is it going": what `godwit status -o json`
// prints and the workflow's status query returns.
type Status struct {
	ID        string          `json:"id"`
	Kind      Kind            `json:"kind"`
	Name      string          `json:"name"`
	State     State           `json:"state"`
	Phase     Phase           `json:"phase"`
	Attention bool            `json:"attention"` // an operator has to do something
	Progress  Progress        `json:"progress"`
	Shards    ShardCounts     `json:"shards"`
	Changelog ChangelogStatus `json:"changelog"`
	Throttle  ThrottleStatus  `json:"throttle"`
	// WaitingFor says in words what the migration waits for; empty when it works.
	WaitingFor string `json:"waiting_for"`
	// Queue is its place among those that wait for the same connection, while
	// it is PENDING for that.
	Queue     *QueuePlace   `json:"queue"`
	Error     *Failure      `json:"error"`
	StartedAt *time.Time    `json:"started_at"`
	EndedAt   *time.Time    `json:"ended_at"`
	Steps     []PhaseStatus `json:"steps"`
	// Running are the shards at work, with what their heartbeats say.
	Running []Heartbeat `json:"running"`
	// Failures are the shards that wait for another try or have used them up.
	Failures []Failure `json:"failures"`
	// Verified tells what verification compared, once it has.
	Verified *VerifySummary `json:"verified"`
	// Kept lists what is kept for a rollback, and KeptUntil until when.
	Kept      []BackupItem `json:"kept"`
	KeptUntil *time.Time   `json:"kept_until"`
	Target    string       `json:"target"`
	RunID     string       `json:"run_id,omitempty"`
	URL       string       `json:"url,omitempty"`
	// Can lists the verbs that make sense now: pause, resume, cancel, cutover, retry, rollback.
	Can []string `json:"can"`
	// Source says where the answer comes from: "workflow", "ledger", or
	// "temporal" when neither could be asked.
	Source string `json:"source"`
}

// Progress counts what is done of the current phase's rows.
type Progress struct {
	RowsDone      int64   `json:"rows_done"`
	RowsTotal     int64   `json:"rows_total"` // an estimate of the server's until all shards are done
	BytesDone     int64   `json:"bytes_done"`
	Percent       float64 `json:"percent"` // of the whole migration, 0 to 100
	RowsPerSecond float64 `json:"rows_per_second"`
	// ETASeconds is -1 while it cannot be told.
	ETASeconds float64 `json:"eta_seconds"`
}

// ShardCounts counts the shards of the current phase by how they stand.
type ShardCounts struct {
	Total    int `json:"total"`
	Done     int `json:"done"`
	Running  int `json:"running"`
	Retrying int `json:"retrying"`
	Failed   int `json:"failed"`
}

// ChangelogStatus tells how many noted changes are still to be applied.
type ChangelogStatus struct {
	Pending int64 `json:"pending"`
	// Oldest is when the first of them was noted, nil where there is none or it is
	// not known, and AgeSeconds how long ago that was when the status was asked for.
	Oldest     *time.Time `json:"oldest"`
	AgeSeconds float64    `json:"age_seconds,omitempty"`
}

// PhaseStatus is one phase (or, in a pipeline, one step) with its times.
type PhaseStatus struct {
	Name      string     `json:"name"`
	State     State      `json:"state"`
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	Attempts  int        `json:"attempts"`
	Detail    string     `json:"detail"`
	// Of a pipeline's step: what it does, its migration, the group that it is in, and
	// why its last try failed.
	Kind  string   `json:"kind,omitempty"`
	ID    string   `json:"id,omitempty"`
	Group string   `json:"group,omitempty"`
	Error *Failure `json:"error,omitempty"`
	// Undo says whether and until when the step can be undone, and UndoFailed that its
	// undoing has failed and waits for an operator.
	Undo       string `json:"undo,omitempty"`
	UndoFailed bool   `json:"undo_failed,omitempty"`
}

// Heartbeat is what a running activity tells about itself, shown as it is in
// the Web UI. It stays under 4 KiB.
type Heartbeat struct {
	Phase         Phase   `json:"phase"`
	Table         string  `json:"table,omitempty"` // with the shard's part: public.orders 3/8
	Shard         int     `json:"shard,omitempty"`
	Checkpoint    string  `json:"checkpoint,omitempty"` // for display only; the ledger has the truth
	Rows          int64   `json:"rows"`
	RowsTotal     int64   `json:"rows_total,omitempty"`
	Bytes         int64   `json:"bytes,omitempty"`
	RowsPerSecond float64 `json:"rows_per_second,omitempty"`
	Percent       float64 `json:"percent,omitempty"`
	Carry         *Carry  `json:"carry,omitempty"`
	ChunkRows     int64   `json:"chunk_rows,omitempty"`
	ChunkSeconds  float64 `json:"chunk_seconds,omitempty"` // what the last chunk took
	Holding       string  `json:"holding,omitempty"`       // why the throttle holds
	// HoldingSince is when it began to, Guards what its guards say, and Held how
	// long what has held the migration until now.
	HoldingSince *time.Time    `json:"holding_since,omitempty"`
	Guards       []GuardStatus `json:"guards,omitempty"`
	Held         []HeldTime    `json:"held,omitempty"`
	WaitingFor   string        `json:"waiting_for,omitempty"` // e.g. a lock, and who has it
	// Changelog is what is noted of changes that are still to be applied, where
	// changes are noted.
	Changelog *ChangelogStatus `json:"changelog,omitempty"`
	Attempt   int              `json:"attempt,omitempty"`
	At        time.Time        `json:"at"`
}

// Carry says how an estimated percentage may be carried forward until the next
// heartbeat comes.
type Carry struct {
	PercentPerSecond float64 `json:"percent_per_second"`
	UntilPercent     float64 `json:"until_percent"`
}
