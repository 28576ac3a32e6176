package backfill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"godwit/internal/connection"
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
	warnings    []string
	fingerprint ledger.Fingerprint
}

// makePlan looks at the table and refuses what cannot be done to it.
func makePlan(ctx context.Context, run *kind.Run, db *site) (*plan, error) {
	s := run.Spec.Backfill
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
	if len(table.Key) == 0 {
		return nil, fault.About(name.String(), task.Config, "%s has no key that ranges can be cut by (%s): give it a primary key, or a unique key without NULLs", name, table.KeyProblem)
	}
	if wish := s.Shards.Rows; wish > 0 && table.Rows/wish > mostShards {
		return nil, fault.About(name.String(), task.Config, "shards.rows: %d would cut %s, with about %d rows, into more than %d shards: choose at least %d",
			wish, name, table.Rows, mostShards, table.Rows/mostShards+1)
	}
	p := &plan{item: &item{Table: table, Statement: s.Statement}}
	if err := p.check(ctx, run, db); err != nil {
		return nil, err
	}
	if p.identity, err = db.Identity(ctx); err != nil {
		return nil, err
	}
	p.fingerprint = ledger.Fingerprint{"the server": p.identity.ID, "table " + name.String(): kind.Hash(engine.Definition(table))}
	if p.fingerprint["the spec"], err = specPrint(run.Spec); err != nil {
		return nil, err
	}
	p.item.Notes = p.warnings
	return p, throttle.Check(ctx, run.Connections, run.Spec, s.Database)
}

// mostShards of one table: their numbers and names travel through Temporal.
const mostShards = 5000

func (p *plan) check(ctx context.Context, run *kind.Run, db *site) error {
	s, table := run.Spec.Backfill, p.item.Table
	if err := db.Transactional(ctx, table.Name); err != nil {
		return err
	}
	if err := db.ExplainRange(ctx, p.item.selection(engine.Range{})); err != nil {
		return err
	}
	if len(table.Triggers) > 0 {
		p.warn("its triggers are run for every row: %s", strings.Join(table.Triggers, ", "))
	}
	var err error
	if len(s.Set) > 0 {
		err = p.checkRewrite(ctx, run, db)
	} else {
		err = p.checkStatement(ctx, db)
	}
	if err != nil || s.Check == nil {
		return err
	}
	if _, err = kind.Answer(ctx, db, s.Check.Query); err == nil {
		return nil
	}
	if class := kind.Classify(err).Class; class == task.Config || class == task.Data {
		return fault.About(table.Name.String(), task.Config, "check.query: %q: %w", s.Check.Query, err)
	}
	return err
}

func (p *plan) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

// savedName names the table of old values by the migration.
func (s *site) savedName(id string) engine.Name {
	name := "saved_" + kind.Hash(id)
	if id == "" {
		name = "saved_…" // in a plan
	}
	if s.Conn.Engine == connection.MySQLEngine {
		return engine.Name{Schema: s.Conn.Database(), Table: "_godwit_" + name}
	}
	return engine.Name{Schema: ledger.Schema, Table: name}
}

// specPrint is the part of a spec that decides what is changed: how fast it
// goes and who is waited for may change in between.
func specPrint(s *spec.Spec) (string, error) {
	b := *s.Backfill
	b.Shards, b.Chunks, b.Passes, b.KeepOld, b.Check = spec.Shards{}, spec.Chunks{}, 0, nil, nil
	b.Cutover.Mode, b.Cutover.Timeout = "", 0
	text, err := json.Marshal(b)
	return kind.Hash(string(text)), err
}

// Plan finds out what the backfill would do.
func (b *Backfill) Plan(ctx context.Context, run *kind.Run) (*task.Plan, error) {
	db, err := open(ctx, run)
	if err != nil {
		return nil, err
	}
	p, err := makePlan(ctx, run, db)
	if err != nil {
		return nil, err
	}
	t := p.item.Table
	size := shard.Rows(run.Spec.Backfill.Shards.Rows, t.Rows, shard.RewriteRows)
	table := task.TablePlan{Source: t.Name.String(), Target: t.Name.String(), Rows: t.Rows, Bytes: t.Bytes, Key: t.Key, Shards: int(max(1, (t.Rows+size-1)/size)), Notes: p.item.Notes}
	if r := p.item.Rewrite; r != nil {
		for _, a := range r.Set {
			full := t.Column(a.Column).Type.Full
			table.Columns = append(table.Columns, task.ColumnPlan{Source: a.Column, SourceType: full, Target: a.Column, TargetType: full, Note: a.Expr})
		}
	}
	out := &task.Plan{Kind: task.Backfill, Name: run.Spec.Name, Target: fmt.Sprintf("%s (%s %s)", db.Conn, p.identity.Flavor, p.identity.Version),
		Tables: []task.TablePlan{table}, Warnings: p.warnings, RowsTotal: t.Rows, BytesTotal: t.Bytes, Shards: table.Shards}
	if out.Statements, err = p.statements(ctx, run, db); err != nil {
		return nil, err
	}
	out.Estimate = estimate(t.Rows, p.item.kept())
	out.Advice = "leave it: it returns an id at once, and `godwit wait ID` tells the end"
	if out.Estimate < 2*time.Second {
		out.Advice = "wait for it: run it with --wait"
	}
	return out, nil
}

// estimate is what a backfill of this size takes on a small machine.
func estimate(rows int64, saved bool) time.Duration {
	perSecond := 120_000.0
	if saved {
		perSecond = 70_000
	}
	return time.Duration((0.5 + float64(rows)/perSecond) * float64(time.Second)).Round(100 * time.Millisecond)
}

// statements is the SQL, in order; of what is done for every chunk, that of the first shard.
func (p *plan) statements(ctx context.Context, run *kind.Run, db *site) ([]string, error) {
	it := p.item
	first := engine.Range{}
	bounds, err := db.Split(ctx, it.selection(engine.Range{}), shard.Rows(run.Spec.Backfill.Shards.Rows, it.Table.Rows, shard.RewriteRows))
	if err != nil {
		return nil, err
	}
	if len(bounds) > 0 {
		first.Until = bounds[0]
	}
	var list []string
	if it.kept() {
		list = db.CreateSaved(it.Rewrite)
	}
	chunk, err := it.chunkStatements(ctx, db, 1, first)
	if errors.Is(err, errEmpty) {
		chunk, err = slices.Clone(it.Statement), nil
	}
	if err != nil {
		return nil, err
	}
	for i, statement := range chunk {
		chunk[i] = "/* each chunk, with its range */ " + statement
	}
	list = append(list, chunk...)
	if sql := run.Spec.Backfill.Cutover.SQL; sql != "" {
		list = append(list, sql)
	}
	if it.kept() {
		list = append(list, db.DropSaved(it.Rewrite))
	}
	return list, nil
}

// assignments orders what is set by the table's columns.
func assignments(table *engine.Table, set map[string]string) []engine.Assignment {
	var list []engine.Assignment
	for i := range table.Columns {
		if expr, found := set[table.Columns[i].Name]; found {
			list = append(list, engine.Assignment{Column: table.Columns[i].Name, Expr: expr})
		}
	}
	return list
}

// columnNames are the names of a table's columns.
func columnNames(t *engine.Table) []string {
	names := make([]string, len(t.Columns))
	for i := range t.Columns {
		names[i] = t.Columns[i].Name
	}
	return names
}

// inKey reports whether a column is part of the key that ranges are cut by.
func inKey(t *engine.Table, column string) bool { return slices.Contains(t.Key, column) }
