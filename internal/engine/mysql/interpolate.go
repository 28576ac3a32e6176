package mysql

import (
	"encoding/binary"
	"math/big"
	"slices"
	"strings"
	"time"

	"godwit/internal/engine"
)

// interpolate returns values that divide the stretch from low to high into up
// to n about equal parts, ascending, for a column of the type. They are a guess
// at where rows are, never more; none when there is no telling.
func interpolate(t engine.Type, low, high string, n int) []string {
	switch t.Base {
	case "enum":
		return between(ordinal(t.Values), low, high, n)
	case "date":
		return between(moments(time.DateOnly), low, high, n)
	case "datetime", "timestamp":
		return between(moments(time.DateTime), low, high, n)
	case "binary", "varbinary":
		return between(newBytesScale(low, high), low, high, n)
	case "char", "varchar", "uuid":
		return between(newTextScale(low, high), low, high, n)
	case "time", "inet4", "inet6":
		return nil
	}
	return between(decimals{places: t.Scale}, low, high, n)
}

// scale maps the values of a type onto whole numbers.
type scale interface {
	number(value string) (*big.Int, bool)
	value(number *big.Int) string
}

func between(s scale, low, high string, n int) []string {
	from, ok := s.number(low)
	to, also := s.number(high)
	if !ok || !also || from.Cmp(to) >= 0 {
		return nil
	}
	width := new(big.Int).Sub(to, from)
	var values []string
	for i := 1; i < n; i++ {
		at := new(big.Int).Mul(width, big.NewInt(int64(i)))
		at.Add(from, at.Quo(at, big.NewInt(int64(n))))
		if v := s.value(at); len(values) == 0 || values[len(values)-1] != v {
			values = append(values, v)
		}
	}
	return values
}

// decimals are numbers with a fixed number of decimal places.
type decimals struct{ places int }

func (s decimals) number(value string) (*big.Int, bool) {
	whole, fraction, _ := strings.Cut(value, ".")
	fraction += strings.Repeat("0", max(0, s.places-len(fraction)))
	return new(big.Int).SetString(whole+fraction, 10)
}

func (s decimals) value(number *big.Int) string {
	if s.places == 0 {
		return number.String()
	}
	digits := new(big.Int).Abs(number).String()
	digits = strings.Repeat("0", max(0, s.places+1-len(digits))) + digits
	point := len(digits) - s.places
	text := digits[:point] + "." + digits[point:]
	if number.Sign() < 0 {
		return "-" + text
	}
	return text
}

// ordinal are the values of an enum, by their number.
type ordinal []string

func (s ordinal) number(value string) (*big.Int, bool) {
	return big.NewInt(int64(slices.Index(s, value) + 1)), true // 0 for the value that is none
}

func (s ordinal) value(number *big.Int) string {
	if i := number.Int64(); i > 0 {
		return s[i-1]
	}
	return ""
}

// moments are dates in a layout, in seconds.
type moments string

func (s moments) number(value string) (*big.Int, bool) {
	value, _, _ = strings.Cut(value, ".")
	at, err := time.Parse(string(s), value)
	return big.NewInt(at.Unix()), err == nil
}

func (s moments) value(number *big.Int) string {
	return time.Unix(number.Int64(), 0).UTC().Format(string(s))
}

// bytesScale are binary strings that begin alike, by the eight bytes after that.
type bytesScale struct{ prefix string }

func newBytesScale(low, high string) bytesScale { return bytesScale{low[:commonPrefix(low, high)]} }

func (s bytesScale) number(value string) (*big.Int, bool) {
	var window [8]byte
	copy(window[:], value[len(s.prefix):])
	return new(big.Int).SetBytes(window[:]), true
}

func (s bytesScale) value(number *big.Int) string {
	return s.prefix + string(binary.BigEndian.AppendUint64(nil, number.Uint64()))
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

const allLetters = "0123456789AaBbCcDdEeFfGgHhIiJjKkLlMmNnOoPpQqRrSsTtUuVvWwXxYyZz"

// alphabets are what strings are likely to be made of: digits, hexadecimal
// numbers, letters and digits. The order is that of most collations.
var alphabets = []string{
	"0123456789", "0123456789abcdef", "0123456789ABCDEF",
	"0123456789abcdefghijklmnopqrstuvwxyz", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
	allLetters,
}

// textWindow is how many characters of a string are varied.
const textWindow = 8

// textScale are strings that begin alike, by some characters after that.
type textScale struct {
	model    string // the lower of the two strings
	places   []int  // of the characters that vary
	alphabet string // empty when there is none that fits
}

func newTextScale(low, high string) textScale {
	s := textScale{model: low}
	var used strings.Builder
	for i := commonPrefix(low, high); i < len(low) && i < len(high) && len(s.places) < textWindow; i++ {
		pair := string([]byte{low[i], high[i]})
		if strings.Trim(pair, allLetters) == "" {
			s.places = append(s.places, i)
			used.WriteString(pair)
		} else if low[i] != high[i] {
			break // unlike a hyphen in a UUID
		}
	}
	for _, alphabet := range alphabets {
		if strings.Trim(used.String(), alphabet) == "" {
			s.alphabet = alphabet
			break
		}
	}
	return s
}

func (s textScale) number(value string) (*big.Int, bool) {
	if s.alphabet == "" || len(s.places) == 0 {
		return nil, false
	}
	n, base := new(big.Int), big.NewInt(int64(len(s.alphabet)))
	for _, place := range s.places {
		n.Add(n.Mul(n, base), big.NewInt(int64(strings.IndexByte(s.alphabet, value[place]))))
	}
	return n, true
}

func (s textScale) value(number *big.Int) string {
	text := []byte(s.model)
	n, base, digit := new(big.Int).Set(number), big.NewInt(int64(len(s.alphabet))), new(big.Int)
	for i := len(s.places) - 1; i >= 0; i-- {
		n.QuoRem(n, base, digit)
		text[s.places[i]] = s.alphabet[digit.Int64()]
	}
	return string(text)
}
