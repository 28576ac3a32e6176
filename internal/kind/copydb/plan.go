package copydb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"godwit/internal/codec"
	"godwit/internal/engine"
	"godwit/internal/engine/postgres"
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
	items       []*item
	warnings    []string
	fingerprint ledger.Fingerprint
}

// makePlan looks at both sides and refuses, by name, what cannot be copied:
// all of it at once, so that nobody has to come back for each.
func makePlan(ctx context.Context, run *kind.Run, dbs *databases) (*plan, error) {
	if err := dbs.identify(ctx); err != nil {
		return nil, err
	}
	tables, err := resolve(ctx, dbs, run.Spec.Copy)
	if err != nil {
		return nil, err
	}
	names, held := make([]engine.Name, len(tables)), make([]string, len(tables))
	targets := make(map[engine.Name]engine.Name, len(tables))
	for i, w := range tables {
		names[i], targets[w.source], held[i] = w.source, w.target, w.target.String()
	}
	// First of all: what another migration has made is not merely in the way.
	if run.Ledger != nil {
		if err := run.Ledger.CheckClaims(ctx, held); err != nil {
			return nil, err
		}
	}
	if err := dbs.from.CheckRead(ctx, names); err != nil {
		return nil, err
	}
	p := &plan{fingerprint: ledger.Fingerprint{"the source server": dbs.sourceID.ID, "the target server": dbs.targetID.ID}}
	if p.fingerprint["the spec"], err = specPrint(run.Spec); err != nil {
		return nil, err
	}
	planner := &planner{dbs: dbs, spec: run.Spec.Copy, targets: targets, schemas: map[string]bool{}}
	var refused []error
	for i, w := range tables {
		run.Beat(task.Heartbeat{Phase: task.Preflight, Table: w.source.String(), Rows: int64(i), RowsTotal: int64(len(tables))})
		it, err := planner.item(ctx, i+1, w)
		if f := fault.Of(err); f != nil && f.Class == task.Config {
			refused = append(refused, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		p.items = append(p.items, it)
		p.fingerprint["table "+it.source()] = kind.Hash(engine.Definition(it.Source))
	}
	if len(refused) > 0 {
		return nil, refusal(refused)
	}
	for _, it := range p.items {
		for _, note := range it.Notes {
			p.warnings = append(p.warnings, it.source()+": "+note)
		}
	}
	if err := dbs.to.CheckWrite(ctx, p.writes(run.Ref.ID)); err != nil {
		return nil, err
	}
	return p, throttle.Check(ctx, run.Connections, run.Spec, run.Spec.Copy.Target)
}

// writes is what the copy does to the target, ledger included.
func (p *plan) writes(id string) postgres.Write {
	w := postgres.Write{Schemas: []string{ledger.Schema}}
	for _, it := range p.items {
		if it.Replace && !slices.Contains(w.Schemas, asideSchema(id)) {
			w.Schemas = append(w.Schemas, asideSchema(id))
		}
		switch {
		case it.Create && it.Replace:
			w.Own = append(w.Own, it.Target.Name)
			fallthrough
		case it.Create:
			w.Schemas = append(w.Schemas, it.Target.Name.Schema)
		default:
			w.Load = append(w.Load, it.Target.Name)
			if len(it.ForeignKeys) > 0 {
				w.Own = append(w.Own, it.Target.Name)
			}
		}
	}
	return w
}

// refusal is one fault for everything that is refused.
func refusal(refused []error) error {
	if len(refused) == 1 {
		return refused[0]
	}
	lines := make([]string, len(refused))
	for i, err := range refused {
		lines[i] = "- " + err.Error()
	}
	return fault.New(task.Config, "%d tables cannot be copied:\n%s", len(refused), strings.Join(lines, "\n"))
}

// mostShards of one table: their numbers and names travel through Temporal.
const mostShards = 5000

// planner makes the items.
type planner struct {
	dbs     *databases
	spec    *spec.CopySpec
	targets map[engine.Name]engine.Name
	schemas map[string]bool // of the target: whether they exist
}

func (p *planner) item(ctx context.Context, no int, w wanted) (*item, error) {
	source, err := p.dbs.from.Table(ctx, w.source)
	if err != nil {
		return nil, err
	}
	if w.where != "" {
		if err := p.dbs.from.CheckWhere(ctx, w.source, w.where); err != nil {
			return nil, err
		}
	}
	if wish := p.spec.Shards.Rows; wish > 0 && source.Rows/wish > mostShards {
		return nil, fault.About(w.source.String(), task.Config, "shards.rows: %d would cut %s, with about %d rows, into more than %d shards: choose at least %d",
			wish, w.source, source.Rows, mostShards, source.Rows/mostShards+1)
	}
	it := &item{No: no, Source: source, Where: w.where, Create: p.spec.Schema != spec.ExistingSchema}
	if it.Create {
		err = p.created(ctx, it, w.target)
	} else {
		err = p.existing(ctx, it, w.target)
	}
	if err != nil {
		return nil, err
	}
	if it.Row, err = codec.New(source, it.Target, p.dbs.sourceID.Flavor); err != nil {
		return nil, err
	}
	if len(source.Key) == 0 {
		it.Notes = append(it.Notes, "no usable key ("+source.KeyProblem+"): it is one shard, copied in one transaction, which starts from its beginning when it is interrupted")
	}
	return it, nil
}

// created plans a table that Godwit makes.
func (p *planner) created(ctx context.Context, it *item, target engine.Name) error {
	known, looked := p.schemas[target.Schema]
	if !looked {
		var err error
		if known, err = p.dbs.to.SchemaExists(ctx, target.Schema); err != nil {
			return err
		}
		p.schemas[target.Schema] = known
	}
	it.MakeSchema = !known
	table, notes, err := codec.MapTable(it.Source, p.dbs.sourceID.Flavor, target, codec.Options{Target: p.targets})
	if err != nil {
		return err
	}
	it.Target = table
	for _, note := range notes {
		it.Notes = append(it.Notes, note.String())
	}
	exists, err := p.dbs.to.TableExists(ctx, target)
	if err != nil || !exists {
		return err
	}
	if p.spec.ExistingRows != spec.ReplaceRows {
		return p.occupied(ctx, target, "choose another name with `to:`, load it as it is with `schema: existing`, or have it set aside and replaced with `existing_rows: replace`")
	}
	it.Replace = true
	return p.movable(ctx, target)
}

// existing plans a table that is there and stays.
func (p *planner) existing(ctx context.Context, it *item, target engine.Name) error {
	table, err := p.dbs.to.Table(ctx, target)
	if errors.Is(err, engine.ErrNoTable) {
		return fault.About(target.String(), task.Config, "there is no table %s on connection %s: make it first, or let Godwit do it with `schema: create`", target, p.dbs.toConn.Name)
	}
	if err != nil {
		return err
	}
	it.Target = table
	if it.ForeignKeys, err = p.dbs.to.ForeignKeys(ctx, target); err != nil {
		return err
	}
	if it.Sequences, err = p.dbs.to.SequenceStates(ctx, table); err != nil {
		return err
	}
	if len(it.ForeignKeys) > 0 {
		it.Notes = append(it.Notes, "its foreign keys are taken off for the load, put back and checked after it")
	}
	if len(table.Triggers) > 0 {
		it.Notes = append(it.Notes, "its triggers fire for every row: "+strings.Join(table.Triggers, ", "))
	}
	has, err := p.dbs.to.HasRows(ctx, target)
	if err != nil || !has {
		return err
	}
	if p.spec.ExistingRows != spec.ReplaceRows {
		return p.occupied(ctx, target, "empty it, or have its rows saved and replaced with `existing_rows: replace`")
	}
	it.Replace = true
	return p.emptiable(ctx, target)
}

// emptiable refuses to empty a table that tables outside of the copy refer to.
func (p *planner) emptiable(ctx context.Context, target engine.Name) error {
	referring, err := p.dbs.to.ReferredBy(ctx, target)
	if err != nil {
		return err
	}
	var outside []string
	for _, name := range referring {
		if !slices.Contains(slices.Collect(maps.Values(p.targets)), name) {
			outside = append(outside, name.String())
		}
	}
	if len(outside) == 0 {
		return nil
	}
	return fault.About(target.String(), task.Config, "the rows of target table %s cannot be replaced, since foreign keys of tables that are not copied refer to it: %s; copy those as well, or drop these keys first",
		target, strings.Join(outside, ", "))
}

func (p *planner) occupied(ctx context.Context, target engine.Name, remedy string) error {
	has, err := p.dbs.to.HasRows(ctx, target)
	if err != nil {
		return err
	}
	state := "exists already"
	if has {
		state = "exists already and has rows"
	}
	return fault.About(target.String(), task.Config, "the target table %s %s: %s", target, state, remedy)
}

// movable refuses to set aside a table that something else would follow.
func (p *planner) movable(ctx context.Context, target engine.Name) error {
	dependents, err := p.dbs.to.Dependents(ctx, target, slices.Collect(maps.Values(p.targets))...)
	if err != nil || len(dependents) == 0 {
		return err
	}
	return fault.About(target.String(), task.Config, "the target table %s cannot be set aside, since these refer to it and would go with it: %s; drop them, or load the table as it is with `schema: existing`",
		target, strings.Join(dependents, ", "))
}

// identify asks both servers who they are, once.
func (d *databases) identify(ctx context.Context) (err error) {
	if d.sourceID.ID != "" {
		return nil
	}
	if d.targetID, err = d.to.Identity(ctx); err != nil {
		return err
	}
	d.sourceID, err = d.from.Identity(ctx)
	return err
}

// specPrint is the part of a spec that decides what is copied: how fast it
// goes and who is waited for may change in between.
func specPrint(s *spec.Spec) (string, error) {
	c := *s.Copy
	c.Shards, c.Cutover, c.KeepOld = spec.Shards{}, spec.CopyCutover{}, nil
	text, err := json.Marshal(c)
	return kind.Hash(string(text)), err
}

// Plan finds out what the copy would do.
func (c *Copy) Plan(ctx context.Context, run *kind.Run) (*task.Plan, error) {
	dbs, err := open(ctx, run)
	if err != nil {
		return nil, err
	}
	p, err := makePlan(ctx, run, dbs)
	if err != nil {
		return nil, err
	}
	out := &task.Plan{Kind: task.Copy, Name: run.Spec.Name, Source: describe(dbs.fromConn.String(), dbs.sourceID), Target: describe(dbs.toConn.String(), dbs.targetID),
		Statements: statements(p.items), Warnings: p.warnings}
	for _, it := range p.items {
		t := it.tablePlan(run.Spec.Copy)
		out.Tables = append(out.Tables, t)
		out.RowsTotal += t.Rows
		out.BytesTotal += t.Bytes
		out.Shards += t.Shards
	}
	out.Estimate = estimate(out.RowsTotal, out.BytesTotal, len(p.items))
	out.Advice = "leave it: it returns an id at once, and `godwit wait ID` tells the end"
	if out.Estimate < 2*time.Second {
		out.Advice = "wait for it: run it with --wait"
	}
	return out, nil
}

func describe(connection string, id engine.Identity) string {
	return fmt.Sprintf("%s (%s %s)", connection, id.Flavor, id.Version)
}

func (it *item) tablePlan(s *spec.CopySpec) task.TablePlan {
	t := task.TablePlan{Source: it.source(), Target: it.target(), Rows: it.Source.Rows, Bytes: it.Source.Bytes, Key: it.Source.Key, Shards: 1, Notes: it.Notes}
	if len(t.Key) > 0 {
		size := shard.Rows(s.Shards.Rows, t.Rows, shard.DefaultRows)
		t.Shards = int(max(1, (t.Rows+size-1)/size))
	}
	for _, c := range it.Row.Columns {
		t.Columns = append(t.Columns, task.ColumnPlan{Source: c.Source, SourceType: it.Source.Column(c.Source).Type.Full, Target: c.Target, TargetType: it.Target.Column(c.Target).Type.Full})
	}
	return t
}

// estimate is what a copy of this size takes on a small machine: rows and
// bytes are read, written, indexed and compared.
func estimate(rows, bytes int64, tables int) time.Duration {
	seconds := 0.5 + 0.1*float64(tables) + max(float64(rows)/200_000, float64(bytes)/(40<<20))
	return time.Duration(seconds * float64(time.Second)).Round(100 * time.Millisecond)
}
