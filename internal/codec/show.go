package codec

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/zeebo/xxh3"
)

// showLimit is how many bytes of a value are shown.
const showLimit = 200

func showPlain(raw []byte, _ int) string { return shorten(raw, showLimit, plain) }

// showText quotes a value, with escapes where something in it cannot be seen.
func showText(raw []byte, _ int) string { return shorten(raw, showLimit, quote) }

func showBytes(raw []byte, _ int) string { return shorten(raw, showLimit/2, hexadecimal) }

// showHex is showBytes for the hex form of a bytea.
func showHex(raw []byte, size int) string {
	value, err := canonHex(nil, raw, size)
	if err != nil {
		return showText(raw, size)
	}
	return showBytes(value, size)
}

func showBits(raw []byte, size int) string {
	digits, err := appendBits(nil, raw, max(size, 1))
	if err != nil {
		return showBytes(raw, size)
	}
	return string(digits)
}

func plain(value []byte) string {
	if !printable(value) {
		return quote(value)
	}
	return string(value)
}

func quote(value []byte) string {
	if !printable(value) {
		return strconv.Quote(string(value))
	}
	return "'" + strings.ReplaceAll(string(value), "'", "''") + "'"
}

func hexadecimal(value []byte) string { return fmt.Sprintf("0x%x", value) }

func printable(value []byte) bool {
	for len(value) > 0 {
		r, n := utf8.DecodeRune(value)
		if r == utf8.RuneError && n == 1 || !strconv.IsPrint(r) {
			return false
		}
		value = value[n:]
	}
	return true
}

// shorten shows the first bytes of a value. What is left out is represented
// by its length and a hash, so that two values that differ look different.
func shorten(raw []byte, limit int, form func([]byte) string) string {
	if len(raw) <= limit {
		return form(raw)
	}
	for cut := limit; cut > limit-utf8.UTFMax; cut-- {
		if utf8.RuneStart(raw[cut]) {
			limit = cut
			break
		}
	}
	return fmt.Sprintf("%s… (%s bytes, xxh3 %016x)", form(raw[:limit]), humanize.Comma(int64(len(raw))), xxh3.Hash(raw))
}
