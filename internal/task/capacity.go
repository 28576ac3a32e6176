package task

import (
	"fmt"
	"strings"
	"time"
)

// CapacityWorkflow is the one workflow of a task queue that says which
// migrations may run at the same time, and how many shards of each.
const CapacityWorkflow = "Capacity"

// CapacityID is the id of a task queue's Capacity workflow.
func CapacityID(queue string) string { return "godwit-capacity-" + queue }

// Local activities about capacity. They speak to Temporal alone, take no slot
// of the worker's, and need no database.
const (
	ClaimPlaceActivity   = "ClaimPlace"
	SurveyPlacesActivity = "SurveyPlaces"
)

// Signals about capacity, and the query.
const (
	ClaimSignal    = "claim"    // to Capacity: a Claim
	GrantSignal    = "grant"    // to a migration: a Grant
	AnnounceSignal = "announce" // to a migration: say again what you hold
	CapacityQuery  = "capacity" // returns a CapacityStatus
)

// Limits are how many migrations may use a connection at the same time, and
// how many shards they may run on it, over all workers.
type Limits struct {
	Migrations int `json:"migrations"`
	Shards     int `json:"shards"`
}

// Claim is what a migration says of itself to Capacity: that it wants a place,
// what it holds, or that it holds nothing any more.
type Claim struct {
	ID string `json:"id"`
	// Chain is the first run of those that continue each other as new, which
	// tells migrations of the same id apart.
	Chain string `json:"chain"`
	// No counts the claims, so that an older one of the same run that comes
	// late is ignored. A run that was reset counts anew from where it was.
	No  int    `json:"no"`
	Run string `json:"run"`
	// Connections are the names of all that it uses, folded (FoldConnection).
	Connections []string  `json:"connections,omitempty"`
	Priority    int       `json:"priority,omitempty"`
	Since       time.Time `json:"since,omitzero"` // its age in the queue
	// Wish is how many shards it would run at once.
	Wish int `json:"wish,omitempty"`
	// Held is how many shards it may be running; 0 while it waits for a place.
	Held     int  `json:"held,omitempty"`
	Released bool `json:"released,omitempty"`
	// Limits are those of its connections, as far as the worker knows them.
	Limits map[string]Limits `json:"limits,omitempty"`
}

// Grant is what Capacity tells a migration: that it may run, and how many
// shards at once.
type Grant struct {
	Chain  string `json:"chain"` // of the migration
	Shards int    `json:"shards"`
	// From is the chain of the Capacity workflow, and No counts its grants.
	From string `json:"from"`
	No   int    `json:"no"`
}

// ClaimInput is the input of ClaimPlace.
type ClaimInput struct {
	Queue string `json:"queue"`
	Claim Claim  `json:"claim"`
	// Known is the chain of the Capacity workflow that has the claim already:
	// nothing is done while that one is there.
	Known string `json:"known,omitempty"`
}

// Claimed tells which Capacity workflow has a claim.
type Claimed struct {
	Chain string `json:"chain"`
}

// SurveyInput asks how those stand that Capacity knows, and what the limits of
// their connections are.
type SurveyInput struct {
	Queue       string   `json:"queue"`
	Known       []Claim  `json:"known,omitempty"` // id and chain
	Connections []string `json:"connections,omitempty"`
	// Census also asks the migrations that are at work, and not known, to
	// announce themselves.
	Census bool `json:"census,omitempty"`
}

// Survey is what a SurveyInput asked for.
type Survey struct {
	Gone   []string          `json:"gone,omitempty"` // ids of those that have ended
	Limits map[string]Limits `json:"limits,omitempty"`
	Asked  []string          `json:"asked,omitempty"` // ids of those that were asked to announce themselves
}

// CapacityStatus is how a task queue's connections are used, and who waits.
type CapacityStatus struct {
	Connections []ConnectionUse `json:"connections"`
	// Running have a place, and Waiting are in the order in which they get one.
	Running []PlaceStatus `json:"running"`
	Waiting []PlaceStatus `json:"waiting"`
}

// ConnectionUse is how a connection is used. A limit of 0 is none: no worker
// that was asked knows the connection.
type ConnectionUse struct {
	Connection string `json:"connection"`
	Limits     Limits `json:"limits"`
	Migrations int    `json:"migrations"` // that run
	Shards     int    `json:"shards"`     // that they may be running
	Waiting    int    `json:"waiting"`    // migrations
}

// PlaceStatus is a migration's place, or what it waits for.
type PlaceStatus struct {
	ID          string    `json:"id"`
	Connections []string  `json:"connections"`
	Priority    int       `json:"priority"`
	Since       time.Time `json:"since"`
	Wish        int       `json:"wish"`
	Shards      int       `json:"shards"` // that it may run at once; 0 while it waits
	// Queue is its place while it waits.
	Queue *QueuePlace `json:"queue"`
}

// QueuePlace is the place of a migration that waits, among those that wait for
// the same connection.
type QueuePlace struct {
	Place      int    `json:"place"` // from 1
	Of         int    `json:"of"`
	Connection string `json:"connection"`
	// Running are the migrations that use the connection, of Limit that may.
	Running int `json:"running"`
	Limit   int `json:"limit"`
}

// String says it in words.
func (q QueuePlace) String() string {
	return fmt.Sprintf("capacity of connection %s: place %d of %d (%d of %d migrations run)", q.Connection, q.Place, q.Of, q.Running, q.Limit)
}

// FoldConnection makes names equal that mean the same connection.
func FoldConnection(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }
