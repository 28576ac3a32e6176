package postgres

import (
	"strings"

	"godwit/internal/engine"
)

// alterKind says how an action of an ALTER TABLE is carried out.
type alterKind int

const (
	plainAction   alterKind = iota // as it is, when trying it on a clone shows that it is about the catalog alone
	untriedAction                  // as it is: about the catalog alone, and about what a clone does not have
	notNullAction                  // SET NOT NULL, through a check
	checkAction                    // ADD CHECK, first NOT VALID
	foreignAction                  // ADD FOREIGN KEY, first NOT VALID
	uniqueAction                   // ADD UNIQUE, through an index
	primaryAction                  // ADD PRIMARY KEY, through an index
	validAction                    // VALIDATE CONSTRAINT, by itself
)

// alterAction is one action of an ALTER TABLE.
type alterAction struct {
	kind alterKind
	text string // as it is written
	// name of the constraint that is added or validated; empty where the server chooses it.
	name   string
	chosen bool // the name, by the server
	// body is what follows ADD and the name.
	body string
	// column that is set NOT NULL, dropped or given a type, and columns of a key.
	column     string
	columns    []string
	ref        engine.Name
	refColumns []string
	// including and deferred are what a key has besides its columns.
	including, deferred string
	// cascades says that a DROP is one with CASCADE.
	cascades bool
	drops    bool // the column
	retypes  bool // the column
	// refusal says why it is not carried out at all.
	refusal string
}

// words goes through the tokens of an action.
type words struct {
	tokens []engine.Token
	at     int
}

// eat takes the words, if they come next.
func (w *words) eat(list ...string) bool {
	if w.at+len(list) > len(w.tokens) {
		return false
	}
	for i, word := range list {
		if !w.tokens[w.at+i].Is(word) {
			return false
		}
	}
	w.at += len(list)
	return true
}

// ident takes a name.
func (w *words) ident() string {
	if w.at >= len(w.tokens) {
		return ""
	}
	t := w.tokens[w.at]
	w.at++
	if t.Kind == engine.WordToken {
		return strings.ToLower(t.Text)
	}
	if t.Kind == engine.NameToken {
		return t.Text
	}
	return ""
}

// names takes a list of names in parentheses; nil where there is something else.
func (w *words) names() []string {
	if !w.eat("(") {
		return nil
	}
	var list []string
	for {
		name := w.ident()
		if name == "" {
			return nil
		}
		list = append(list, name)
		if w.eat(")") {
			return list
		}
		if !w.eat(",") {
			return nil
		}
	}
}

// has reports whether the words come anywhere outside of parentheses.
func (w *words) has(list ...string) bool {
	for from := range w.tokens {
		look := words{w.tokens, from}
		if w.tokens[from].Depth == 0 && look.eat(list...) {
			return true
		}
	}
	return false
}

// rest is what follows, as it is written.
func (w *words) rest(alter string) string {
	if w.at >= len(w.tokens) {
		return ""
	}
	return alter[w.tokens[w.at].Start:w.tokens[len(w.tokens)-1].End]
}

// notCarriedOut are the actions that are not carried out, and why.
var notCarriedOut = []struct {
	words []string
	why   string
}{
	{[]string{"RENAME", "TO"}, "gives the table another name: that is one short statement, which needs nobody who looks after it"},
	{[]string{"SET", "SCHEMA"}, "moves the table to another schema: that is one short statement, which needs nobody who looks after it"},
	{[]string{"ATTACH", "PARTITION"}, "is about another table, which is read in full"},
	{[]string{"DETACH", "PARTITION"}, "is about another table"},
	{[]string{"SET", "TABLESPACE"}, "copies the table under a lock that keeps everybody out"},
	{[]string{"SET", "LOGGED"}, "copies the table under a lock that keeps everybody out"},
	{[]string{"SET", "UNLOGGED"}, "copies the table under a lock that keeps everybody out"},
	{[]string{"SET", "ACCESS", "METHOD"}, "copies the table under a lock that keeps everybody out"},
	{[]string{"INHERIT"}, "is about another table"},
	{[]string{"NO", "INHERIT"}, "is about another table"},
	{[]string{"OF"}, "makes the table one of a type"},
	{[]string{"NOT", "OF"}, "makes the table one of a type"},
}

// catalogOnly begin the actions about what a clone does not have: owners,
// triggers, rules, policies.
var catalogOnly = []string{"OWNER", "ENABLE", "DISABLE", "REPLICA", "FORCE", "CLUSTER"}

// parseAction reads an action as far as it decides how it is carried out.
func parseAction(alter string, tokens []engine.Token, t *engine.Table) alterAction {
	if len(tokens) == 0 {
		return alterAction{refusal: "is empty: there is a comma too many"}
	}
	a := alterAction{text: alter[tokens[0].Start:tokens[len(tokens)-1].End]}
	for _, r := range notCarriedOut {
		if w := (&words{tokens: tokens}); w.eat(r.words...) {
			a.refusal = r.why
			return a
		}
	}
	w := &words{tokens: tokens}
	switch {
	case w.eat("ADD"):
		a.add(w, alter)
	case w.eat("DROP", "CONSTRAINT"), w.eat("RENAME", "CONSTRAINT"), w.eat("ALTER", "CONSTRAINT"):
		w.eat("IF", "EXISTS")
		if isForeignKey(t, w.ident()) {
			a.kind = untriedAction
		}
	case w.eat("VALIDATE", "CONSTRAINT"):
		a.kind, a.name = validAction, w.ident()
	case w.eat("DROP"):
		w.eat("COLUMN")
		w.eat("IF", "EXISTS")
		a.column, a.drops, a.cascades = w.ident(), true, w.has("CASCADE")
	case w.eat("ALTER"):
		w.eat("COLUMN")
		a.column = w.ident()
		if w.eat("SET", "NOT", "NULL") {
			a.kind = notNullAction
		}
		a.retypes = w.eat("TYPE") || w.eat("SET", "DATA", "TYPE")
	case w.eat("NO", "FORCE"):
		a.kind = untriedAction
	default:
		for _, word := range catalogOnly {
			if w.eat(word) {
				a.kind = untriedAction
			}
		}
	}
	return a
}

func isForeignKey(t *engine.Table, name string) bool {
	for _, key := range t.ForeignKeys {
		if key.Name == name {
			return true
		}
	}
	return false
}

// add reads an ADD: of a constraint, or of a column.
func (a *alterAction) add(w *words, alter string) {
	if w.eat("CONSTRAINT") {
		a.name = w.ident()
	}
	a.body = w.rest(alter)
	switch {
	case w.eat("CHECK"):
		if !w.has("NOT", "VALID") {
			a.kind = checkAction
		}
	case w.eat("FOREIGN", "KEY"):
		a.foreign(w)
	case w.eat("UNIQUE"):
		a.key(w, alter, uniqueAction)
	case w.eat("PRIMARY", "KEY"):
		a.key(w, alter, primaryAction)
	case w.eat("EXCLUDE"):
		a.refusal = "builds an index under a lock that keeps writers out, and there is no other way to add an exclusion constraint"
	case w.has("REFERENCES"):
		a.refusal = "adds a column and a foreign key in one, which reads the table under its lock: add the column, and then, in another migration, the foreign key"
	}
}

func (a *alterAction) foreign(w *words) {
	a.kind = foreignAction
	a.columns = w.names()
	if !w.eat("REFERENCES") || a.columns == nil {
		a.refusal = "cannot be read: write FOREIGN KEY (columns) REFERENCES schema.table (columns)"
		return
	}
	a.ref.Table = w.ident()
	if w.eat(".") {
		a.ref.Schema, a.ref.Table = a.ref.Table, w.ident()
	} else {
		a.refusal = "names a table without its schema: write REFERENCES schema." + a.ref.Table
	}
	a.refColumns = w.names()
	if w.has("NOT", "VALID") {
		a.kind = untriedAction
	}
}

// key reads a unique or primary key; one that uses an index which is there is
// no matter of building one.
func (a *alterAction) key(w *words, alter string, kind alterKind) {
	if w.has("USING", "INDEX") && w.tokens[w.at].Is("USING") {
		return
	}
	a.kind = kind
	distinct := ""
	if from := w.at; w.eat("NULLS") {
		w.eat("NOT")
		w.eat("DISTINCT")
		distinct = " " + alter[w.tokens[from].Start:w.tokens[w.at-1].End]
	}
	if a.columns = w.names(); a.columns == nil {
		a.refusal = "cannot be read: write the columns of the key in parentheses"
		return
	}
	if from := w.at; w.eat("INCLUDE") && w.names() != nil {
		a.including = " " + alter[w.tokens[from].Start:w.tokens[w.at-1].End]
	}
	a.including += distinct
	if w.has("WITH") || w.has("USING", "INDEX") {
		a.refusal = "says where or how its index is stored: make the index with CREATE UNIQUE INDEX CONCURRENTLY, and add the key USING INDEX"
		return
	}
	a.deferred = w.rest(alter)
}
