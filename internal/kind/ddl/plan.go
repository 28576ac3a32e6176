package ddl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/shard"
	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/internal/throttle"
)

// plan is everything that is known before anything is changed.
type plan struct {
	item        *item
	identity    engine.Identity
	fingerprint ledger.Fingerprint
}

// makePlan looks at the table, tries the ALTER on a clone of it, and refuses
// what cannot be done.
func makePlan(ctx context.Context, run *kind.Run, db *site) (*plan, error) {
	s := run.Spec.DDL
	name := db.Qualify(s.Table)
	if run.Ledger != nil {
		if err := run.Ledger.CheckClaims(ctx, []string{name.String()}); err != nil {
			return nil, err
		}
	}
	table, err := db.Table(ctx, name)
	if errors.Is(err, engine.ErrNoTable) {
		return nil, fault.About(name.String(), task.Config, "there is no table %s on connection %s, or its user may not see it", name, db.Conn.Name)
	}
	if err != nil {
		return nil, err
	}
	if err := db.Transactional(ctx, name); err != nil {
		return nil, err
	}
	it, err := choose(ctx, run, db, table)
	if err != nil {
		return nil, err
	}
	p := &plan{item: it}
	if err := p.remark(ctx, run, db); err != nil {
		return nil, err
	}
	if err := testData(ctx, run, db, p.item); err != nil {
		return nil, err
	}
	if p.identity, err = db.Identity(ctx); err != nil {
		return nil, err
	}
	p.fingerprint = ledger.Fingerprint{"the server": p.identity.ID, "table " + name.String(): kind.Hash(columnsOf(table))}
	if p.fingerprint["the spec"], err = specPrint(run.Spec); err != nil {
		return nil, err
	}
	return p, throttle.Check(ctx, run.Connections, run.Spec, s.Database)
}

// remark adds what an operator should know besides.
func (p *plan) remark(ctx context.Context, run *kind.Run, db *site) error {
	it := p.item
	unseen, err := db.Uncertain(ctx, it.Table.Name)
	if err != nil {
		return err
	}
	if unseen != "" {
		it.Notes = append(it.Notes, unseen)
	}
	if run.Spec.DDL.Undo == "" && len(it.steps(true)) > 0 {
		it.Notes = append(it.Notes, "the cut-over is the point of no return: there is no undo")
	}
	return nil
}

// specPrint is the part of a spec that decides what is changed: when, how
// patiently and how it is taken back may change in between.
func specPrint(s *spec.Spec) (string, error) {
	d := s.DDL
	text, err := json.Marshal([]any{d.Database, d.Table, d.Alter, d.Strategy, d.Renames, d.Columns, d.Indexes})
	return kind.Hash(string(text)), err
}

// Plan finds out how the table would be changed.
func (d *DDL) Plan(ctx context.Context, run *kind.Run) (*task.Plan, error) {
	db, err := open(ctx, run)
	if err != nil {
		return nil, err
	}
	p, err := makePlan(ctx, run, db)
	if err != nil {
		return nil, err
	}
	t := p.item.Table
	added, removed := engine.Changes(p.item.Before, p.item.After)
	notes := []string{"done as " + p.item.Way}
	for _, line := range removed {
		notes = append(notes, "before: "+line)
	}
	for _, line := range added {
		notes = append(notes, "after: "+line)
	}
	if p.item.Reshaping != nil && !run.Spec.Throttle.None {
		terms, err := db.CopyTerms(ctx, t)
		if err != nil {
			return nil, err
		}
		notes = append(notes, terms.Notes...)
	}
	table := task.TablePlan{Source: t.Name.String(), Target: t.Name.String(), Rows: t.Rows, Bytes: t.Bytes, Key: t.Key, Shards: p.item.shards(run.Spec), Notes: notes}
	out := &task.Plan{Kind: task.DDL, Name: run.Spec.Name, Target: fmt.Sprintf("%s (%s %s)", db.Conn, p.identity.Flavor, p.identity.Version),
		Tables: []task.TablePlan{table}, Warnings: p.item.Notes, Shards: table.Shards, RowsTotal: t.Rows, BytesTotal: t.Bytes,
		Statements: p.item.statements(run.Spec.DDL.Undo), Estimate: p.item.estimate()}
	if p.item.Reshaping != nil {
		if out.Statements, err = p.item.shadowStatements(db, keeps(run.Spec)); err != nil {
			return nil, err
		}
	}
	out.Advice = "leave it: it returns an id at once, and `godwit wait ID` tells the end"
	if out.Estimate < 2*time.Second {
		out.Advice = "wait for it: run it with --wait"
	}
	return out, nil
}

// shards is how many shards there are before the cut-over.
func (it *item) shards(s *spec.Spec) int {
	if it.Reshaping == nil {
		return min(1, len(it.steps(false)))
	}
	size := shard.Rows(s.DDL.Shards.Rows, it.Table.Rows, shard.RewriteRows)
	return int(max(1, (it.Table.Rows+size-1)/size)) + len(it.Reshaping.Builds)
}

// statements is the SQL in order, each with its lock and the way back.
func (it *item) statements(undo string) []string {
	var list []string
	for i, step := range it.Steps {
		back := "taken back by " + step.Undo
		switch {
		case step.Final && undo != "":
			back = "taken back by " + undo
		case step.Final:
			back = "cannot be taken back"
		case step.Undo == "":
			back = "changes nothing that would have to be taken back"
		}
		for _, statement := range step.SQL {
			list = append(list, fmt.Sprintf("/* %d. lock: %s; %s */ %s", i+1, step.Lock, strings.ReplaceAll(back, "*/", "* /"), statement))
		}
	}
	return list
}

// estimate is what it takes on a small machine when nobody is in the way.
func (it *item) estimate() time.Duration {
	seconds := 0.5
	if it.Reshaping != nil {
		seconds += 2 + float64(it.Table.Rows)/120_000
	}
	for _, step := range it.Steps {
		if !step.Brief {
			seconds += float64(it.Table.Rows) / 2_000_000
		}
	}
	return time.Duration(seconds * float64(time.Second)).Round(100 * time.Millisecond)
}
