package codec

import (
	"bytes"
	"encoding/binary"
)

// appendSet writes a set's members, which MySQL separates by commas (no member
// contains one), as a text[] in COPY text.
func appendSet(dst, raw []byte, _ int) ([]byte, error) {
	dst = append(dst, '{')
	for more := len(raw) > 0; more; {
		var member []byte
		member, raw, more = bytes.Cut(raw, []byte(","))
		var err error
		if dst, err = appendElement(dst, member); err != nil {
			return dst, err
		}
		if more {
			dst = append(dst, ',')
		}
	}
	return append(dst, '}'), nil
}

// appendElement writes an element of an array, quoted for the array and
// escaped for COPY.
func appendElement(dst, member []byte) ([]byte, error) {
	dst = append(dst, '"')
	for {
		at := bytes.IndexAny(member, `"\`)
		if at < 0 {
			break
		}
		var err error
		if dst, err = appendText(dst, member[:at]); err != nil {
			return dst, err
		}
		dst = append(dst, `\\`...)
		if dst, err = appendText(dst, member[at:at+1]); err != nil {
			return dst, err
		}
		member = member[at+1:]
	}
	dst, err := appendText(dst, member)
	return append(dst, '"'), err
}

// canonSet gives each member with its length in front.
func canonSet(dst, raw []byte, _ int) ([]byte, error) {
	for more := len(raw) > 0; more; {
		var member []byte
		member, raw, more = bytes.Cut(raw, []byte(","))
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(member)))
		dst = append(dst, member...)
	}
	return dst, nil
}

// canonArray gives each element of a text[] of one dimension with its length
// in front. Arrays that no set becomes equal nothing.
func canonArray(dst, raw []byte, _ int) ([]byte, error) {
	start := len(dst)
	if len(raw) < 2 || raw[0] != '{' || raw[len(raw)-1] != '}' {
		return appendForeign(dst, raw), nil
	}
	for rest := raw[1 : len(raw)-1]; len(rest) > 0; {
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		var ok bool
		if dst, rest, ok = element(dst, rest); !ok {
			return appendForeign(dst[:start], raw), nil
		}
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst, nil
}

// element appends the first element of an array's text and returns what
// follows its comma; false for NULL and for an array within the array.
func element(dst, rest []byte) (out, after []byte, ok bool) {
	if rest[0] != '"' {
		member, after, _ := bytes.Cut(rest, []byte(","))
		ok := member[0] != '{' && !bytes.EqualFold(member, []byte("NULL"))
		return append(dst, member...), after, ok
	}
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
			if i == len(rest) {
				return dst, nil, false
			}
		case '"':
			after = rest[i+1:]
			if len(after) > 0 {
				after = after[1:]
			}
			return dst, after, true
		}
		dst = append(dst, rest[i])
	}
	return dst, nil, false
}
