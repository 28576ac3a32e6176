package postgres

import (
	"regexp"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
)

// Description is what an error says about the row that it is about.
type Description struct {
	// Line is the row's number in the load, from 1; 0 when the error names none.
	Line int64
	// Column and Value are what could not be loaded. The server cuts long
	// values and ends them with "...".
	Column, Value string
	// Constraint is the name of the one that is violated.
	Constraint string
	// Detail is the server's own; it shows the row or the key of a violation.
	Detail string
}

// copyContexts match the line that COPY adds to the end of an error's context:
//
//	COPY orders, line 3, column total: "abc"
//	COPY orders, line 3, column total: null input
//	COPY orders, line 3: "1	abc	…"
//	COPY orders, line 3
//
// A server that is set to another language writes it in that one, and only a
// superuser may ask for English: most translations keep the form and change
// the words and the quotes, Japanese and Korean have forms of their own.
var copyContexts = []*regexp.Regexp{
	regexp.MustCompile(`(?s)(?:^|\n)COPY .+?, \pL+ (\d+)(?:, \pL+ (.+?)(?:[ \x{a0}]?: (?:["«»][ \x{a0}]?(.*?)[ \x{a0}]?["«»]|[^"«»].*))?)?(?:[ \x{a0}]?: .*)?\z`),
	regexp.MustCompile(`(?s)(?:^|\n).+?のCOPY、行 (\d+)(?:、列 (.+?)(?:: (?:"(.*)"|[^"].*))?)?(?:: .*)?\z`),
	regexp.MustCompile(`(?s)(?:^|\n)(?:.+? 복사|COPY .+?), (\d+)(?:번째 줄|행)(?:, (.+?) 열(?:: (?:"(.*)"|[^"].*))?)?(?:: .*)?\z`),
}

// Describe tells what a server's error says about the row that it is about.
func Describe(err *pgconn.PgError) Description {
	d := Description{Column: err.ColumnName, Constraint: err.ConstraintName, Detail: err.Detail}
	for _, form := range copyContexts {
		m := form.FindStringSubmatch(err.Where)
		if m == nil {
			continue
		}
		d.Line, _ = strconv.ParseInt(m[1], 10, 64) // digits; more than fit are no line number
		if m[2] != "" {
			d.Column, d.Value = m[2], m[3]
		}
		break
	}
	return d
}
