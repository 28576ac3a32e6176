package task

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// ThrottleStatus tells whether the throttle holds the work back, and why.
type ThrottleStatus struct {
	Holding bool   `json:"holding"`
	Reason  string `json:"reason"`
	// Since is when it began to hold, nil when it does not.
	Since *time.Time `json:"since"`
	// Guards are the guards of a migration at work with what they read last.
	Guards []GuardStatus `json:"guards"`
	// Held tells how long what has held the work back until now.
	Held []HeldTime `json:"held"`
	// RowsPerSecond and BytesPerSecond are the limits in force, 0 for none;
	// Parallel the shards at once.
	RowsPerSecond  int64 `json:"rows_per_second"`
	BytesPerSecond int64 `json:"bytes_per_second"`
	Parallel       int   `json:"parallel"`
}

// GuardStatus is a guard with what it read last.
type GuardStatus struct {
	Guard   string `json:"guard"`           // with what it watches: max_lag shop_r1
	Reading string `json:"reading"`         // in words, or why there is none
	Limit   string `json:"limit,omitempty"` // its high watermark
	Holding bool   `json:"holding,omitempty"`
}

// HeldTime is how long one thing has held a migration back.
type HeldTime struct {
	Guard   string    `json:"guard"`
	Seconds float64   `json:"seconds"`
	Times   int       `json:"times"`
	Detail  string    `json:"detail"` // the last reason
	LastAt  time.Time `json:"last_at"`
}

// ThrottleSettings are the limits that an operator can change at run time. A
// nil field is left as it is; zero, for a text also "none", takes the limit or
// the guard away. Texts are written as in a spec: 5s, 20GiB.
type ThrottleSettings struct {
	RowsPerSecond  *int64  `json:"rows_per_second,omitempty"`
	BytesPerSecond *string `json:"bytes_per_second,omitempty"`
	Parallel       *int    `json:"parallel,omitempty"`
	// Hold is the reason of an operator's hold; an empty one releases it.
	Hold             *string   `json:"hold,omitempty"`
	Replicas         *[]string `json:"replicas,omitempty"`
	MaxLag           *string   `json:"max_lag,omitempty"`
	MaxActive        *int      `json:"max_active,omitempty"`
	MaxIOWaits       *int      `json:"max_io_waits,omitempty"`
	MaxCommitLatency *string   `json:"max_commit_latency,omitempty"`
	MaxLogGrowth     *string   `json:"max_log_growth,omitempty"`
	MaxArchiveQueue  *int      `json:"max_archive_queue,omitempty"`
	// MaxChangelog is a number of noted changes; 0 or "none" takes the guard away.
	MaxChangelog      *string `json:"max_changelog,omitempty"`
	MaxTransactionAge *string `json:"max_transaction_age,omitempty"`
	// MinFreeDisk changes the bytes of a guard that the spec has.
	MinFreeDisk *string `json:"min_free_disk,omitempty"`
	// QueryMax changes the highest number of the query that the spec has; "none" takes it away.
	QueryMax *string `json:"query_max,omitempty"`
	HTTP     *string `json:"http,omitempty"`
	ResumeAt *int    `json:"resume_at,omitempty"`
}

// Empty reports whether nothing is to be changed.
func (t ThrottleSettings) Empty() bool { return t == ThrottleSettings{} }

// String tells what is set, like "parallel: 2, max_lag: 5s".
func (t ThrottleSettings) String() string {
	var parts []string
	settings := reflect.ValueOf(t)
	for i := range settings.NumField() {
		if field := settings.Field(i); !field.IsNil() {
			name, _, _ := strings.Cut(settings.Type().Field(i).Tag.Get("json"), ",")
			parts = append(parts, fmt.Sprintf("%s: %v", name, field.Elem().Interface()))
		}
	}
	return strings.Join(parts, ", ")
}

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
	over(&t.MaxChangelog, later.MaxChangelog)
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
