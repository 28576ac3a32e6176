package mysql

import (
	"fmt"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"godwit/internal/engine"
)

const (
	// maxNameChars is the longest identifier, in characters.
	maxNameChars = 64
	// maxFileBytes is how long the name of a table's file may become: most file
	// systems end at 255, and the server adds to it.
	maxFileBytes = 230
)

// Beside names a thing that belongs to a table: the table's name and a suffix.
// One that is too long is cut and gets a hash in the place of what is left out.
// In either case it sorts after the table's own: the server locks the tables
// of a RENAME in the order of their names, and the table has to be the first.
func Beside(table engine.Name, suffix string) engine.Name {
	if fits(table.Table + suffix) {
		return engine.Name{Schema: table.Schema, Table: table.Table + suffix}
	}
	mark := fmt.Sprintf("%08x%s", uint32(xxh3.HashString(table.Table)), suffix)
	runes := []rune(table.Table)
	for n := len(runes) - 1; ; n-- {
		// What comes in the place of the next character has to sort after it.
		for _, after := range []string{"~", string(utf8.RuneError)} {
			if name := string(runes[:n]) + after + mark; n == 0 || fits(name) && after > string(runes[n]) {
				return engine.Name{Schema: table.Schema, Table: name}
			}
		}
	}
}

// Beside names a thing that belongs to a table.
func (s *Server) Beside(table engine.Name, suffix string) engine.Name { return Beside(table, suffix) }

// fits reports whether there can be a table of that name. In the name of its
// file, a character other than a letter or a digit takes five.
func fits(name string) bool {
	chars, bytes := 0, 0
	for _, r := range name {
		chars++
		bytes++
		if !(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			bytes += 4
		}
	}
	return chars <= maxNameChars && bytes <= maxFileBytes
}
