package postgres

import (
	"fmt"
	"unicode/utf8"

	"github.com/zeebo/xxh3"
)

// maxNameBytes is the longest identifier. The server cuts longer ones without
// an error, and then two names can become one.
const maxNameBytes = 63

// UniqueName returns base when it fits and is not taken. Otherwise it cuts
// base between characters and adds a hash of it, so that the same base gives
// the same name again as long as the same names are taken.
func UniqueName(base string, taken func(string) bool) string {
	if len(base) <= maxNameBytes && !taken(base) {
		return base
	}
	for seed := uint64(0); ; seed++ {
		suffix := fmt.Sprintf("_%08x", uint32(xxh3.HashStringSeed(base, seed)))
		if name := cutBytes(base, maxNameBytes-len(suffix)) + suffix; !taken(name) {
			return name
		}
	}
}

// cutBytes cuts a text to at most n bytes without breaking a character.
func cutBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
