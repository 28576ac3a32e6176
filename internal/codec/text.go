package codec

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

const (
	errNUL     = problem("it contains a NUL character, which PostgreSQL's text cannot hold")
	errNotUTF8 = problem("it is not valid UTF-8")
	errError   = problem("it is the empty error value, which is not a label of the target's enum")
)

// escapes has, for each byte that COPY text needs escaped, the letter after
// the backslash.
var escapes = [256]byte{'\t': 't', '\n': 'n', '\r': 'r', '\\': '\\'}

// appendText appends characters, escaped for COPY text.
func appendText(dst, raw []byte) ([]byte, error) {
	special, wide := inspect(raw)
	if wide && !utf8.Valid(raw) {
		return dst, errNotUTF8
	}
	if !special {
		return append(dst, raw...), nil
	}
	return appendEscaped(dst, raw)
}

func appendEscaped(dst, raw []byte) ([]byte, error) {
	from := 0
	for i, c := range raw {
		letter := escapes[c]
		if letter == 0 {
			if c == 0 {
				return dst, errNUL
			}
			continue
		}
		dst = append(dst, raw[from:i]...)
		dst = append(dst, '\\', letter)
		from = i + 1
	}
	return append(dst, raw[from:]...), nil
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
	blank = 0x2020202020202020
)

// inspect reports whether raw may contain a byte that needs escaping (or NUL),
// and whether it contains a byte outside of ASCII. Eight bytes at a time,
// because most values have neither.
func inspect(raw []byte) (special, wide bool) {
	var found, high uint64
	if len(raw) >= 8 {
		last := binary.LittleEndian.Uint64(raw[len(raw)-8:])
		found, high = suspects(last), last
		for ; len(raw) > 8; raw = raw[8:] {
			word := binary.LittleEndian.Uint64(raw)
			found |= suspects(word)
			high |= word
		}
	} else {
		word := shortWord(raw)
		found, high = suspects(word), word
	}
	return found&highs != 0, high&highs != 0
}

// suspects sets the top bit of each byte below 16 or equal to a backslash; a
// byte above such a one may be set as well.
func suspects(word uint64) uint64 {
	backslash := word ^ '\\'*ones
	return (word-16*ones)&^word | (backslash-ones)&^backslash
}

// shortWord is up to seven bytes as a word, filled up with blanks.
func shortWord(raw []byte) uint64 {
	switch n := len(raw); {
	case n >= 4:
		low := uint64(binary.LittleEndian.Uint32(raw))
		return low | uint64(binary.LittleEndian.Uint32(raw[n-4:]))<<32
	case n >= 2:
		low := uint64(binary.LittleEndian.Uint16(raw))
		return low | uint64(binary.LittleEndian.Uint16(raw[n-2:]))<<16 | blank>>32<<32
	case n == 1:
		return uint64(raw[0]) | blank>>8<<8
	}
	return blank
}

// appendLabel writes an enum's label for an enum of the target, which has no
// error value.
func appendLabel(dst, raw []byte, _ int) ([]byte, error) {
	if len(raw) == 0 {
		return dst, errError
	}
	return appendText(dst, raw)
}

// canonPadded is for the target's character(n), where trailing blanks are
// filling.
func canonPadded(dst, raw []byte, _ int) ([]byte, error) {
	return append(dst, bytes.TrimRight(raw, " ")...), nil
}
