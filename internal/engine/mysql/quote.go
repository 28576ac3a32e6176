package mysql

import (
	"encoding/hex"
	"errors"
	"regexp"
	"strings"

	"godwit/internal/engine"
)

// Quote quotes an identifier.
func Quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// QuoteName quotes a table's name.
func QuoteName(n engine.Name) string {
	if n.Schema == "" {
		return Quote(n.Table)
	}
	return Quote(n.Schema) + "." + Quote(n.Table)
}

// quoteText makes a string literal that means the same under every sql_mode.
func quoteText(text string) string {
	if strings.ContainsAny(text, "\\\x00\x1a") {
		return "_utf8mb4 " + quoteBytes(text)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// quoteBytes makes a literal of a binary string.
func quoteBytes(b string) string { return "X'" + hex.EncodeToString([]byte(b)) + "'" }

var numberPattern = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// quoteNumber makes an exact number of digits: a string or a parameter would
// be compared with a decimal column as a double.
func quoteNumber(digits string) (string, error) {
	if !numberPattern.MatchString(digits) {
		return "", errors.New("not a number")
	}
	return digits, nil
}

// unescape undoes what the server does to an expression before it shows it.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
			b.WriteByte(unescaped(text[i]))
		} else {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// unescaped is the byte that a letter after a backslash stands for.
func unescaped(c byte) byte {
	switch c {
	case '0':
		return 0
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'Z':
		return 0x1a
	}
	return c
}

// unquote reads the string literal that text begins with and returns what
// follows it; false when there is none.
func unquote(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, "'") {
		return "", text, false
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		next := byte(0)
		if i+1 < len(text) {
			next = text[i+1]
		}
		switch {
		case text[i] == '\\' && next != 0:
			i++
			b.WriteByte(unescaped(next))
		case text[i] == '\'' && next == '\'':
			i++
			b.WriteByte('\'')
		case text[i] == '\'':
			return b.String(), text[i+1:], true
		default:
			b.WriteByte(text[i])
		}
	}
	return "", text, false
}
