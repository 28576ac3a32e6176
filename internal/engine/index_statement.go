package engine

import (
	"fmt"
	"strings"
)

// IndexStatement is a CREATE INDEX statement of a user's, cut into its parts.
type IndexStatement struct {
	// Kind is what is between CREATE and INDEX: UNIQUE, FULLTEXT …; mostly empty.
	Kind  string
	Name  string
	Table Name // without a schema where the statement has none
	// Using is what is between the names, as MySQL allows it, and Rest what
	// follows the table.
	Using, Rest string
}

// ReadIndexStatement cuts a CREATE INDEX statement. How it is built, and what
// if it is there already, is for Godwit to say: words about that are refused.
func ReadIndexStatement(text string, dialect Dialect) (*IndexStatement, error) {
	text = strings.TrimRight(text, "; \t\r\n")
	tokens, err := Tokens(text, dialect)
	if err != nil {
		return nil, err
	}
	r := &indexReader{text: text, tokens: tokens, fold: dialect == PostgresDialect}
	return r.read()
}

type indexReader struct {
	text   string
	tokens []Token
	at     int
	fold   bool // names without quotes are in lower case
}

func (r *indexReader) is(words ...string) bool {
	return r.at < len(r.tokens) && r.tokens[r.at].Is(words...)
}

// skip goes past a word if it is there.
func (r *indexReader) skip(word string) bool {
	there := r.is(word)
	if there {
		r.at++
	}
	return there
}

func (r *indexReader) name() (string, error) {
	if r.at >= len(r.tokens) {
		return "", fmt.Errorf("it ends where a name should be")
	}
	t := r.tokens[r.at]
	r.at++
	switch {
	case t.Kind == NameToken:
		return t.Text, nil
	case t.Kind == WordToken && r.fold:
		return strings.ToLower(t.Text), nil
	case t.Kind == WordToken:
		return t.Text, nil
	}
	return "", fmt.Errorf("%q is where a name should be", t.Text)
}

func (r *indexReader) read() (*IndexStatement, error) {
	s := &IndexStatement{}
	if !r.skip("CREATE") {
		return nil, fmt.Errorf("it is no CREATE INDEX statement")
	}
	for r.is("UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR") {
		s.Kind = strings.ToUpper(r.tokens[r.at].Text)
		r.at++
	}
	if !r.skip("INDEX") {
		return nil, fmt.Errorf("it is no CREATE INDEX statement")
	}
	r.skip("CONCURRENTLY") // it is built so in any case
	if r.is("IF") {
		return nil, fmt.Errorf("IF NOT EXISTS takes an index that is invalid, or another one, for the one that is wanted: leave it out")
	}
	if r.is("ON") {
		return nil, fmt.Errorf("the index has no name: give it one")
	}
	var err error
	if s.Name, err = r.name(); err != nil {
		return nil, err
	}
	if from := r.at; !r.is("ON") { // USING BTREE
		for r.at < len(r.tokens) && !r.is("ON") {
			r.at++
		}
		if r.at == len(r.tokens) {
			return nil, fmt.Errorf("there is no ON with the table's name")
		}
		s.Using = r.text[r.tokens[from].Start:r.tokens[r.at-1].End]
	}
	r.at++
	return s, r.table(s)
}

func (r *indexReader) table(s *IndexStatement) (err error) {
	if r.is("ONLY") {
		return fmt.Errorf("ON ONLY leaves an index without its parts: leave ONLY out")
	}
	if s.Table.Table, err = r.name(); err != nil {
		return err
	}
	if r.skip(".") {
		s.Table.Schema = s.Table.Table
		if s.Table.Table, err = r.name(); err != nil {
			return err
		}
	}
	if r.at == len(r.tokens) {
		return fmt.Errorf("it does not say of which columns")
	}
	for _, t := range r.tokens[r.at:] {
		if t.Depth == 0 && t.Is("ALGORITHM", "LOCK", "WAIT", "NOWAIT") {
			return fmt.Errorf("%s is for Godwit to say: leave it out", t.Text)
		}
	}
	s.Rest = r.text[r.tokens[r.at].Start:]
	return nil
}
