// Package engine holds what the database engines have in common: how a table
// looks, what a key is, and how rows and transactions are handed over. The
// engines themselves are in engine/mysql (MySQL and MariaDB) and
// engine/postgres, with the same file names in both.
//
// It promises that nothing in here depends on an engine. Types are named as
// the server itself names them; what one engine's type becomes on another is
// the codec package's business.
package engine

import (
	"errors"
	"strings"
)

// ErrNoTable is wrapped by the error for a table that does not exist (or that
// the user may not see).
var ErrNoTable = errors.New("no such table")

// Name is a table's name. On MySQL and MariaDB the schema is the database.
type Name struct {
	Schema string `json:"schema"`
	Table  string `json:"table"`
}

func (n Name) String() string {
	if n.Schema == "" {
		return n.Table
	}
	return n.Schema + "." + n.Table
}

// ParseName reads schema.table, or a table alone.
func ParseName(text string) Name {
	if schema, table, found := strings.Cut(text, "."); found {
		return Name{Schema: schema, Table: table}
	}
	return Name{Table: text}
}

// Identity tells which server and database a connection reaches.
type Identity struct {
	Flavor  string `json:"flavor"`  // mysql, mariadb, postgres
	Version string `json:"version"` // as the server says it
	// ID stays the same as long as it is the same data: server_uuid, system
	// identifier and database oid.
	ID       string `json:"id"`
	Database string `json:"database"`
}

// Table is a table as its server describes it.
type Table struct {
	Name    Name     `json:"name"`
	Columns []Column `json:"columns"`
	// Key are the columns, in order, of the key that ranges are cut by: the
	// primary key, or else a unique key without NULLs. Empty when there is none
	// that can be used, and then KeyProblem says why.
	Key         []string     `json:"key"`
	KeyName     string       `json:"key_name,omitempty"`
	KeyProblem  string       `json:"key_problem,omitempty"`
	Indexes     []Index      `json:"indexes,omitempty"` // the primary key first
	ForeignKeys []ForeignKey `json:"foreign_keys,omitempty"`
	Checks      []Check      `json:"checks,omitempty"`
	Comment     string       `json:"comment,omitempty"`
	// NextIdentity is the next value of the identity column, 0 when there is none.
	NextIdentity uint64 `json:"next_identity,omitempty"`
	// Rows and Bytes are the server's estimates.
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
	// Triggers are names of triggers on the table.
	Triggers []string `json:"triggers,omitempty"`
	// Partitioned tables are read and written as one table.
	Partitioned bool `json:"partitioned,omitempty"`
}

// Column returns the named column, nil when there is none.
func (t *Table) Column(name string) *Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}

// Column is a column as its server describes it.
type Column struct {
	Name string `json:"name"`
	Type Type   `json:"type"`
	// Nullable columns may hold NULL.
	Nullable bool     `json:"nullable"`
	Default  *Default `json:"default,omitempty"`
	Identity bool     `json:"identity,omitempty"` // AUTO_INCREMENT, identity, serial
	// Generated is the expression of a generated column; such a column cannot
	// be written.
	Generated string `json:"generated,omitempty"`
	Stored    bool   `json:"stored,omitempty"` // a generated column that is stored
	// OnUpdateNow marks MySQL's ON UPDATE CURRENT_TIMESTAMP.
	OnUpdateNow bool   `json:"on_update_now,omitempty"`
	Invisible   bool   `json:"invisible,omitempty"`
	Comment     string `json:"comment,omitempty"`
}

// Type is a column's type.
type Type struct {
	// Full is the type as the server writes it: int(10) unsigned, numeric(12,2).
	Full string `json:"full"`
	// Base is the bare lower-case name: int, numeric, varchar, timestamp.
	// PostgreSQL's are the names of pg_type without the schema (int4, bpchar,
	// timestamptz, _text for an array); an enum or domain is named by its own name.
	Base     string `json:"base"`
	Unsigned bool   `json:"unsigned,omitempty"`
	// Length in characters, of binary types in bytes, of bit types in bits; 0 for none.
	Length    int64 `json:"length,omitempty"`
	Precision int   `json:"precision,omitempty"` // digits of a decimal
	Scale     int   `json:"scale,omitempty"`     // of a decimal; fractional digits of a time: see Fraction
	// Fraction is the number of fractional digits of seconds, -1 when not a time type.
	Fraction  int      `json:"fraction"`
	Values    []string `json:"values,omitempty"` // of an enum or set
	Charset   string   `json:"charset,omitempty"`
	Collation string   `json:"collation,omitempty"`
	// JSON marks a MariaDB JSON column, which is a longtext with a check.
	JSON bool `json:"json,omitempty"`
	// SRID of a geometry.
	SRID *uint32 `json:"srid,omitempty"`
}

// Default is a column's default.
type Default struct {
	// Text is the literal's value, unquoted, or the expression.
	Text       string `json:"text"`
	Expression bool   `json:"expression,omitempty"`
}

// Index is an index or the primary key.
type Index struct {
	Name    string      `json:"name"`
	Parts   []IndexPart `json:"parts"`
	Unique  bool        `json:"unique,omitempty"`
	Primary bool        `json:"primary,omitempty"`
	// Method is the kind of index, lower-case: btree, hash, fulltext, spatial, gin …
	Method    string `json:"method"`
	Invisible bool   `json:"invisible,omitempty"`
	Predicate string `json:"predicate,omitempty"` // of a partial index
	Comment   string `json:"comment,omitempty"`
	// Definition is the whole statement where the server gives it (PostgreSQL).
	Definition string `json:"definition,omitempty"`
}

// IndexPart is a column of an index, a prefix of one, or an expression.
type IndexPart struct {
	Column     string `json:"column,omitempty"`
	Prefix     int64  `json:"prefix,omitempty"` // characters; 0 for the whole column
	Expression string `json:"expression,omitempty"`
	Descending bool   `json:"descending,omitempty"`
}

// ForeignKey is a reference to another table.
type ForeignKey struct {
	Name       string   `json:"name"`
	Columns    []string `json:"columns"`
	Ref        Name     `json:"ref"`
	RefColumns []string `json:"ref_columns"`
	OnDelete   string   `json:"on_delete,omitempty"` // NO ACTION, RESTRICT, CASCADE, SET NULL, SET DEFAULT
	OnUpdate   string   `json:"on_update,omitempty"`
}

// Check is a check constraint.
type Check struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}
