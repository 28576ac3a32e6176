package spec

import (
	"regexp"
	"strings"

	"godwit/internal/document"
)

func (b *BackfillSpec) title() string {
	if b.Table == "" {
		return b.Database
	}
	return b.Database + ": " + b.Table
}

func (b *BackfillSpec) check(found *document.Mistakes) {
	checkConnection(found, "database", b.Database)
	checkTableName(found, "table", b.Table)
	b.checkWork(found)
	if b.Chunks.Time <= 0 {
		found.Add("chunks.time", "must be longer than 0")
	}
	if b.Cutover.Timeout <= 0 {
		found.Add("cutover.timeout", "must be longer than 0: it is how long a lock is waited for")
	}
	if b.Cutover.Undo != "" && b.Cutover.SQL == "" {
		found.Add("cutover.undo", "takes cutover.sql back, which is missing")
	}
}

// checkWork finds what is wrong about what is to be done to the rows.
func (b *BackfillSpec) checkWork(found *document.Mistakes) {
	switch {
	case len(b.Set) == 0 && len(b.Statement) == 0:
		found.Add("set", "is missing: give columns and their values, or a statement")
	case len(b.Set) > 0 && len(b.Statement) > 0:
		found.Add("statement", "is given in place of set: choose one")
	case len(b.Statement) > 0:
		b.checkStatement(found)
	default:
		b.checkSet(found)
	}
}

func (b *BackfillSpec) checkSet(found *document.Mistakes) {
	for column, expr := range b.Set {
		field := document.Join("set", column)
		if strings.TrimSpace(expr) == "" {
			found.Add(field, "has no expression")
		}
		checkSQL(found, field, expr)
	}
	checkSQL(found, "where", b.Where)
	checkSQL(found, "on", b.On)
	if b.From == "" && b.On != "" {
		found.Add("on", "finds a row's partner in from, which is missing")
	}
	if b.From != "" {
		checkTableName(found, "from", b.From)
		if b.On == "" {
			found.Add("on", "is missing: the condition that finds a row's partner in from")
		}
	}
}

func (b *BackfillSpec) checkStatement(found *document.Mistakes) {
	for i, statement := range b.Statement {
		field := "statement"
		if len(b.Statement) > 1 {
			field = document.Item(field, i)
		}
		if _, err := Pieces(statement); err != nil {
			found.Add(field, "%v", err)
		}
	}
	for _, other := range []struct{ field, value string }{{"where", b.Where}, {"from", b.From}, {"on", b.On}} {
		if other.value != "" {
			found.Add(other.field, "goes with set; in a statement it is part of the SQL")
		}
	}
}

// checkSQL refuses what cannot be one expression.
func checkSQL(found *document.Mistakes, field, text string) {
	if strings.ContainsRune(text, 0) {
		found.Add(field, "has a zero byte in it")
	}
}

var tableName = regexp.MustCompile(`^[^.\s]+(\.[^.\s]+)?$`)

func checkTableName(found *document.Mistakes, field, name string) {
	switch {
	case name == "" || tableName.MatchString(name):
	case strings.ContainsAny(name, "*?"):
		found.Add(field, "must be one table, not a pattern")
	default:
		found.Add(field, "%q is not a table's name: write schema.table, or table", name)
	}
}
