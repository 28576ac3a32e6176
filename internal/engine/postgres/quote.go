package postgres

import (
	"strings"

	"godwit/internal/engine"
)

// Quote writes an identifier so that the server takes it as it is.
func Quote(ident string) string {
	return `"` + strings.ReplaceAll(ident, `"`, `""`) + `"`
}

// QuoteLiteral writes a text as a string literal, whatever the setting of
// standard_conforming_strings. A text with a zero byte cannot be one.
func QuoteLiteral(text string) string {
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if strings.Contains(text, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

// QuoteName writes a table's name with its schema.
func QuoteName(name engine.Name) string {
	if name.Schema == "" {
		return Quote(name.Table)
	}
	return Quote(name.Schema) + "." + Quote(name.Table)
}

// quoteList writes identifiers with commas between them.
func quoteList(idents []string) string {
	quoted := make([]string, len(idents))
	for i, ident := range idents {
		quoted[i] = Quote(ident)
	}
	return strings.Join(quoted, ", ")
}
