package workflows

import (
	"time"

	"godwit/internal/task"
)

// state is everything that a run knows about its migration: what the status
// query shows, and what the next run is handed over. What must survive a crash
// of the database's own is in the ledger.
type state struct {
	State     task.State         `json:"state"`
	Phase     task.Phase         `json:"phase"`
	StartedAt time.Time          `json:"started_at"`
	EndedAt   *time.Time         `json:"ended_at,omitempty"`
	Steps     []task.PhaseStatus `json:"steps"`

	// Plan is what preflight found; nil until it has passed.
	Plan *task.PreflightResult `json:"plan,omitempty"`
	// Recheck asks for the fingerprint to be compared before work goes on.
	Recheck bool `json:"recheck,omitempty"`

	// What operators want: a pause, an end, the cut-over, the end of keeping.
	Pause    *task.Request `json:"pause,omitempty"`
	Ending   *ending       `json:"ending,omitempty"`
	Approved *task.Request `json:"approved,omitempty"`
	Released *task.Request `json:"released,omitempty"`
	Cleaning bool          `json:"cleaning,omitempty"`
	// Expired is the limit of a pipeline's step, once it is passed.
	Expired *task.Failure `json:"expired,omitempty"`
	// Limits that an operator changed; nil for the spec's.
	Limits task.ThrottleSettings `json:"limits,omitzero"`
	// Held tells how long what has held the work back, as shards told it last.
	Held []task.HeldTime `json:"held,omitempty"`

	// The work of the current phase, or of the last one that had shards, and
	// the shards that failed.
	Tally tally     `json:"tally,omitzero"`
	Queue []waiting `json:"queue,omitempty"`
	Lost  []waiting `json:"lost,omitempty"`
	Tries tries     `json:"tries,omitzero"`
	// Restarts counts how often the current phase was started again because a
	// limit was passed.
	Restarts int `json:"restarts,omitempty"`
	// Time that counts against the limits of the phase and of the whole.
	PhaseSpent time.Duration `json:"phase_spent,omitempty"`
	TotalSpent time.Duration `json:"total_spent,omitempty"`

	Pace      pace                `json:"pace,omitzero"`
	Percent   float64             `json:"percent,omitempty"`
	Backups   []task.BackupItem   `json:"backups,omitempty"`
	Verified  *task.VerifySummary `json:"verified,omitempty"`
	Kept      []task.BackupItem   `json:"kept,omitempty"`
	KeptUntil *time.Time          `json:"kept_until,omitempty"`
	// KeepFor is how long something is kept. For a step it begins when its pipeline is
	// over, which PipelineOver says: until then, KeptUntil is nil.
	KeepFor      time.Duration `json:"keep_for,omitempty"`
	PipelineOver bool          `json:"pipeline_over,omitempty"`
	// TendKept is how often what is kept is tended, 0 for never, and Untended why
	// it could not be the last time.
	TendKept time.Duration `json:"tend_kept,omitempty"`
	Untended *task.Failure `json:"untended,omitempty"`
	// Changelog is what was noted of changes and still to be applied, as those who
	// were at work told it last.
	Changelog *task.ChangelogStatus `json:"changelog,omitempty"`

	Error *task.Failure `json:"error,omitempty"`
	// Botched says that the error is a rollback's, so that only another one helps.
	Botched bool `json:"botched,omitempty"`
	// Notes are what was ignored or could not be done, the last ones.
	Notes []note `json:"notes,omitempty"`

	Seat     seat       `json:"seat,omitzero"`      // place among those that use the same connections
	Shown    shown      `json:"shown,omitzero"`     // search attributes as they are
	Recorded task.State `json:"recorded,omitempty"` // state as the ledger was told last
	Runs     int        `json:"runs,omitempty"`     // runs before this one
}

// ending is a wish to undo the migration.
type ending struct {
	Verb    string       `json:"verb"` // cancel or rollback
	Request task.Request `json:"request"`
	// Leave says that what cannot be undone is left as it is, as a cancel does.
	Leave bool `json:"leave,omitempty"`
	// Cause is the failure that asked for it, where no operator did.
	Cause *task.Failure `json:"cause,omitempty"`
}

// tally counts the current phase's shards, rows and bytes.
type tally struct {
	Shards    int   `json:"shards"`
	Done      int   `json:"done"`
	RowsTotal int64 `json:"rows_total"`
	RowsDone  int64 `json:"rows_done"`
	Bytes     int64 `json:"bytes"`
	BytesDone int64 `json:"bytes_done"`
}

// tries counts the failed calls of an activity that the spec's budget limits.
type tries struct {
	Activity string `json:"activity,omitempty"`
	Failed   int    `json:"failed,omitempty"`
}

// note is a line for whoever looks at the workflow.
type note struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// mostNotes is how many notes are kept.
const mostNotes = 10

func newState(now time.Time) *state {
	s := &state{State: task.Pending, Phase: task.Preflight, StartedAt: now, Recorded: task.Running}
	for _, phase := range task.Phases {
		s.Steps = append(s.Steps, task.PhaseStatus{Name: string(phase), State: task.Pending})
	}
	return s
}

func (s *state) step(phase task.Phase) *task.PhaseStatus {
	for i := range s.Steps {
		if s.Steps[i].Name == string(phase) {
			return &s.Steps[i]
		}
	}
	return &task.PhaseStatus{}
}

// enter begins a phase; a run that takes over from another goes on with the one
// that was left.
func (s *state) enter(phase task.Phase, now time.Time) {
	step := s.step(phase)
	if s.Phase == phase && step.StartedAt != nil {
		return
	}
	s.Phase = phase
	step.StartedAt, step.State, step.Attempts = &now, task.Running, 1
	s.Queue, s.Lost, s.Tries, s.Pace = nil, nil, tries{}, pace{}
	s.Restarts, s.PhaseSpent = 0, 0
}

func (s *state) leave(phase task.Phase, now time.Time) {
	step := s.step(phase)
	step.EndedAt, step.State = &now, task.Success
}

func (s *state) left(phase task.Phase) bool { return s.step(phase).EndedAt != nil }

// receive takes what an activity found out about the phase's work.
func (s *state) receive(w task.Work) {
	s.Tally = tally{
		Shards: w.Shards, Done: w.Done, RowsTotal: w.RowsTotal, RowsDone: w.RowsDone, Bytes: w.Bytes, BytesDone: w.BytesDone,
	}
	s.noted(w.Changelog)
}

// noted takes over what somebody at work has told of the changelog; nil for nothing.
func (s *state) noted(c *task.ChangelogStatus) {
	if c != nil {
		s.Changelog = c
	}
}

func (s *state) note(now time.Time, text string) {
	s.Notes = append(s.Notes, note{now, text})
	if over := len(s.Notes) - mostNotes; over > 0 {
		s.Notes = s.Notes[over:]
	}
}

// cutOver reports whether the migration has reached SUCCESS: from then on it
// can only be cleaned up or rolled back.
func (s *state) cutOver() bool { return s.State == task.Success }

// keeping reports whether a rollback is still possible after the cut-over.
func (s *state) keeping() bool {
	return s.cutOver() && (s.KeptUntil != nil || s.KeepFor > 0) && s.Released == nil && !s.Cleaning
}

// forgetKept notes that nothing is kept any more.
func (s *state) forgetKept() {
	s.Kept, s.KeptUntil, s.KeepFor, s.Untended, s.Changelog = nil, nil, 0, nil, nil
}
