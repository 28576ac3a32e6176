package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// candidate is an index that there is.
type candidate struct {
	engine.IndexWork
	oid        uint32
	valid      bool
	exclusion  bool   // of an exclusion constraint
	constraint string // that it belongs to; empty for none
}

// candidates reads the indexes of tables, a condition over pg_namespace n,
// pg_class t of the table and pg_class c of the index. What is of a partitioned
// table as a whole is none.
const candidates = `SELECT c.oid, n.nspname, t.relname, c.relname, x.indisvalid AND x.indisready AND x.indislive, x.indisunique, x.indisexclusion, am.amname,
		pg_get_indexdef(c.oid), coalesce(k.conname, ''), pg_relation_size(c.oid), greatest(t.reltuples::bigint, pg_relation_size(t.oid) / 100, 1),
		ARRAY(SELECT pg_get_indexdef(c.oid, i, false) FROM generate_series(1, x.indnkeyatts) i ORDER BY i), coalesce(pg_get_expr(x.indpred, x.indrelid), '')
	FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace
	JOIN pg_am am ON am.oid = c.relam LEFT JOIN pg_constraint k ON k.conindid = c.oid AND k.conrelid = t.oid AND k.contype IN ('p', 'u', 'x')
	WHERE c.relkind = 'i' AND t.relkind IN ('r', 'm') AND t.relpersistence <> 't' AND `

func (s *Server) candidates(ctx context.Context, condition string, args ...any) ([]candidate, error) {
	rows, err := s.on.Query(ctx, candidates+condition+" ORDER BY pg_relation_size(c.oid) DESC, n.nspname, c.relname", args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (candidate, error) {
		var c candidate
		err := row.Scan(&c.oid, &c.Table.Schema, &c.Table.Table, &c.Index, &c.valid, &c.Unique, &c.exclusion, &c.Method, &c.Definition, &c.constraint, &c.Bytes, &c.Rows,
			&c.Keys, &c.Where)
		return c, err
	})
}

// PlanIndexes finds out what a wish comes to and changes nothing.
func (s *Server) PlanIndexes(ctx context.Context, want *engine.IndexWish) (*engine.IndexPlan, error) {
	p := &indexPlan{server: s, want: want, out: &engine.IndexPlan{}}
	for _, step := range []func(context.Context) error{p.rebuilds, p.creates, p.drops, p.leftovers, p.privileges} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return p.out, nil
}

type indexPlan struct {
	server *Server
	want   *engine.IndexWish
	out    *engine.IndexPlan
}

func (p *indexPlan) note(format string, args ...any) {
	p.out.Notes = append(p.out.Notes, fmt.Sprintf(format, args...))
}

// here names where indexes are looked for, as a table or a schema.
func (p *indexPlan) here() string {
	if p.want.Table.Table != "" {
		return p.want.Table.String()
	}
	return "schema " + p.want.Schema
}

// scope are the indexes of what is asked for, the largest first.
func (p *indexPlan) scope(ctx context.Context) ([]candidate, error) {
	if p.want.Table.Table == "" {
		exists, err := p.server.SchemaExists(ctx, p.want.Schema)
		if err == nil && !exists {
			err = fault.New(task.Config, "there is no schema %s, or the user may not see it", p.want.Schema)
		}
		if err != nil {
			return nil, err
		}
		return p.server.candidates(ctx, "n.nspname = $1", p.want.Schema)
	}
	oid, err := indexedOID(ctx, p.server.on, p.want.Table)
	if err != nil {
		return nil, err
	}
	return p.server.candidates(ctx, "t.oid IN ("+partsCTE+"SELECT oid FROM parts)", oid)
}

// rebuilds are the indexes that are there and are built anew.
func (p *indexPlan) rebuilds(ctx context.Context) error {
	w := p.want
	if len(w.Indexes) == 0 && len(w.Create)+len(w.Drop) > 0 {
		return nil
	}
	all, err := p.scope(ctx)
	if err != nil {
		return err
	}
	if len(w.Indexes) > 0 {
		if all, err = p.named(all); err != nil {
			return err
		}
	}
	kept := 0
	for i := range all {
		c := &all[i]
		worth, err := p.worth(ctx, c)
		if err != nil {
			return err
		}
		if !worth {
			continue
		}
		kept++
		if c.Shape, err = p.server.indexShape(ctx, c.Name()); err != nil {
			return err
		}
		c.Action = engine.RebuildIndex
		c.Steps = []engine.IndexStep{{SQL: []string{"REINDEX INDEX CONCURRENTLY " + QuoteName(c.Name())}, Builds: true}}
		p.out.Works = append(p.out.Works, c.IndexWork)
	}
	if kept == 0 {
		p.note("nothing of %s is to be rebuilt", p.here())
	}
	return p.toast(ctx, all)
}

// toast tells that the indexes of the tables' TOAST tables stay as they are, when
// all indexes are asked for.
func (p *indexPlan) toast(ctx context.Context, all []candidate) error {
	if len(p.want.Indexes) > 0 || p.want.Bloat != nil {
		return nil
	}
	var tables []string
	for i := range all {
		if name := QuoteName(all[i].Table); !slices.Contains(tables, name) {
			tables = append(tables, name)
		}
	}
	var count, size int64
	err := p.server.on.QueryRow(ctx, `SELECT count(*), coalesce(sum(pg_relation_size(x.indexrelid)), 0)::bigint FROM pg_class t JOIN pg_index x ON x.indrelid = t.reltoastrelid
		WHERE t.oid = ANY ($1::text[]::regclass[]) AND pg_relation_size(t.reltoastrelid) > 0`, tables).Scan(&count, &size)
	if err == nil && count > 0 {
		p.note("the indexes of TOAST tables are left out (%d, %s): REINDEX TABLE CONCURRENTLY builds them anew, together with all others of their tables", count, humanize.IBytes(uint64(size)))
	}
	return err
}

// worth reports whether an index is to be rebuilt.
func (p *indexPlan) worth(ctx context.Context, c *candidate) (bool, error) {
	named, limit := len(p.want.Indexes) > 0, p.want.Bloat
	switch {
	case leftover.MatchString(c.Index) && !c.valid:
		return false, nil // see leftovers
	case c.exclusion && named:
		return false, fault.About(c.Table.String(), task.Config, "index %s belongs to an exclusion constraint, and the server rebuilds such a one only with the table locked", c.Name())
	case c.exclusion:
		p.note("%s is left out: it belongs to an exclusion constraint, which the server rebuilds only with the table locked", c.Name())
		return false, nil
	case !c.valid:
		p.note("%s is invalid: an earlier build of it has failed. It is built anew", c.Name())
		return true, nil
	case limit == nil:
		return true, nil
	case c.Bytes < limit.Bytes:
		return false, nil
	}
	bloat, how, err := p.server.indexBloat(ctx, c)
	if err != nil {
		return false, err
	}
	if bloat == nil {
		p.note("%s is left out: %s", c.Name(), how)
		return false, nil
	}
	c.Bloat = bloat
	return *bloat >= limit.Percent, nil
}

// named picks the indexes that the wish names.
func (p *indexPlan) named(all []candidate) ([]candidate, error) {
	var picked []candidate
	for _, name := range p.want.Indexes {
		at := slices.IndexFunc(all, func(c candidate) bool { return c.Index == name })
		if at < 0 {
			return nil, p.unknown(name, all)
		}
		picked = append(picked, all[at])
	}
	slices.SortStableFunc(picked, func(a, b candidate) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return picked, nil
}

func (p *indexPlan) unknown(name string, all []candidate) error {
	const most = 10
	var names []string
	for _, c := range all[:min(most, len(all))] {
		names = append(names, c.Index)
	}
	if len(all) > most {
		names = append(names, "…")
	}
	there := "there are none"
	if len(names) > 0 {
		there = "there are " + strings.Join(names, ", ")
	}
	return fault.About(p.want.Table.String(), task.Config, "there is no index %s of %s; %s", name, p.here(), there)
}

// drops are the indexes that are to go.
func (p *indexPlan) drops(ctx context.Context) error {
	if len(p.want.Drop) == 0 {
		return nil
	}
	all, err := p.scope(ctx)
	if err != nil {
		return err
	}
	for _, name := range p.want.Drop {
		at := slices.IndexFunc(all, func(c candidate) bool { return c.Index == name })
		if at < 0 {
			return p.unknown(name, all)
		}
		c := all[at]
		if c.constraint != "" {
			return fault.About(c.Table.String(), task.Config, "index %s belongs to the constraint %s, and goes with it alone: use kind: ddl with DROP CONSTRAINT", c.Name(), c.constraint)
		}
		if c.Shape, err = p.server.indexShape(ctx, c.Name()); err != nil {
			return err
		}
		c.Action = engine.DropIndex
		c.Definition = strings.Replace(c.Definition, " INDEX ", " INDEX CONCURRENTLY ", 1)
		c.Steps = []engine.IndexStep{{SQL: []string{"DROP INDEX CONCURRENTLY " + QuoteName(c.Name())}}}
		p.out.Works = append(p.out.Works, c.IndexWork)
	}
	return nil
}

// leftovers tells of what earlier builds have left: it is removed before the
// next index of its table is built.
func (p *indexPlan) leftovers(ctx context.Context) error {
	var told []engine.Name
	for i := range p.out.Works {
		w := &p.out.Works[i]
		if slices.Contains(told, w.Table) {
			continue
		}
		told = append(told, w.Table)
		names, err := p.server.leftovers(ctx, w)
		if err != nil {
			return err
		}
		if len(names) > 0 {
			p.note("earlier builds have left %s on %s: removed unless somebody is building it just now", strings.Join(names, ", "), w.Table)
		}
	}
	return nil
}

// privileges finds out what the user lacks.
func (p *indexPlan) privileges(ctx context.Context) error {
	c := &privilegeCheck{on: p.server.on}
	c.server(ctx)
	c.ledger(ctx, false)
	var tables []engine.Name
	for i := range p.out.Works {
		w := &p.out.Works[i]
		if !slices.Contains(tables, w.Table) {
			tables = append(tables, w.Table)
			c.ownIndexed(ctx, w.Table)
		}
		if w.Action == engine.CreateIndex {
			c.schema(ctx, w.Table.Schema)
		}
	}
	return c.verdict()
}
