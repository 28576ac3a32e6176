package mysqlwire

import (
	"encoding/binary"

	"github.com/go-sql-driver/mysql"
)

// The first bytes of packets and values.
const (
	okMark        = 0x00
	localFileMark = 0xfb
	nullMark      = 0xfb
	twoBytes      = 0xfc
	threeBytes    = 0xfd
	eightBytes    = 0xfe
	endMark       = 0xfe
	errorMark     = 0xff
)

const moreResults = 0x0008 // in the status of an end marker

// integer reads a length-encoded integer and returns what follows it.
func integer(b []byte) (value uint64, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, nil, false
	}
	size := 0
	switch b[0] {
	case twoBytes:
		size = 2
	case threeBytes:
		size = 3
	case eightBytes:
		size = 8
	case nullMark, errorMark:
		return 0, nil, false
	default:
		return uint64(b[0]), b[1:], true
	}
	if len(b) < 1+size {
		return 0, nil, false
	}
	for i := size; i > 0; i-- {
		value = value<<8 | uint64(b[i])
	}
	return value, b[1+size:], true
}

// splitRow cuts a row into its values, nil for NULL.
func splitRow(b []byte, row [][]byte) error {
	for i := range row {
		if len(b) == 0 {
			return errMalformed
		}
		if b[0] == nullMark {
			row[i], b = nil, b[1:]
			continue
		}
		size, rest, ok := integer(b)
		if !ok || size > uint64(len(rest)) {
			return errMalformed
		}
		row[i], b = rest[:size:size], rest[size:]
	}
	if len(b) != 0 {
		return errMalformed
	}
	return nil
}

// isEnd reports whether a packet among the rows is the end marker: a row that
// begins with the same byte has a first value of 16 MiB at least.
func isEnd(b []byte) bool { return b[0] == endMark && len(b) < maxPayload }

// isOldEnd reports whether a packet is the end marker of a server, or a proxy,
// that also ends the list of columns with one. It is shorter than the new one.
func isOldEnd(b []byte) bool { return b[0] == endMark && len(b) == 5 }

// endStatus returns the status flags of an end marker.
func endStatus(b []byte) (uint16, error) {
	if isOldEnd(b) {
		return binary.LittleEndian.Uint16(b[3:]), nil
	}
	rest := b[1:]
	for range 2 { // rows changed, last id
		var ok bool
		if _, rest, ok = integer(rest); !ok {
			return 0, errMalformed
		}
	}
	if len(rest) < 4 { // status, warnings
		return 0, errMalformed
	}
	return binary.LittleEndian.Uint16(rest), nil
}

// serverError reads an error packet.
func serverError(b []byte) error {
	if len(b) < 3 {
		return errMalformed
	}
	e := &mysql.MySQLError{Number: binary.LittleEndian.Uint16(b[1:])}
	message := b[3:]
	if len(message) >= 6 && message[0] == '#' {
		copy(e.SQLState[:], message[1:6])
		message = message[6:]
	}
	e.Message = string(message)
	return e
}
