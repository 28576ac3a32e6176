package codec

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
)

const errTooLong = problem("it is over 512 MiB, more than PostgreSQL takes as COPY data")

const hexDigits = "0123456789abcdef"

// hexPairs has the two digits of each byte.
var hexPairs = func() (pairs [256][2]byte) {
	for i := range pairs {
		pairs[i] = [2]byte{hexDigits[i>>4], hexDigits[i&15]}
	}
	return pairs
}()

// appendBytes writes binary data in bytea's hex form.
func appendBytes(dst, raw []byte, _ int) ([]byte, error) {
	if len(raw) > maxLine/2-8 {
		return dst, errTooLong
	}
	dst = append(dst, `\\x`...)
	at := len(dst)
	dst = slices.Grow(dst, 2*len(raw))[:at+2*len(raw)]
	for _, c := range raw {
		pair := &hexPairs[c]
		dst[at], dst[at+1] = pair[0], pair[1]
		at += 2
	}
	return dst, nil
}

// canonHex gives the bytes of a bytea.
func canonHex(dst, raw []byte, _ int) ([]byte, error) {
	if len(raw) < 2 || raw[0] != '\\' || raw[1] != 'x' {
		return dst, fmt.Errorf("the target sends bytea in another form than hex: its session needs bytea_output = 'hex'")
	}
	return hex.AppendDecode(dst, raw[2:])
}

// canonAddress writes an internet address in one way: the servers have
// different ones for IPv6.
func canonAddress(dst, raw []byte, _ int) ([]byte, error) {
	address, err := netip.ParseAddr(view(raw))
	if err != nil || address.Zone() != "" {
		return appendForeign(dst, raw), nil
	}
	return address.AppendTo(dst), nil
}
