package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// pipelineState is everything that a run knows about its pipeline, and what the next
// run is handed over.
type pipelineState struct {
	State     task.State   `json:"state"`
	StartedAt time.Time    `json:"started_at"`
	EndedAt   *time.Time   `json:"ended_at,omitempty"`
	Steps     []*stepState `json:"steps"`
	// Next is the number of the step that is being done, from 0.
	Next   int  `json:"next"`
	Opened bool `json:"opened,omitempty"` // the ledger knows the pipeline

	Pause   *task.Request `json:"pause,omitempty"`
	Resumed task.Request  `json:"resumed,omitzero"` // who ended the last pause
	Ending  *ending       `json:"ending,omitempty"`
	Undoing bool          `json:"undoing,omitempty"`
	// Complete says that all steps were through: the time of what they keep has begun.
	Complete bool `json:"complete,omitempty"`

	// Worked is how long steps have been at work, all together, since an operator was
	// told of the limit of that the last time; working is how many are, and since when.
	Worked  time.Duration `json:"worked,omitempty"`
	working int
	since   time.Time

	Error *task.Failure `json:"error,omitempty"`
	Notes []note        `json:"notes,omitempty"`
	Shown shown         `json:"shown,omitzero"`
	Runs  int           `json:"runs,omitempty"`
}

// stepState is how a step stands.
type stepState struct {
	Name      string        `json:"name"`
	Kind      string        `json:"kind"`
	Group     string        `json:"group,omitempty"`
	State     task.State    `json:"state"`
	StartedAt *time.Time    `json:"started_at,omitempty"`
	EndedAt   *time.Time    `json:"ended_at,omitempty"`
	Detail    string        `json:"detail,omitempty"`
	Error     *task.Failure `json:"error,omitempty"`
	// Done says that it was done, and has not been undone.
	Done bool `json:"done,omitempty"`
	// Tries are all that were begun, and Failed those that have failed since an
	// operator asked for the last one.
	Tries  int `json:"tries,omitempty"`
	Failed int `json:"failed,omitempty"`
	// Approved is who has let it begin.
	Approved *task.Request `json:"approved,omitempty"`
	// Spent is the time that counts against the limit of the current try.
	Spent time.Duration `json:"spent,omitempty"`
	// Child is the last run of the step's migration.
	Child child `json:"child,omitzero"`
	// Sent says that a call may have been made that cannot be taken back.
	Sent bool `json:"sent,omitempty"`

	// What is waited for at the moment: only a run that has not ended has these.
	waits    string // in words; empty while the step works
	needsYou bool   // an operator is waited for
	atGate   bool   // what it needs is looked at, or approval is waited for
	asked    string // the verb that an operator has asked for last
	by       task.Request
	undo     undoState
	ends     workflow.Future // of the last run of its migration, where this run has begun it
	whole    bool            // the limit that has passed is that of the whole pipeline
	unsure   bool            // the limit has passed while a call may have arrived that is not to be made twice
	stopped  bool            // its migration was at work, and has been told to undo itself
}

// undoState is how far the undoing of a step has come.
type undoState int

const (
	undoNone undoState = iota
	undoRuns
	undoFailed
)

// child is the migration of a step.
type child struct {
	Chain string     `json:"chain,omitempty"` // of its last run; empty for none
	State task.State `json:"state,omitempty"`
	Open  bool       `json:"open,omitempty"`
	// KeepFor is how long what undoes it is kept once the pipeline is over, and KeptUntil
	// until when, as soon as that has begun.
	KeepFor   time.Duration `json:"keep_for,omitempty"`
	KeptUntil *time.Time    `json:"kept_until,omitempty"`
	Error     *task.Failure `json:"error,omitempty"`
	Botched   bool          `json:"botched,omitempty"`
	Left      string        `json:"left,omitempty"` // by its rollback, in words
}

// kept reports whether what undoes it is there.
func (c *child) kept() bool { return c.Open && c.State == task.Success && c.KeepFor > 0 }

func newPipelineState(plan pipelinePlan, now time.Time) *pipelineState {
	st := &pipelineState{State: task.Pending, StartedAt: now}
	plan.each(func(s *pipelineStep, group string) {
		st.Steps = append(st.Steps, &stepState{Name: s.Name, Kind: s.kind(), Group: group, State: task.Pending})
	})
	return st
}

func (st *pipelineState) step(name string) *stepState {
	for _, s := range st.Steps {
		if s.Name == name {
			return s
		}
	}
	return &stepState{}
}

// busy reports whether a step is at work, so that another run could not take over.
func (st *pipelineState) busy() bool {
	for _, s := range st.Steps {
		switch s.State {
		case task.Running, task.Retrying, task.Failed, task.TimedOut, task.Paused:
			return true
		}
		if s.undo != undoNone {
			return true
		}
	}
	return false
}

// keeping reports whether a step that is done still keeps what a rollback needs.
func (st *pipelineState) keeping() bool {
	for _, s := range st.Steps {
		if s.Child.Open {
			return true
		}
	}
	return false
}

// keptLast is when the last step stops keeping what a rollback needs; now at the
// earliest.
func (st *pipelineState) keptLast(now time.Time) time.Time {
	last := now
	for _, s := range st.Steps {
		if !s.Child.kept() {
			continue
		}
		until := now.Add(s.Child.KeepFor) // it has not said yet when that has begun
		if s.Child.KeptUntil != nil {
			until = *s.Child.KeptUntil
		}
		if until.After(last) {
			last = until
		}
	}
	return last
}

func (st *pipelineState) note(now time.Time, text string) {
	st.Notes = append(st.Notes, note{now, text})
	if over := len(st.Notes) - mostNotes; over > 0 {
		st.Notes = st.Notes[over:]
	}
}

// over reports whether nothing more is done about the step by itself.
func (s *stepState) over() bool {
	switch s.State {
	case task.Success, task.Skipped, task.RolledBack:
		return true
	}
	return false
}
