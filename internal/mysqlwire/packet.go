package mysqlwire

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"time"
)

const (
	headerSize = 4
	// maxPayload is the length of a packet that goes on in the next one.
	maxPayload = 1<<24 - 1
	bufferSize = 128 << 10
)

var (
	errSequence  = errors.New("a packet is missing or out of order")
	errMalformed = errors.New("malformed packet")
)

// packetReader cuts what comes from the server into packets.
type packetReader struct {
	ctx        context.Context
	conn       net.Conn
	timeout    time.Duration // of one read; 0 for none
	buffer     []byte
	start, end int    // what of the buffer is read but not yet handed out
	sequence   byte   // that the next packet must have
	large      []byte // a payload that does not fit into the buffer
}

// next returns the payload of the next packet, or of the next packets when it
// is too long for one. It is valid until the next call, and never empty.
func (r *packetReader) next() ([]byte, error) {
	size, inOrder, err := r.header()
	if err != nil {
		return nil, err
	}
	var payload []byte
	if size < maxPayload && size <= len(r.buffer) {
		if err := r.fill(size); err != nil {
			return nil, err
		}
		payload = r.buffer[r.start : r.start+size : r.start+size]
		r.start += size
	} else if payload, err = r.long(size); err != nil {
		return nil, err
	}
	if len(payload) == 0 {
		return nil, errMalformed
	}
	// A server that gives up in the middle of something may number its error wrongly.
	if !inOrder && payload[0] != errorMark {
		return nil, errSequence
	}
	return payload, nil
}

// header reads the length of the next packet, and whether it is the expected one.
func (r *packetReader) header() (size int, inOrder bool, err error) {
	if err := r.fill(headerSize); err != nil {
		return 0, false, err
	}
	h := r.buffer[r.start : r.start+headerSize]
	r.start += headerSize
	inOrder = h[3] == r.sequence
	r.sequence = h[3] + 1
	return int(h[0]) | int(h[1])<<8 | int(h[2])<<16, inOrder, nil
}

// long reads a payload of the given length, and all that continue it.
func (r *packetReader) long(size int) ([]byte, error) {
	r.large = r.large[:0]
	for {
		had := len(r.large)
		r.large = slices.Grow(r.large, size)[:had+size]
		if err := r.read(r.large[had:]); err != nil {
			return nil, err
		}
		if size < maxPayload {
			return r.large, nil
		}
		var inOrder bool
		var err error
		if size, inOrder, err = r.header(); err != nil {
			return nil, err
		}
		if !inOrder {
			return nil, errSequence
		}
	}
}

// read fills p, first from the buffer.
func (r *packetReader) read(p []byte) error {
	n := copy(p, r.buffer[r.start:r.end])
	r.start += n
	for n < len(p) {
		m, err := r.receive(p[n:])
		n += m
		if err != nil && n < len(p) {
			return err
		}
	}
	return nil
}

// fill makes sure that the buffer holds at least size bytes.
func (r *packetReader) fill(size int) error {
	if r.end-r.start >= size {
		return nil
	}
	r.end = copy(r.buffer, r.buffer[r.start:r.end])
	r.start = 0
	for r.end < size {
		n, err := r.receive(r.buffer[r.end:])
		r.end += n
		if err != nil && r.end < size {
			return err
		}
	}
	return nil
}

func (r *packetReader) receive(p []byte) (int, error) {
	if r.timeout > 0 {
		if err := r.conn.SetReadDeadline(time.Now().Add(r.timeout)); err != nil {
			return 0, err
		}
	}
	if err := r.ctx.Err(); err != nil { // the deadline of interrupt may have been overwritten
		return 0, err
	}
	n, err := r.conn.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // only the server's end marker is an end
	}
	return n, err
}

// interrupt ends a read that is under way. Writing stays possible, so that the
// driver can take its leave of the server.
func (r *packetReader) interrupt() { _ = r.conn.SetReadDeadline(time.Unix(1, 0)) }

// drained reports whether everything that was received has been handed out.
func (r *packetReader) drained() bool { return r.start == r.end }
