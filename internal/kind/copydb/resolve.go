package copydb

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// wanted is a table that the spec asks for.
type wanted struct {
	source, target engine.Name
	where          string
}

// defaultSchema is where tables go whose database the spec does not name.
const defaultSchema = "public"

// resolver finds the tables that the entries of a spec mean.
type resolver struct {
	dbs    *databases
	tables map[string][]engine.Name // of the source, by schema
	found  []wanted
}

// resolve returns the tables of the spec in the order of its entries, those
// of a pattern in the order of the source.
func resolve(ctx context.Context, dbs *databases, s *spec.CopySpec) ([]wanted, error) {
	r := &resolver{dbs: dbs, tables: map[string][]engine.Name{}}
	entries := s.Tables
	if len(entries) == 0 {
		entries = []spec.TableSpec{{Name: "*"}}
	}
	for _, entry := range entries {
		if err := r.add(ctx, entry); err != nil {
			return nil, err
		}
	}
	if len(r.found) == 0 {
		return nil, fault.New(task.Config, "tables: the patterns match no table of connection %s; look at what is there with SHOW TABLES", s.Source)
	}
	return r.found, r.collisions()
}

func (r *resolver) add(ctx context.Context, entry spec.TableSpec) error {
	pattern, exclude := strings.CutPrefix(entry.Name, "!")
	name := engine.ParseName(pattern)
	target := engine.Name{Schema: name.Schema}
	if name.Schema == "" {
		name.Schema, target.Schema = r.dbs.fromConn.Database(), defaultSchema
		if name.Schema == "" {
			return fault.New(task.Config, "table %q names no database, and neither does the URL of connection %s: write database.%s", entry.Name, r.dbs.fromConn.Name, entry.Name)
		}
	}
	tables, err := r.schema(ctx, name.Schema)
	if err != nil {
		return err
	}
	if exclude {
		r.found = slices.DeleteFunc(r.found, func(w wanted) bool { return w.source.Schema == name.Schema && matches(name.Table, w.source.Table) })
		return nil
	}
	before := len(r.found)
	for _, table := range tables {
		if !matches(name.Table, table.Table) || r.has(table) {
			continue
		}
		target.Table = table.Table
		w := wanted{source: table, target: target, where: entry.Where}
		if entry.To != "" {
			if w.target = engine.ParseName(entry.To); w.target.Schema == "" {
				w.target.Schema = defaultSchema
			}
		}
		r.found = append(r.found, w)
	}
	if before == len(r.found) && !strings.ContainsAny(name.Table, "*?[") && !r.has(name) {
		return noTable(name, r.dbs.fromConn.Name, tables)
	}
	return nil
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return pattern == name || err == nil && ok
}

func (r *resolver) has(name engine.Name) bool {
	return slices.ContainsFunc(r.found, func(w wanted) bool { return w.source == name })
}

func (r *resolver) schema(ctx context.Context, schema string) ([]engine.Name, error) {
	if tables, known := r.tables[schema]; known {
		return tables, nil
	}
	tables, err := r.dbs.from.Tables(ctx, schema)
	if err != nil {
		return nil, err
	}
	if len(tables) == 0 {
		return nil, fault.New(task.Config, "database %s on connection %s has no tables, does not exist, or its user may not see it", schema, r.dbs.fromConn.Name)
	}
	r.tables[schema] = tables
	return tables, nil
}

// noTable names the nearest table that exists.
func noTable(name engine.Name, connection string, tables []engine.Name) error {
	nearest, distance := "", len(name.Table)/2+2
	for _, t := range tables {
		if d := levenshtein.ComputeDistance(strings.ToLower(name.Table), strings.ToLower(t.Table)); d < distance {
			nearest, distance = t.String(), d
		}
	}
	hint := "look at what is there with SHOW TABLES"
	if nearest != "" {
		hint = "did you mean " + nearest + "?"
	}
	return fault.About(name.String(), task.Config, "there is no table %s on connection %s (or its user may not see it); %s", name, connection, hint)
}

// collisions refuses two sources that would go into one target.
func (r *resolver) collisions() error {
	targets := map[engine.Name]engine.Name{}
	for _, w := range r.found {
		if other, taken := targets[w.target]; taken {
			return fault.About(w.target.String(), task.Config, "both %s and %s would be copied to %s: give one of them another name with `to:`", other, w.source, w.target)
		}
		targets[w.target] = w.source
	}
	return nil
}
