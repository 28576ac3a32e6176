package spec

import (
	"encoding/json"
	"strings"

	"github.com/invopop/jsonschema"

	"godwit/internal/document"
)

func (r *ReindexSpec) title() string {
	switch {
	case len(r.Index) == 1:
		return r.Database + ": " + r.Index[0]
	case r.Table != "":
		return r.Database + ": " + r.Table
	case r.Schema != "":
		return r.Database + ": " + r.Schema
	}
	return r.Database
}

func (r *ReindexSpec) check(found *document.Mistakes) {
	checkConnection(found, "database", r.Database)
	checkTableName(found, "table", r.Table)
	if r.Table != "" && r.Schema != "" {
		found.Add("schema", "is given in place of table: choose one")
	}
	if strings.ContainsAny(r.Schema, ".*? ") {
		found.Add("schema", "%q is not a schema's name", r.Schema)
	}
	if r.Table == "" && r.Schema == "" && len(r.Create) == 0 {
		found.Add("table", "is missing: give a table, a schema, or an index to create")
	}
	for _, list := range []struct {
		field string
		names []string
	}{{"index", r.Index}, {"drop", r.Drop}, {"create", r.Create}} {
		for i, name := range list.names {
			field := list.field
			if len(list.names) > 1 {
				field = document.Item(field, i)
			}
			if strings.TrimSpace(name) == "" {
				found.Add(field, "is empty")
			}
			checkSQL(found, field, name)
		}
	}
	if r.Bloat != nil && len(r.Index) > 0 {
		found.Add("bloat", "picks from all indexes of a table or a schema: leave index out")
	}
	if r.Bloat != nil && len(r.Index) == 0 && len(r.Create)+len(r.Drop) > 0 {
		found.Add("bloat", "picks which indexes are rebuilt, and none is where indexes are created or dropped")
	}
	if r.Build.LockTimeout <= 0 {
		found.Add("build.lock_timeout", "must be longer than 0: it is how long a lock is waited for")
	}
	if m := r.Build.Memory; m != 0 && m < leastBuildMemory {
		found.Add("build.memory", "must be 1MiB or more")
	}
}

// leastBuildMemory is what every server takes.
const leastBuildMemory = 1 << 20

// SetText reads a single name.
func (n *Names) SetText(text string) error {
	*n = Names{text}
	return nil
}

// MarshalJSON writes a single name as such.
func (n Names) MarshalJSON() ([]byte, error) {
	if len(n) == 1 {
		return json.Marshal(n[0])
	}
	return json.Marshal([]string(n))
}

// schema allows both forms.
func (Names) schema() *jsonschema.Schema { return Statements{}.schema() }
