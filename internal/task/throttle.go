package task

// ThrottleSettings are the limits that an operator can change at run time. A
// nil field is left as it is; zero, for a text also "none", takes the limit or
// the guard away. Texts are written as in a spec: 5s, 20GiB.
type ThrottleSettings struct {
	RowsPerSecond  *int64  `json:"rows_per_second,omitempty"`
	BytesPerSecond *string `json:"bytes_per_second,omitempty"`
	Parallel       *int    `json:"parallel,omitempty"`
	// Hold is the reason of an operator's hold; an empty one releases it.
	Hold              *string   `json:"hold,omitempty"`
	Replicas          *[]string `json:"replicas,omitempty"`
	MaxLag            *string   `json:"max_lag,omitempty"`
	MaxActive         *int      `json:"max_active,omitempty"`
	MaxIOWaits        *int      `json:"max_io_waits,omitempty"`
	MaxCommitLatency  *string   `json:"max_commit_latency,omitempty"`
	MaxLogGrowth      *string   `json:"max_log_growth,omitempty"`
	MaxArchiveQueue   *int      `json:"max_archive_queue,omitempty"`
	MaxTransactionAge *string   `json:"max_transaction_age,omitempty"`
	// MinFreeDisk changes the bytes of a guard that the spec has.
	MinFreeDisk *string `json:"min_free_disk,omitempty"`
	// QueryMax changes the highest number of the query that the spec has; "none" takes it away.
	QueryMax *string `json:"query_max,omitempty"`
	HTTP     *string `json:"http,omitempty"`
	ResumeAt *int    `json:"resume_at,omitempty"`
}

// Empty reports whether nothing is to be changed.
func (t ThrottleSettings) Empty() bool { return t == ThrottleSettings{} }

// With returns the settings with those that came later on top.
func (t ThrottleSettings) With(later ThrottleSettings) ThrottleSettings {
	over(&t.RowsPerSecond, later.RowsPerSecond)
	over(&t.BytesPerSecond, later.BytesPerSecond)
	over(&t.Parallel, later.Parallel)
	over(&t.Hold, later.Hold)
	over(&t.Replicas, later.Replicas)
	over(&t.MaxLag, later.MaxLag)
	over(&t.MaxActive, later.MaxActive)
	over(&t.MaxIOWaits, later.MaxIOWaits)
	over(&t.MaxCommitLatency, later.MaxCommitLatency)
	over(&t.MaxLogGrowth, later.MaxLogGrowth)
	over(&t.MaxArchiveQueue, later.MaxArchiveQueue)
	over(&t.MaxTransactionAge, later.MaxTransactionAge)
	over(&t.MinFreeDisk, later.MinFreeDisk)
	over(&t.QueryMax, later.QueryMax)
	over(&t.HTTP, later.HTTP)
	over(&t.ResumeAt, later.ResumeAt)
	return t
}

func over[T any](field **T, later *T) {
	if later != nil {
		*field = later
	}
}
