package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

const (
	// explainedRows is the size below which it does not matter how a table is read.
	explainedRows = 10_000
	// A range for a plan: where it begins, and how many rows it has.
	explainedOffset, explainedRange = 5_000, 1_000
)

// noSuchIndex is the error for an index that is asked for and is not there.
const noSuchIndex = 1176

// step is a line of the server's plan for a statement.
type step struct {
	kind   string // SIMPLE, PRIMARY, SUBQUERY, INSERT, UPDATE …
	table  string // or its alias; in angle brackets what is no table
	access string // ALL, index, range, ref …
	index  string
	rows   int64 // that are looked at, as the server guesses
	extra  string
}

// full reports whether all of a table or all of an index is read. So looks the
// line of a table that an INSERT writes to, too, with no rows to be looked at.
func (s *step) full() bool {
	if strings.Contains(s.extra, "Deleting all rows") { // MariaDB's way
		return true
	}
	return (s.access == "ALL" || s.access == "index") && !strings.HasPrefix(s.table, "<")
}

// explaining begins a statement that is explained. After the format there
// cannot be ANALYZE, which would run the statement.
const explaining = "EXPLAIN FORMAT=TRADITIONAL "

// steps asks for the plan of a statement, which is not run.
func (s *Server) steps(ctx context.Context, statement string) ([]step, error) {
	var steps []step
	err := collect(ctx, s.db, func(rows *sql.Rows) error {
		names, err := rows.Columns()
		if err != nil {
			return err
		}
		cells, into := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		line := map[string]string{}
		for i, name := range names {
			line[strings.ToLower(name)] = cells[i].String
		}
		count, _ := strconv.ParseInt(line["rows"], 10, 64) // NULL where there is nothing to be counted
		index, _, _ := strings.Cut(line["key"], "|")       // what follows is a filter of MariaDB's
		steps = append(steps, step{kind: line["select_type"], table: line["table"], access: line["type"], index: index, rows: count, extra: line["extra"]})
		return nil
	}, explaining+statement)
	return steps, err
}

// ExplainRange makes sure that the server reads a range of the table, a chunk,
// by way of the key's index and not from the whole table. A table of few rows
// passes. What stands in the way is a fault of class config.
func (s *Server) ExplainRange(ctx context.Context, sel engine.Select) error {
	t := sel.Table
	switch {
	case t.Rows < explainedRows:
		return nil
	case len(t.Key) == 0:
		return fault.About(t.Name.String(), task.Config, "%s has no key to cut ranges by: %s", t.Name, t.KeyProblem)
	}
	steps, within, err := s.rangeSteps(ctx, sel)
	if number(err) == noSuchIndex {
		return fault.About(t.Name.String(), task.Config, "%s: look whether key %s is still there: %w", t.Name, t.KeyName, err)
	}
	if err != nil {
		return err
	}
	for _, step := range steps {
		// How a subquery is read is the user's business.
		own := step.table == t.Name.Table && (step.kind == "SIMPLE" || step.kind == "PRIMARY")
		if own && (step.full() || step.index != t.KeyName) {
			how := step.access + " by index " + step.index
			if step.index == "" {
				how = step.access
			}
			return fault.About(t.Name.String(), task.Config, "%s: the server does not use key %s for the range %s, it plans %s with %d rows to look at",
				t.Name, t.KeyName, within, how, step.rows)
		}
	}
	return nil
}

// rangeSteps is the plan for reading a range such as a chunk may be, not the
// first one. The bounds are near the table's beginning, where they are found fast.
func (s *Server) rangeSteps(ctx context.Context, sel engine.Select) ([]step, engine.Range, error) {
	low, found, err := s.Bound(ctx, sel, explainedOffset)
	if err != nil {
		return nil, sel.Range, err
	}
	if found {
		sel.Range.After = low
		high, found, err := s.Bound(ctx, sel, explainedRange)
		if err != nil {
			return nil, sel.Range, err
		}
		if found {
			sel.Range.Until = high
		}
	}
	if sel.Range.After == nil && sel.Range.Until == nil {
		return nil, sel.Range, nil // the estimate is of another time: the table is small
	}
	sel.Exprs, sel.Limit, sel.Offset = []string{"1"}, 0, 0
	text, err := selection(sel).text()
	if err != nil {
		return nil, sel.Range, err
	}
	steps, err := s.steps(ctx, text)
	if err != nil {
		err = fmt.Errorf("ask for the plan of a range of %s: %w", sel.Table.Name, err)
	}
	return steps, sel.Range, err
}

// changing is how a statement that changes rows begins, after comments and
// blanks. One that begins with WITH shows only in its plan what it is.
var (
	changing = regexp.MustCompile(`(?is)^(?:\s|/\*.*?\*/|--\s[^\n]*(?:\n|$)|#[^\n]*(?:\n|$))*(insert|update|delete|replace)\b`)
	changed  = regexp.MustCompile(`^(INSERT|UPDATE|DELETE|REPLACE)$`)
)

// ExplainStatement tries a statement of a user's, an INSERT, UPDATE, DELETE or
// REPLACE that is to be run for one range after the other, without running it.
// The warning names the tables that it would read in full each time. What is
// wrong with the statement is a fault of class config.
func (s *Server) ExplainStatement(ctx context.Context, statement string) (warning string, err error) {
	steps, err := s.steps(ctx, statement)
	if err != nil {
		return "", refusal(err, engine.Name{}, "statement", statement)
	}
	changes := changing.MatchString(statement)
	var whole []string
	for _, step := range steps {
		changes = changes || changed.MatchString(step.kind)
		if step.full() && step.rows >= explainedRows {
			name := step.table
			if name == "" {
				name = "its table"
			}
			whole = append(whole, fmt.Sprintf("%s (about %d rows)", name, step.rows))
		}
	}
	if !changes {
		return "", fault.New(task.Config, "statement: %q is not an INSERT, UPDATE, DELETE or REPLACE", statement)
	}
	if len(whole) == 0 {
		return "", nil
	}
	return "the statement reads all of " + strings.Join(whole, ", ") + " for every range: an index on what it looks for would spare that", nil
}
