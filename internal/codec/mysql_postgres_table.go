package codec

import (
	"fmt"
	"slices"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/engine/postgres"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Limits of PostgreSQL.
const (
	maxNameBytes = 63
	maxColumns   = 1600
	// lastOfSequence is the last value that a sequence can give out.
	lastOfSequence = 1<<63 - 1
)

// Options are what MapTable cannot see in the table itself.
type Options struct {
	// Target tells for every table of the migration where it goes. A foreign
	// key to a table that is not among them is left out.
	Target map[engine.Name]engine.Name
}

// Note tells a human what is changed or left out on the target.
type Note struct {
	Column string // empty when it is not about one column
	Text   string
}

func (n Note) String() string {
	if n.Column == "" {
		return n.Text
	}
	return "column " + n.Column + ": " + n.Text
}

// MapTable makes the target's table, named to, for a table of a MySQL or
// MariaDB server: columns with types, nullability, defaults and identity,
// primary key, indexes, foreign keys, checks, comments. Names stay as they
// are. What is changed or left out is in the notes; what cannot be copied is
// an error of class config that names all of it. srcFlavor is the source's
// (engine.Identity).
func MapTable(src *engine.Table, srcFlavor string, to engine.Name, opts Options) (*engine.Table, []Note, error) {
	if err := checkFlavor(src, srcFlavor); err != nil {
		return nil, nil, err
	}
	m := &mapping{src: src, opts: opts, dst: &engine.Table{
		Name: to, Key: slices.Clone(src.Key), KeyProblem: src.KeyProblem, Comment: src.Comment, Rows: src.Rows, Bytes: src.Bytes,
	}}
	m.checkNames()
	for i := range src.Columns {
		m.column(&src.Columns[i])
	}
	if len(m.problems) > 0 {
		return nil, nil, fault.About(src.Name.String(), task.Config, "%s", strings.Join(m.problems, "; "))
	}
	m.collations()
	m.indexes()
	m.foreignKeys()
	m.checks()
	if src.Partitioned {
		m.note("", "the partitions become one table")
	}
	if len(src.Triggers) > 0 {
		m.note("", "triggers are left out: %s", strings.Join(src.Triggers, ", "))
	}
	return m.dst, m.notes, nil
}

// mapping is one call of MapTable.
type mapping struct {
	src, dst *engine.Table
	opts     Options
	notes    []Note
	problems []string
	// names that constraints and indexes of this table have already.
	names map[string]bool
}

func (m *mapping) note(column, format string, args ...any) {
	m.notes = append(m.notes, Note{Column: column, Text: fmt.Sprintf(format, args...)})
}

func (m *mapping) problem(format string, args ...any) {
	m.problems = append(m.problems, fmt.Sprintf(format, args...))
}

func (m *mapping) checkNames() {
	for _, name := range []string{m.dst.Name.Schema, m.dst.Name.Table} {
		if len(name) > maxNameBytes {
			m.problem("%s: the name %s has %d bytes, PostgreSQL takes %d: choose another one with `to:`", m.src.Name, name, len(name), maxNameBytes)
		}
	}
	if n := len(m.src.Columns); n > maxColumns {
		m.problem("%s has %d columns, PostgreSQL takes %d", m.src.Name, n, maxColumns)
	}
	for i := range m.src.Columns {
		name := m.src.Columns[i].Name
		switch {
		case len(name) > maxNameBytes:
			m.problem("%s.%s: the column's name has %d bytes, PostgreSQL takes %d: rename it on the source", m.src.Name, name, len(name), maxNameBytes)
		case slices.Contains(systemColumns, name):
			m.problem("%s.%s: every table of PostgreSQL has a system column of that name: rename it on the source", m.src.Name, name)
		}
	}
}

var systemColumns = []string{"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}

func (m *mapping) column(src *engine.Column) {
	mapped, known := mapType(&src.Type)
	if !known {
		m.problem("%s: %s.%s (%s)", unsupported(&src.Type), m.src.Name, src.Name, src.Type.Full)
		return
	}
	dst := engine.Column{Name: src.Name, Type: mapped, Nullable: src.Nullable, Comment: src.Comment}
	if _, _, why := choose(&src.Type, &mapped); why != "" {
		m.problem("%s.%s (%s): %s", m.src.Name, src.Name, src.Type.Full, why)
		return
	}
	m.identity(src, &dst)
	if !dst.Identity && src.Generated == "" {
		m.columnDefault(src, &dst)
	}
	m.domain(src)
	m.columnNotes(src)
	m.dst.Columns = append(m.dst.Columns, dst)
}

func (m *mapping) identity(src, dst *engine.Column) {
	switch {
	case !src.Identity:
		return
	case m.src.NextIdentity > lastOfSequence+1:
		m.note(src.Name, "AUTO_INCREMENT is left out: it has come to %d, and PostgreSQL's sequences end at %d; give %s a default before new rows are written",
			m.src.NextIdentity, uint64(lastOfSequence), src.Name)
		return
	}
	dst.Identity = true
	m.dst.NextIdentity = m.src.NextIdentity
	if postgresBits[dst.Type.Base] == 0 {
		m.note(src.Name, "it counts on from a sequence, which ends at %d: %s cannot be an identity column", uint64(lastOfSequence), dst.Type.Full)
	}
}

// domain keeps a column to the values that its MySQL type allows where the
// mapped type allows more.
func (m *mapping) domain(src *engine.Column) {
	literals := func(values []string) string {
		quoted := make([]string, len(values))
		for i, value := range values {
			quoted[i] = postgres.QuoteLiteral(value)
		}
		return strings.Join(quoted, ", ")
	}
	column := postgres.Quote(src.Name)
	var expression string
	switch src.Type.Base {
	case "enum":
		values := slices.Clone(src.Type.Values)
		if !slices.Contains(values, "") {
			values = append(values, "") // the error value
		}
		expression = column + " IN (" + literals(values) + ")"
	case "set":
		expression = column + " <@ ARRAY[" + literals(src.Type.Values) + "]::text[]"
	default:
		return
	}
	m.dst.Checks = append(m.dst.Checks, engine.Check{Name: m.uniqueName(m.dst.Name.Table + "_" + src.Name + "_check"), Expression: expression})
}

func (m *mapping) columnNotes(src *engine.Column) {
	if src.Generated != "" {
		m.note(src.Name, "it becomes a plain column with the values it has: the expression %s is of the source's dialect", src.Generated)
	}
	if src.OnUpdateNow {
		m.note(src.Name, "ON UPDATE CURRENT_TIMESTAMP is left out: the application, or a trigger, has to do it")
	}
	if src.Invisible {
		m.note(src.Name, "it is invisible on the source and visible on the target")
	}
	if strings.Contains(src.Type.Full, "zerofill") {
		m.note(src.Name, "zerofill is left out: the value is the same, its leading zeros are not shown")
	}
	if src.Type.Base == "enum" {
		m.note(src.Name, "it sorts by its text, not by the order of the enum's values")
	}
}

// collations notes which text is compared in another way on the target.
func (m *mapping) collations() {
	columns := map[string][]string{}
	for i := range m.src.Columns {
		if c := &m.src.Columns[i]; folds(c) {
			columns[c.Type.Collation] = append(columns[c.Type.Collation], c.Name)
		}
	}
	names := make([]string, 0, len(columns))
	for name := range columns {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		m.note("", "text is compared and sorted by the target's collation, with case and accents, not by %s: %s", name, strings.Join(columns[name], ", "))
	}
}

// folds reports whether a column holds text whose collation takes different
// texts for the same.
func folds(c *engine.Column) bool {
	switch {
	case c.Type.Collation == "", c.Type.JSON, c.Type.Base == "json":
		return false
	}
	return !strings.HasSuffix(c.Type.Collation, "_bin") && c.Type.Collation != "binary"
}

// uniqueName makes a name for a constraint or an index, unique in this table.
func (m *mapping) uniqueName(base string) string {
	if m.names == nil {
		m.names = map[string]bool{}
	}
	name := postgres.UniqueName(base, func(name string) bool { return m.names[name] })
	m.names[name] = true
	return name
}
