package copydb

import (
	"context"
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
	own    string // the source connection's database
	tables []engine.Name
	looked map[string]bool // schemas whose tables are known
}

// resolve returns the tables of the spec, in the order in which its entries
// bring them in. Of several entries that cover a table the last one says what
// becomes of it.
func resolve(ctx context.Context, dbs *databases, s *spec.CopySpec) ([]wanted, error) {
	r := &resolver{dbs: dbs, own: dbs.fromConn.Database(), looked: map[string]bool{}}
	entries := s.Tables
	if len(entries) == 0 {
		entries = []spec.TableSpec{{Name: "*"}}
	}
	for _, entry := range entries {
		if err := r.look(ctx, entry); err != nil {
			return nil, err
		}
	}
	var found []wanted
	for _, table := range r.tables {
		if entry := r.decisive(entries, table); entry != nil && !entry.Excludes() {
			found = append(found, r.want(entry, table))
		}
	}
	if len(found) == 0 {
		return nil, fault.New(task.Config, "tables: the patterns match no table of connection %s; look at what is there with SHOW TABLES", s.Source)
	}
	return found, collisions(found)
}

// decisive is the last entry that covers a table.
func (r *resolver) decisive(entries []spec.TableSpec, table engine.Name) *spec.TableSpec {
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Covers(table.Schema, table.Table, r.own) {
			return &entries[i]
		}
	}
	return nil
}

// want says where a table goes: by default into the schema of its database's
// name, or into the default one when the entry does not name the database.
func (r *resolver) want(entry *spec.TableSpec, table engine.Name) wanted {
	w := wanted{source: table, target: table, where: entry.Where}
	if !strings.Contains(entry.Name, ".") {
		w.target.Schema = defaultSchema
	}
	if entry.To != "" {
		if w.target = engine.ParseName(entry.To); w.target.Schema == "" {
			w.target.Schema = defaultSchema
		}
	}
	return w
}

// look lists the tables of an entry's databases. An entry that names one table
// must find it.
func (r *resolver) look(ctx context.Context, entry spec.TableSpec) error {
	if entry.Excludes() {
		return nil
	}
	name := engine.ParseName(entry.Name)
	if name.Schema == "" {
		if name.Schema = r.own; r.own == "" {
			return fault.New(task.Config, "table %q names no database, and neither does the URL of connection %s: write database.%s", entry.Name, r.dbs.fromConn.Name, entry.Name)
		}
	}
	schemas := []string{name.Schema}
	if strings.Contains(name.Schema, "*") {
		var err error
		if schemas, err = r.dbs.from.Databases(ctx); err != nil {
			return err
		}
	}
	for _, schema := range schemas {
		if r.looked[schema] || !coversSchema(entry, schema, r.own) {
			continue
		}
		tables, err := r.dbs.from.Tables(ctx, schema)
		if err != nil {
			return err
		}
		r.looked[schema] = true
		r.tables = append(r.tables, tables...)
	}
	if !entry.IsPattern() && !slices.Contains(r.tables, name) {
		return r.noTable(name)
	}
	return nil
}

// coversSchema reports whether an entry can be about tables of a database.
func coversSchema(entry spec.TableSpec, schema, own string) bool {
	name := engine.ParseName(entry.Name)
	return spec.TableSpec{Name: name.Schema + ".*"}.Covers(schema, "x", own) || name.Schema == ""
}

// noTable names the nearest table that exists.
func (r *resolver) noTable(name engine.Name) error {
	nearest, distance := "", len(name.Table)/2+2
	there := false
	for _, t := range r.tables {
		if t.Schema != name.Schema {
			continue
		}
		there = true
		if d := levenshtein.ComputeDistance(strings.ToLower(name.Table), strings.ToLower(t.Table)); d < distance {
			nearest, distance = t.String(), d
		}
	}
	hint := "look at what is there with SHOW TABLES"
	switch {
	case !there:
		hint = "database " + name.Schema + " has no tables, does not exist, or its user may not see it"
	case nearest != "":
		hint = "did you mean " + nearest + "?"
	}
	return fault.About(name.String(), task.Config, "there is no table %s on connection %s (or its user may not see it); %s", name, r.dbs.fromConn.Name, hint)
}

// collisions refuses two sources that would go into one target.
func collisions(found []wanted) error {
	targets := map[engine.Name]engine.Name{}
	for _, w := range found {
		if other, taken := targets[w.target]; taken {
			return fault.About(w.target.String(), task.Config, "both %s and %s would be copied to %s: give one of them another name with `to:`", other, w.source, w.target)
		}
		targets[w.target] = w.source
	}
	return nil
}
