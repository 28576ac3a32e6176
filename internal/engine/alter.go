package engine

// Alteration is how an ALTER TABLE of a user's is carried out: the statements,
// in order, and the table's description afterwards.
type Alteration struct {
	Steps []Step `json:"steps"`
	// Way says in words how the server does it.
	Way string `json:"way"`
	// Before and After are the table as it is now and as an empty clone of it
	// was after the ALTER.
	Before Shape `json:"before"`
	After  Shape `json:"after"`
	// Notes are what an operator should know.
	Notes []string `json:"notes,omitempty"`
	// Tests look for rows that the new definition has no place for.
	Tests []DataTest `json:"-"`
}

// Step is one statement of an alteration, or several that are one.
type Step struct {
	// SQL are the statements. Where the server can, they are one transaction.
	SQL []string `json:"sql"`
	// Undo takes them back and may be run when there is nothing to take back;
	// empty for what cannot be taken back.
	Undo string `json:"undo,omitempty"`
	// Lock says in words which lock of the table it takes.
	Lock string `json:"lock"`
	// Final says that it is done in the cut-over; what comes before it changes
	// nothing that anybody reads.
	Final bool `json:"final,omitempty"`
	// Brief says that the lock keeps others out, and so must not be waited for
	// for long: a gap is looked for before.
	Brief bool `json:"brief,omitempty"`
	// Alone says that it is no part of any transaction: its outcome has to be
	// looked for after the connection was lost.
	Alone bool `json:"alone,omitempty"`
	// Look is a query with the answer done, half or absent; empty where the
	// table's shape tells.
	Look string `json:"look,omitempty"`
	// Mend removes what a try that failed has left half done.
	Mend string `json:"mend,omitempty"`
	// Also is another table that it locks.
	Also Name `json:"also,omitzero"`
}

// The answers of a step's Look.
const (
	StepDone   = "done"
	StepHalf   = "half"
	StepAbsent = "absent"
)

// DataTest looks for rows that a new definition has no place for.
type DataTest struct {
	// What says what is required of the rows: customer_id must not be NULL.
	What string
	// Rows selects what names such a row, as Columns: its key, and the values that
	// are in the way. It has no ORDER BY and no LIMIT.
	Rows    string
	Columns []string
	// Each are the expressions over the table's columns that the test computes of
	// a row: when it cannot, the row is looked for by them. None where it always can.
	Each []string
}
