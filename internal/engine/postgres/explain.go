package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

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

// plan is a node of the server's plan for a statement.
type plan struct {
	Node   string  `json:"Node Type"`
	Schema string  `json:"Schema"`
	Table  string  `json:"Relation Name"`
	Index  string  `json:"Index Name"`
	Cond   string  `json:"Index Cond"`
	Rows   float64 `json:"Plan Rows"`
	Plans  []plan  `json:"Plans"`
}

// full reports whether the node reads all of a table, or all of an index.
func (p *plan) full() bool {
	switch p.Node {
	case "Seq Scan":
		return true
	case "Index Scan", "Index Only Scan", "Bitmap Index Scan":
		return p.Cond == ""
	}
	return false
}

// each hands over the node and all below it.
func (p *plan) each(f func(*plan)) {
	f(p)
	for i := range p.Plans {
		p.Plans[i].each(f)
	}
}

// plans asks for the plans of a statement, which is not run. Rules may make
// several of one, or none.
func (s *Server) plans(ctx context.Context, settings, statement string) ([]plan, error) {
	rows, err := s.readText(ctx, settings+explaining+statement)
	if err != nil {
		return nil, err
	}
	var explained []struct{ Plan plan }
	if err := json.Unmarshal(rows[0][0], &explained); err != nil {
		return nil, fmt.Errorf("the plan %q is not understood: %w", rows[0][0], err)
	}
	plans := make([]plan, len(explained))
	for i := range explained {
		plans[i] = explained[i].Plan
	}
	return plans, nil
}

// explaining begins a statement that is explained. After options in parentheses
// there cannot be another one, such as ANALYZE, which would run the statement.
const explaining = "EXPLAIN (VERBOSE, FORMAT JSON) "

// ExplainRange makes sure that the server reads a range of the table, a chunk,
// by way of an index and not from the whole table. A table of few rows passes.
// What stands in the way is a fault of class config.
func (s *Server) ExplainRange(ctx context.Context, sel engine.Select) error {
	t := sel.Table
	switch {
	case t.Rows < explainedRows:
		return nil
	case len(t.Key) == 0:
		return fault.About(t.Name.String(), task.Config, "%s has no key to cut ranges by: %s", t.Name, t.KeyProblem)
	}
	var err error
	if sel.Range, err = s.someRange(ctx, sel); err != nil {
		return err
	}
	sel.Exprs, sel.Limit, sel.Offset = []string{"1"}, 0, 0
	text, err := selection(sel).text()
	if err != nil {
		return err
	}
	plans, err := s.plans(ctx, "SET LOCAL enable_seqscan = off; ", text)
	if err != nil {
		return fmt.Errorf("ask for the plan of a range of %s: %w", t.Name, err)
	}
	parts, err := s.parts(ctx, t.Name)
	if err != nil {
		return err
	}
	for i := range plans {
		plans[i].each(func(p *plan) {
			// A node that reads an index for another one does not name the table.
			own := p.Table == "" || parts[engine.Name{Schema: p.Schema, Table: p.Table}]
			if err == nil && own && p.full() {
				err = fault.About(t.Name.String(), task.Config, "%s: the server does not use an index for the range %s, it plans a %s of %s: look whether key %s is still there",
					t.Name, sel.Range, strings.ToLower(p.Node), cmp.Or(p.Index, p.Table), t.KeyName)
			}
		})
	}
	return err
}

// someRange is a range such as a chunk may be, not the first one.
func (s *Server) someRange(ctx context.Context, sel engine.Select) (engine.Range, error) {
	low, found, err := s.Bound(ctx, sel, explainedOffset)
	if err != nil || !found {
		return sel.Range, err
	}
	sel.Range.After = low
	high, found, err := s.Bound(ctx, sel, explainedRange)
	if found {
		sel.Range.Until = high
	}
	return sel.Range, err
}

// parts names a table and its partitions.
func (s *Server) parts(ctx context.Context, name engine.Name) (map[engine.Name]bool, error) {
	oid, err := tableOID(ctx, s.on, name)
	if err != nil {
		return nil, err
	}
	rows, err := s.on.Query(ctx, partsCTE+`SELECT n.nspname, c.relname FROM parts JOIN pg_class c USING (oid) JOIN pg_namespace n ON n.oid = c.relnamespace`, oid)
	if err != nil {
		return nil, err
	}
	parts := map[engine.Name]bool{}
	var part engine.Name
	_, err = pgx.ForEachRow(rows, []any{&part.Schema, &part.Table}, func() error {
		parts[part] = true
		return nil
	})
	return parts, err
}

// ExplainStatement tries a statement of a user's, an INSERT, UPDATE, DELETE or
// MERGE that is to be run for one range after the other, without running it. The
// warning names the tables that it would read in full each time. What is wrong
// with the statement is a fault of class config.
func (s *Server) ExplainStatement(ctx context.Context, statement string) (warning string, err error) {
	if err := s.parse(ctx, explaining+statement); err != nil {
		return "", refusal(err, engine.Name{}, "statement", statement)
	}
	plans, err := s.plans(ctx, "", statement)
	if err != nil {
		return "", refusal(err, engine.Name{}, "statement", statement)
	}
	var whole []string
	seen := map[engine.Name]bool{}
	for i := range plans {
		if plans[i].Node != "ModifyTable" {
			return "", fault.New(task.Config, "statement: %q is not an INSERT, UPDATE, DELETE or MERGE", statement)
		}
		plans[i].each(func(p *plan) {
			name := engine.Name{Schema: p.Schema, Table: p.Table}
			if err != nil || seen[name] || p.Table == "" || !p.full() {
				return
			}
			seen[name] = true
			var rows int64
			if rows, err = s.plannedRows(ctx, name); err == nil && rows >= explainedRows {
				whole = append(whole, fmt.Sprintf("%s (about %d rows)", name, rows))
			}
		})
	}
	if err != nil || len(whole) == 0 {
		return "", err
	}
	return "the statement reads all of " + strings.Join(whole, ", ") + " for every range: an index on what it looks for would spare that", nil
}
