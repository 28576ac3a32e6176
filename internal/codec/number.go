package codec

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"unsafe"
)

const (
	errNotBoolean = problem("the target is boolean, which takes 0 and 1 only")
	errNotBits    = problem("it has more bits than its type says")
)

// canonInteger drops the leading zeros of zerofill and YEAR.
func canonInteger(dst, raw []byte, _ int) ([]byte, error) {
	if len(raw) == 0 || raw[0] > '0' || len(raw) == 1 {
		return append(dst, raw...), nil
	}
	return appendNumber(dst, raw), nil
}

// canonDecimal drops what does not change a number's value: leading zeros,
// trailing zeros of the fraction, the sign of zero.
func canonDecimal(dst, raw []byte, _ int) ([]byte, error) {
	return appendNumber(dst, raw), nil
}

func appendNumber(dst, raw []byte) []byte {
	digits := raw
	negative := len(digits) > 0 && digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	if len(digits) == 0 || digits[0] > '9' {
		return append(dst, raw...) // NaN, Infinity
	}
	for len(digits) > 1 && digits[0] == '0' && digits[1] != '.' {
		digits = digits[1:]
	}
	if bytes.IndexByte(digits, '.') >= 0 {
		digits = bytes.TrimRight(digits, "0")
		digits = bytes.TrimSuffix(digits, []byte("."))
	}
	if negative && !(len(digits) == 1 && digits[0] == '0') {
		dst = append(dst, '-')
	}
	return append(dst, digits...)
}

// canonFloat4 and canonFloat8 are the bits of the number, so that -0 is not 0.
func canonFloat4(dst, raw []byte, _ int) ([]byte, error) {
	v, err := strconv.ParseFloat(view(raw), 32)
	if err != nil {
		return appendForeign(dst, raw), nil
	}
	if v != v {
		return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(math.NaN()))), nil
	}
	return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(v))), nil
}

func canonFloat8(dst, raw []byte, _ int) ([]byte, error) {
	v, err := strconv.ParseFloat(view(raw), 64)
	if err != nil {
		return appendForeign(dst, raw), nil
	}
	if v != v {
		v = math.NaN()
	}
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(v)), nil
}

// view is raw as a string for the length of a call, without a copy.
func view(raw []byte) string { return unsafe.String(unsafe.SliceData(raw), len(raw)) }

// appendForeign marks bytes that are not a value of the type as the other
// side can have it, so that they equal nothing but themselves: no canonical
// form starts with this byte and goes on with text of a server.
func appendForeign(dst, raw []byte) []byte {
	return append(append(dst, 0xFF), raw...)
}

func appendBoolean(dst, raw []byte, _ int) ([]byte, error) {
	if len(raw) == 1 {
		switch raw[0] {
		case '0':
			return append(dst, 'f'), nil
		case '1':
			return append(dst, 't'), nil
		}
	}
	return dst, errNotBoolean
}

// canonIntegerBoolean gives what the target says for 0 and 1, and leaves
// other numbers different from both.
func canonIntegerBoolean(dst, raw []byte, size int) ([]byte, error) {
	if out, err := appendBoolean(dst, raw, size); err == nil {
		return out, nil
	}
	return append(dst, raw...), nil
}

// appendBits writes the bytes of a BIT(size), most significant first, as
// binary digits.
func appendBits(dst, raw []byte, size int) ([]byte, error) {
	spare := len(raw)*8 - size
	if spare < 0 || spare > 7 || len(raw) > 0 && raw[0]>>(8-spare) != 0 {
		return dst, errNotBits
	}
	for i := spare; i < len(raw)*8; i++ {
		dst = append(dst, '0'+raw[i/8]>>(7-i%8)&1)
	}
	return dst, nil
}

func appendBitBoolean(dst, raw []byte, _ int) ([]byte, error) {
	if len(raw) == 1 && raw[0] <= 1 {
		return append(dst, "ft"[raw[0]]), nil
	}
	return dst, errNotBits
}
