package spec

import (
	"fmt"
	"regexp"
	"strings"
)

// Parameter is a named place in a statement for the range that it is run for.
type Parameter string

// The parameters.
const (
	RangeParameter Parameter = ":range" // the range as a condition
	LowParameter   Parameter = ":low"   // its first key
	HighParameter  Parameter = ":high"  // its last key
)

// Piece is a stretch of a statement: SQL as it is, or a parameter.
type Piece struct {
	Text      string    // SQL, when there is no Parameter
	Parameter Parameter // empty for SQL
	Alias     string    // of :range(alias)
}

// skipped is what a parameter does not count in: strings, quoted names,
// comments, dollar quotes, and PostgreSQL's casts (::low).
var skipped = regexp.MustCompile(`(?s)^('(?:[^'\\]|\\.|'')*'|"(?:[^"]|"")*"|` + "`(?:[^`]|``)*`" + `|--[^\n]*|/\*.*?\*/|\$([A-Za-z_]*)\$.*?\$([A-Za-z_]*)\$|::\s*\w+)`)

var parameter = regexp.MustCompile(`^:(\w+)(?:\(\s*(\w+)\s*\))?`)

// Pieces cuts a statement at its parameters. Its error is about a parameter
// that is unknown, or about none at all: the statement would do everything for
// every range.
func Pieces(statement string) ([]Piece, error) {
	var pieces []Piece
	var text strings.Builder
	found := false
	for rest := statement; rest != ""; {
		if quoted := skipped.FindString(rest); quoted != "" {
			text.WriteString(quoted)
			rest = rest[len(quoted):]
			continue
		}
		match := parameter.FindStringSubmatch(rest)
		if match == nil {
			text.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		p := Piece{Parameter: Parameter(":" + strings.ToLower(match[1])), Alias: match[2]}
		switch {
		case p.Parameter == RangeParameter:
		case p.Parameter != LowParameter && p.Parameter != HighParameter:
			return nil, fmt.Errorf("%s is not a parameter: there are :range, :range(alias), :low and :high", match[0])
		case p.Alias != "":
			return nil, fmt.Errorf("%s: only :range takes an alias", match[0])
		}
		found = true
		pieces = append(pieces, Piece{Text: text.String()}, p)
		text.Reset()
		rest = rest[len(match[0]):]
	}
	if !found {
		return nil, fmt.Errorf("has none of :range, :low and :high: it would be run for all rows, once for every range")
	}
	return append(pieces, Piece{Text: text.String()}), nil
}
