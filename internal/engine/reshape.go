package engine

import (
	"context"
	"time"
)

// Reshape asks for a table in another form.
type Reshape struct {
	Table *Table
	// Alter is what follows ALTER TABLE and the table's name.
	Alter string
	// Renames are columns whose name the ALTER changes: the old name and the new
	// one. Columns of which it is not said are not guessed.
	Renames map[string]string
	// Columns are columns of the new form whose values do not come from the
	// column of that name: an SQL expression each, over the table's columns.
	Columns map[string]string
	// Inline builds all indexes from the beginning; otherwise those that only
	// serve readers are built when the rows are there.
	Inline bool
	// KeepOld asks for a way back after the cut-over.
	KeepOld bool
}

// Reshaping is how a table is written anew beside the one that is in use, the
// plan of an online copy. It is kept in the ledger.
type Reshaping struct {
	// Table is the table as it is, Made as it becomes, under the shadow's name.
	Table *Table `json:"table"`
	Made  *Table `json:"made"`
	// Shadow and Old are the names of the copy, and of the table when the copy
	// has taken its place. Both sort after the table's name.
	Shadow Name `json:"shadow"`
	Old    Name `json:"old"`
	// Capture notes the changes of the table for the shadow. Back notes those of
	// the new table for the old one; its Table has the shadow's name until the cut-over.
	Capture *Capture `json:"capture"`
	Back    *Capture `json:"back,omitempty"`
	// Forward makes rows of the shadow out of rows of the table; Reverse makes
	// rows of the old table out of rows of the new one. There is none when OneWay
	// says why there is no way back.
	Forward *Projection `json:"forward"`
	Reverse *Projection `json:"reverse,omitempty"`
	OneWay  string      `json:"one_way,omitempty"`

	// Create are the statements that make the shadow, and Builds what is built
	// when the rows are there.
	Create []string `json:"create,omitempty"`
	Builds []Build  `json:"builds,omitempty"`
	// Keyless says that the shadow gets its keys with the first Builds, so that
	// nothing can be drained before.
	Keyless bool `json:"keyless,omitempty"`
	// Swap and SwapBack are what follows the change of names in its transaction,
	// where there is one: what hangs on the one table is hung on the other. Settle
	// and SettleBack follow when it is committed. Each may be run again.
	Swap       []string `json:"swap,omitempty"`
	SwapBack   []string `json:"swap_back,omitempty"`
	Settle     []string `json:"settle,omitempty"`
	SettleBack []string `json:"settle_back,omitempty"`
	// Also are other tables that the change of names locks.
	Also []Name `json:"also,omitempty"`

	// Inline says that all indexes are built from the beginning.
	Inline bool `json:"inline,omitempty"`
	// Hanging is what the plan was made from besides, on PostgreSQL: everything
	// that hangs on the table, in lines. When it has changed, Freshen makes the
	// statements anew. Hung is what hangs on the new table right after the swap,
	// and what the way back takes away again.
	Hanging Shape `json:"hanging,omitempty"`
	Hung    Shape `json:"hung,omitempty"`

	// Before and After are the table's definition as it is and as it becomes.
	Before Shape `json:"before"`
	After  Shape `json:"after"`
	// Notes are what an operator should know.
	Notes []string `json:"notes,omitempty"`
	// Tests look for rows that the new form has no place for, or would change.
	Tests []DataTest `json:"-"`
}

// Build is an index, or a key, that is built when the rows are there.
type Build struct {
	Name string `json:"name"`
	SQL  string `json:"sql"`
	// Key says that rows are found again by it, so that it comes before the
	// first draining.
	Key bool `json:"key,omitempty"`
}

// Stand is which of the tables of a Reshaping there are.
type Stand string

// The stands.
const (
	StandAlone   Stand = "alone"   // the table, and nothing beside it
	StandBeside  Stand = "beside"  // the table, and its shadow
	StandSwapped Stand = "swapped" // the shadow has the table's name, and the table that of Old
)

// Compared is what a comparison of rows with their copies has found.
type Compared struct {
	Rows   int64 // of the table
	Copies int64 // of the shadow
	Wrong  int64 // rows whose copy is not there or has other values
}

// Same reports whether every row has its copy and every copy its row.
func (c Compared) Same() bool { return c.Wrong == 0 && c.Rows == c.Copies }

// Disagreement is a row whose copy is not what it should be.
type Disagreement struct {
	Key  Key
	What string // missing, extra or different
	// Columns are those that differ, with the value that there should be and the
	// one that there is, as text.
	Columns []Unlike
}

// Unlike is a column that differs.
type Unlike struct {
	Column     string
	Want, Have string
}

// Swap is one try to put the shadow in the table's place, or the old table back.
type Swap struct {
	*Reshaping
	Back bool
	// Wait is how long the lock is waited for, and Hold how long it is had at the
	// most: whoever is frozen meanwhile loses it by the server's own clock.
	Wait, Hold time.Duration
	// Locked is called when nobody else can write to the table, to bring the copy
	// up to date; its error gives the try up. On MySQL it finds the table, the
	// copy and the changelog locked, and nothing else, and may not name one twice
	// in a statement.
	Locked func(ctx context.Context, q Querier) error
	// Certain is called last, when everything is ready: its error gives the try
	// up. On PostgreSQL it is in the transaction of the swap.
	Certain func(ctx context.Context, q Querier) error
}

// CopyTerms are what a server allows to be copied without its other writers
// waiting for it.
type CopyTerms struct {
	Streams int      // of rows at once; 0 when their number is no matter
	Rows    int64    // of a chunk at the most; 0 when its size is no matter
	Notes   []string // what the server would need for more, in words
}
