package spec

import (
	"regexp"
	"strings"

	"godwit/internal/document"
)

// SQLSpec is the part of a spec that belongs to kind: sql: a statement that is run
// once, a query whose answer has to be the expected one, or both in one transaction.
type SQLSpec struct {
	// Database is the name of the connection, known to the worker only.
	Database string `json:"database" jsonschema:"required,pattern=^[A-Za-z0-9_-]+$"`
	// Statement is an SQL statement, or a list that is run in one transaction.
	Statement Statements `json:"statement,omitempty"`
	// Query has one row of one column as its result. With a statement it is run
	// after it, in its transaction: when the answer is another one, the statement
	// has not happened. One that MySQL or MariaDB commits by itself has, and stays.
	Query string `json:"query,omitempty"`
	// Expect is the query's result; by default 0.
	Expect Scalar `json:"expect" jsonschema:"default=0"`
	// Undo is the statement that takes the other one back, or a list of them; without
	// it, there is no way back.
	Undo Statements `json:"undo,omitempty"`
	// LockTimeout is how long a statement waits for a lock before it is tried again;
	// by default 5s.
	LockTimeout Duration `json:"lock_timeout" jsonschema:"default=5s"`
	// KeepOld is how long a rollback stays possible, where there is an undo; by
	// default 24h, and 0 for not at all.
	KeepOld *Duration `json:"keep_old,omitempty" jsonschema:"default=24h"`
}

func (s *SQLSpec) title() string {
	text := s.Query
	if len(s.Statement) > 0 {
		text = s.Statement[0]
	}
	const most = 60
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return s.Database + ": " + text
}

// transactional are the words that begin statements about transactions, also behind
// comments; among is one of them behind another statement in the same text, which a
// body of statements has for its own reasons.
var (
	transactional = regexp.MustCompile(`(?is)^` + asides + `(begin|start\s+transaction|commit|rollback|savepoint|release|end|abort)\b`)
	among         = regexp.MustCompile(`(?is);` + asides + `(begin|start\s+transaction|commit|rollback|end|abort)\b`)
	// executed is a comment that MySQL and MariaDB run: nothing says what it begins.
	executed = regexp.MustCompile(`(?is)^` + asides + `/\*M?!`)
	body     = regexp.MustCompile(`(?is)^` + asides + `(do|create\b.*?\b(function|procedure|trigger|event|package))\b`)
)

const asides = `(?:\s|/\*.*?\*/|--[^\n]*\n|#[^\n]*\n)*`

func (s *SQLSpec) check(found *document.Mistakes) {
	checkConnection(found, "database", s.Database)
	if len(s.Statement) == 0 && strings.TrimSpace(s.Query) == "" {
		found.Add("statement", "is missing: give a statement, a query, or both")
	}
	if len(s.Undo) > 0 && len(s.Statement) == 0 {
		found.Add("undo", "there is no statement that it could take back")
	}
	if s.LockTimeout <= 0 {
		found.Add("lock_timeout", "must be longer than 0: it is how long a lock is waited for")
	}
	checkSQL(found, "query", s.Query)
	checkStatements(found, "statement", s.Statement)
	checkStatements(found, "undo", s.Undo)
}

// checkStatements refuses what would not be run in the one transaction.
func checkStatements(found *document.Mistakes, field string, list Statements) {
	for i, text := range list {
		at := field
		if len(list) > 1 {
			at = document.Item(field, i)
		}
		checkSQL(found, at, text)
		switch {
		case strings.TrimSpace(text) == "":
			found.Add(at, "is empty")
		case executed.MatchString(text):
			found.Add(at, "must not begin with a comment that the server runs (/*! … */): write out what is in it")
		case transactional.MatchString(text), among.MatchString(text) && !body.MatchString(text):
			found.Add(at, "must not begin or end a transaction: all statements are run in one, with the line in the ledger that says so")
		}
	}
}
