package reindex

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/internal/throttle"
)

// plan is everything that is known before anything is changed.
type plan struct {
	items       []*item
	notes       []string
	identity    engine.Identity
	fingerprint ledger.Fingerprint
}

// makePlan finds the indexes and refuses what cannot be done.
func makePlan(ctx context.Context, run *kind.Run, db *site) (*plan, error) {
	s := run.Spec.Reindex
	if run.Spec.Throttle.RowsPerSecond > 0 || run.Spec.Throttle.BytesPerSecond > 0 {
		return nil, fault.New(task.Config, "throttle: a build of an index goes as fast as it goes, so rows_per_second and bytes_per_second cannot be kept: "+
			"leave them out, and give guards, build.workers and build.memory")
	}
	stop := run.KeepTouching()
	defer stop()
	found, err := db.PlanIndexes(ctx, wish(s, db))
	if err != nil {
		return nil, err
	}
	p := &plan{notes: found.Notes}
	for i, w := range found.Works {
		p.items = append(p.items, &item{IndexWork: w, no: i + 1, state: itemPlanned})
	}
	if run.Ledger != nil {
		if err := run.Ledger.CheckClaims(ctx, claims(p.items)); err != nil {
			return nil, err
		}
	}
	if p.identity, err = db.Identity(ctx); err != nil {
		return nil, err
	}
	p.fingerprint = ledger.Fingerprint{"the server": p.identity.ID}
	if p.fingerprint["the spec"], err = specPrint(run.Spec); err != nil {
		return nil, err
	}
	return p, throttle.Check(ctx, run.Connections, run.Spec, s.Database)
}

// wish is what a spec asks of the engine.
func wish(s *spec.ReindexSpec, db *site) *engine.IndexWish {
	w := &engine.IndexWish{Schema: s.Schema, Indexes: s.Index, Create: s.Create, Drop: s.Drop}
	if s.Table != "" {
		w.Table = db.Qualify(s.Table)
	}
	if s.Bloat != nil {
		w.Bloat = &engine.BloatLimit{Percent: float64(s.Bloat.Percent), Bytes: int64(s.Bloat.Size)}
	}
	return w
}

func claims(items []*item) (names []string) {
	for _, table := range tablesOf(items) {
		names = append(names, table.String())
	}
	return names
}

// specPrint is the part of a spec that decides which indexes are worked on: with
// how much, and when it is given up, may change in between.
func specPrint(s *spec.Spec) (string, error) {
	r := s.Reindex
	text, err := json.Marshal([]any{r.Database, r.Table, r.Schema, r.Index, r.Create, r.Drop, r.Bloat})
	return kind.Hash(string(text)), err
}

// Plan finds out which indexes would be built or dropped, and how.
func (r *Reindex) Plan(ctx context.Context, run *kind.Run) (*task.Plan, error) {
	other, err := asCopy(ctx, run)
	if err != nil {
		return nil, err
	}
	if other != nil {
		p, err := r.copy.Plan(ctx, other)
		if err == nil {
			p.Kind = task.Reindex
		}
		return p, err
	}
	db, err := open(ctx, run)
	if err != nil {
		return nil, err
	}
	p, err := makePlan(ctx, run, db)
	if err != nil {
		return nil, err
	}
	_, how, err := db.BuildSettings(ctx, limits(run.Spec.Reindex, 0))
	if err != nil {
		return nil, err
	}
	out := &task.Plan{Kind: task.Reindex, Name: run.Spec.Name, Target: fmt.Sprintf("%s (%s %s)", db.Conn, p.identity.Flavor, p.identity.Version),
		Warnings: p.notes, Shards: len(built(p.items))}
	seconds := 0.5
	for _, table := range tablesOf(p.items) {
		out.Tables = append(out.Tables, p.table(table))
	}
	for _, it := range p.items {
		if it.Action != engine.DropIndex {
			out.RowsTotal += it.Rows
			out.BytesTotal += it.Bytes
			seconds += float64(it.Rows) / rowsPerSecond
		}
		for _, step := range it.Steps {
			for _, statement := range step.SQL {
				out.Statements = append(out.Statements, fmt.Sprintf("/* %s */ %s", it.manner(step, how), statement))
			}
		}
	}
	out.Estimate = time.Duration(seconds * float64(time.Second)).Round(100 * time.Millisecond)
	out.Advice = "leave it: it returns an id at once, and `godwit wait ID` tells the end"
	if out.Estimate < 2*time.Second {
		out.Advice = "wait for it: run it with --wait"
	}
	return out, nil
}

// rowsPerSecond is how fast an index is built on a small machine, about.
const rowsPerSecond = 700_000

// table is a table of a plan, with what is done to its indexes.
func (p *plan) table(name engine.Name) task.TablePlan {
	t := task.TablePlan{Source: name.String(), Target: name.String()}
	for _, it := range p.items {
		if it.Table != name {
			continue
		}
		t.Rows = max(t.Rows, it.Rows)
		note := fmt.Sprintf("%s %s", it.Action, it.Index)
		switch {
		case it.Action == engine.CreateIndex:
			t.Shards++
		default:
			note += " (" + humanize.IBytes(uint64(it.Bytes))
			if it.Bloat != nil {
				note += fmt.Sprintf(", %.0f %% of it wasted", *it.Bloat)
			}
			note += ")"
			t.Bytes += it.Bytes
			if it.Action == engine.RebuildIndex {
				t.Shards++
			}
		}
		t.Notes = append(t.Notes, note)
	}
	return t
}

// manner says how a step is done.
func (it *item) manner(step engine.IndexStep, how string) string {
	text := "readers and writers go on"
	if step.Locks {
		text += ", but for a moment at its beginning and its end"
	}
	switch {
	case it.Action == engine.DropIndex:
		return "in the cut-over; " + text
	case step.Builds:
		return text + "; " + how
	}
	return text
}

// limits is what a build may take that was given up so many times.
func limits(s *spec.ReindexSpec, halved int) engine.BuildLimits {
	return engine.BuildLimits{Workers: s.Build.Workers, Memory: int64(s.Build.Memory), Halved: halved, LockWait: s.Build.LockTimeout.Std().Seconds()}
}
