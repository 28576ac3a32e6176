package engine

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Blocker is a session whose transaction has, or may have, a lock on a table,
// so that a change of the table's definition has to wait for it.
type Blocker struct {
	// ID is the session's name for EndBlocker; a prepared transaction has none.
	ID   string
	User string
	// Age of its transaction; negative where the server does not show it.
	Age time.Duration
	// Waits says that it waits for a lock on the table itself.
	Waits bool
	// Statement is its last one, cut to some length.
	Statement string
	// Changed is how many rows its transaction has changed; -1 where that cannot be known.
	Changed int64
	// Protected says why it must never be ended; empty where it may.
	Protected string
	// Guessed says that the server does not tell whose the table's locks are: it
	// is a transaction that may have one.
	Guessed bool
}

// mostStatement is how much is shown of a statement, in characters.
const mostStatement = 200

// ShortStatement is a statement in one line, long literals and its end left
// out: it may be of any length, and be about anything.
func ShortStatement(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if runes := []rune(text); len(runes) > mostStatement {
		return string(runes[:mostStatement]) + "…"
	}
	return text
}

// String says who it is: session 42 of app, for 12s: UPDATE orders …
func (b Blocker) String() string {
	var s strings.Builder
	if b.ID == "" {
		s.WriteString(b.Protected)
	} else {
		id, _, _ := strings.Cut(b.ID, "@")
		s.WriteString("session " + id)
	}
	if b.User != "" {
		s.WriteString(" of " + b.User)
	}
	if b.Age >= 0 {
		fmt.Fprintf(&s, ", for %s", b.Age.Round(100*time.Millisecond))
	}
	if b.Statement != "" {
		s.WriteString(": " + b.Statement)
	}
	return s.String()
}
