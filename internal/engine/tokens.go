package engine

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Token is a piece of an SQL text: a word, a quoted name, a string, a symbol.
type Token struct {
	Kind TokenKind
	// Text is the word as it is written, the name without its quotes, and
	// otherwise the source.
	Text       string
	Start, End int // in the source
	Depth      int // of parentheses around it; of a parenthesis, those around it and itself
}

// TokenKind says what a token is.
type TokenKind int

// The kinds of tokens.
const (
	WordToken TokenKind = iota
	NameToken           // quoted
	StringToken
	SymbolToken // any other single character
)

// Is reports whether the token is one of the words, in any case.
func (t Token) Is(words ...string) bool {
	for _, w := range words {
		if t.Kind == WordToken && strings.EqualFold(t.Text, w) || t.Kind == SymbolToken && t.Text == w {
			return true
		}
	}
	return false
}

// Tokens cuts a piece of SQL into its tokens; comments are none. It is enough to
// tell what stands where, not to understand it. What is not closed, and a
// semicolon, is an error.
func Tokens(text string, dialect Dialect) ([]Token, error) {
	l := &lexer{text: text, mysql: dialect == MySQLDialect}
	for l.at < len(text) {
		if err := l.next(); err != nil {
			return nil, err
		}
	}
	if l.depth > 0 {
		return nil, fmt.Errorf("a parenthesis is not closed")
	}
	return l.found, nil
}

// Actions splits tokens at the commas outside of parentheses.
func Actions(tokens []Token) [][]Token {
	var list [][]Token
	from := 0
	for i, t := range tokens {
		if t.Depth == 0 && t.Is(",") {
			list = append(list, tokens[from:i])
			from = i + 1
		}
	}
	return append(list, tokens[from:])
}

type lexer struct {
	text  string
	mysql bool
	at    int
	depth int
	found []Token
}

func (l *lexer) add(kind TokenKind, text string, length int) {
	l.found = append(l.found, Token{Kind: kind, Text: text, Start: l.at, End: l.at + length, Depth: l.depth})
	l.at += length
}

func (l *lexer) next() error {
	rest := l.text[l.at:]
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case unicode.IsSpace(r):
		l.at += size
	case strings.HasPrefix(rest, "--") || l.mysql && r == '#':
		l.at += lineLength(rest)
	case strings.HasPrefix(rest, "/*"):
		return l.comment(rest)
	case r == '\'' || l.mysql && r == '"':
		return l.quoted(StringToken, rest, byte(r), l.mysql || l.escapes())
	case r == '"' || l.mysql && r == '`':
		return l.quoted(NameToken, rest, byte(r), false)
	case r == '$' && !l.mysql && dollarTag(rest) != "":
		return l.dollar(rest, dollarTag(rest))
	case unicode.IsLetter(r) || r == '_':
		l.add(WordToken, word(rest), len(word(rest)))
	case r == '(' || r == '[':
		l.depth++
		l.add(SymbolToken, string(r), size)
	case r == ')' || r == ']':
		if l.depth == 0 {
			return fmt.Errorf("a %c closes what was not opened", r)
		}
		l.add(SymbolToken, string(r), size)
		l.depth--
	case r == ';':
		return fmt.Errorf("a semicolon: it has to be one ALTER TABLE")
	default:
		l.add(SymbolToken, string(r), size)
	}
	return nil
}

// escapes reports whether the string that begins here is PostgreSQL's E'…'.
func (l *lexer) escapes() bool {
	if len(l.found) == 0 {
		return false
	}
	last := l.found[len(l.found)-1]
	return last.Is("E") && last.End == l.at
}

func (l *lexer) comment(rest string) error {
	if l.mysql && (strings.HasPrefix(rest, "/*!") || strings.HasPrefix(rest, "/*M!")) {
		return fmt.Errorf("a comment that the server executes: write it without /*! … */")
	}
	end := strings.Index(rest[2:], "*/")
	if end < 0 {
		return fmt.Errorf("a comment is not closed")
	}
	if strings.Contains(rest[2:2+end], "/*") {
		return fmt.Errorf("a comment in a comment")
	}
	l.at += 2 + end + 2
	return nil
}

func (l *lexer) quoted(kind TokenKind, rest string, quote byte, escapes bool) error {
	var b strings.Builder
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == quote && i+1 < len(rest) && rest[i+1] == quote:
			i++
			b.WriteByte(quote)
		case c == quote:
			text := rest[:i+1]
			if kind == NameToken {
				text = b.String()
			}
			l.add(kind, text, i+1)
			return nil
		case c == '\\' && escapes && i+1 < len(rest):
			i++
		default:
			b.WriteByte(c)
		}
	}
	return fmt.Errorf("a %c is not closed", quote)
}

func (l *lexer) dollar(rest, tag string) error {
	end := strings.Index(rest[len(tag):], tag)
	if end < 0 {
		return fmt.Errorf("a %s is not closed", tag)
	}
	length := end + 2*len(tag)
	l.add(StringToken, rest[:length], length)
	return nil
}

func dollarTag(rest string) string {
	end := strings.IndexByte(rest[1:], '$')
	if end < 0 {
		return ""
	}
	for i, r := range rest[1 : 1+end] {
		if !unicode.IsLetter(r) && r != '_' && (i == 0 || !unicode.IsDigit(r)) {
			return ""
		}
	}
	return rest[:end+2]
}

func word(rest string) string {
	end := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '$' })
	if end < 0 {
		return rest
	}
	return rest[:end]
}

func lineLength(rest string) int {
	if end := strings.IndexByte(rest, '\n'); end >= 0 {
		return end
	}
	return len(rest)
}
