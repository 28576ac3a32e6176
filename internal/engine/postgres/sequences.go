package postgres

import (
	"context"
	"fmt"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// sequence is what feeds an identity or serial column.
type sequence struct {
	name      string // quoted
	last      int64
	called    bool // last has been given out
	increment int64
	max       int64
}

// ownedSequence reads the sequence of a column. It is nil when there is none,
// or none that the user may read.
func ownedSequence(ctx context.Context, on executor, table engine.Name, column string) (*sequence, error) {
	var name *string
	err := on.QueryRow(ctx, `SELECT seq FROM pg_get_serial_sequence($1, $2) seq WHERE has_sequence_privilege(seq, 'SELECT')`,
		QuoteName(table), column).Scan(&name)
	if noRows(err) || err == nil && name == nil {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot find the sequence of %s.%s: %w", table, column, err)
	}
	q := &sequence{name: *name}
	err = on.QueryRow(ctx, `SELECT s.last_value, s.is_called, d.seqincrement, d.seqmax FROM `+q.name+` s, pg_sequence d WHERE d.seqrelid = $1::text::regclass`, q.name).
		Scan(&q.last, &q.called, &q.increment, &q.max)
	if err != nil {
		return nil, fmt.Errorf("cannot read sequence %s: %w", q.name, err)
	}
	return q, nil
}

// nextIdentity returns the value that the column's sequence gives out next; 0
// when that cannot be known or is not positive.
func nextIdentity(ctx context.Context, on executor, table engine.Name, column string) (uint64, error) {
	q, err := ownedSequence(ctx, on, table, column)
	if err != nil || q == nil {
		return 0, err
	}
	next := q.last
	if q.called {
		next += q.increment
	}
	return uint64(max(next, 0)), nil
}

// SetSequence makes the sequence of an identity or serial column go on above
// every value in the column, and at next where that is higher. It never goes
// back, so it can be called again; an empty table with next up to 1 leaves the
// sequence at its start.
func (s *Server) SetSequence(ctx context.Context, table engine.Name, column string, next uint64) error {
	q, err := ownedSequence(ctx, s.on, table, column)
	if err != nil {
		return err
	}
	if q == nil {
		return fault.About(table.String(), task.Config, "column %s of table %s has no sequence that this user may read", column, table)
	}
	if q.increment < 0 {
		return fault.About(table.String(), task.Config, "the sequence of column %s of table %s counts downwards: set it by hand", column, table)
	}
	var highest *int64
	if err := s.on.QueryRow(ctx, "SELECT ceil(max("+Quote(column)+")::numeric)::bigint FROM "+QuoteName(table)).Scan(&highest); err != nil {
		return fmt.Errorf("cannot read the highest %s of table %s: %w", column, table, err)
	}
	var last uint64 // the value to be regarded as given out
	if next > 0 {
		last = next - 1
	}
	if highest != nil && *highest > 0 {
		last = max(last, uint64(*highest))
	}
	before := q.last
	if !q.called {
		before--
	}
	if before >= 0 && last <= uint64(before) || last == 0 {
		return nil
	}
	if last > uint64(q.max) {
		return fault.About(table.String(), task.Config, "the sequence of column %s of table %s ends at %d, but has to go on after %d: ALTER SEQUENCE %s MAXVALUE …, or a wider type",
			column, table, q.max, last, q.name)
	}
	if _, err := s.on.Exec(ctx, "SELECT setval($1::text::regclass, $2, true)", q.name, int64(last)); err != nil {
		return fmt.Errorf("cannot set sequence %s: %w", q.name, err)
	}
	return nil
}

// SequenceState is where the sequence of a column stands.
type SequenceState struct {
	Name   string `json:"name"` // quoted, with its schema
	Last   int64  `json:"last"`
	Called bool   `json:"called"` // Last has been given out
}

// SequenceStates are those of a table's identity and serial columns.
func (s *Server) SequenceStates(ctx context.Context, table *engine.Table) ([]SequenceState, error) {
	var states []SequenceState
	for i := range table.Columns {
		if !table.Columns[i].Identity {
			continue
		}
		q, err := ownedSequence(ctx, s.on, table.Name, table.Columns[i].Name)
		if err != nil {
			return nil, err
		}
		if q != nil {
			states = append(states, SequenceState{Name: q.name, Last: q.last, Called: q.called})
		}
	}
	return states, nil
}

// RestoreSequence is the statement that brings a sequence back to where it stood.
func RestoreSequence(q SequenceState) string {
	return fmt.Sprintf("SELECT setval(%s::regclass, %d, %t)", QuoteLiteral(q.Name), q.Last, q.Called)
}

// Analyze refreshes the planner's statistics of a table. The server skips a
// table whose owner the user is not, with no error.
func (s *Server) Analyze(ctx context.Context, name engine.Name) error {
	if _, err := s.on.Exec(ctx, "ANALYZE "+QuoteName(name)); err != nil {
		return fmt.Errorf("cannot analyze table %s: %w", name, err)
	}
	return nil
}
