package digest

import (
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"
)

// Canon appends the canonical bytes of a value of column i, which is not NULL:
// equal bytes exactly for equal values.
type Canon func(i int, dst, raw []byte) ([]byte, error)

// Hasher makes the hashes of rows. It reuses its buffer, so it serves one
// goroutine.
type Hasher struct {
	canon  Canon
	buffer []byte
}

// maxBuffer is how much of a huge row's memory is kept for the next one.
const maxBuffer = 1 << 20

// NewHasher makes a Hasher.
func NewHasher(canon Canon) *Hasher { return &Hasher{canon: canon} }

// Row is the hash of a whole row; nil is NULL.
func (h *Hasher) Row(raw [][]byte) (Hash, error) {
	h.begin()
	for i, value := range raw {
		if err := h.column(i, value); err != nil {
			return Hash{}, err
		}
	}
	return h.sum(), nil
}

// Key is the hash of some columns of a row, in the order of columns. Without
// columns it is that of the whole row.
func (h *Hasher) Key(raw [][]byte, columns []int) (Hash, error) {
	if len(columns) == 0 {
		return h.Row(raw)
	}
	h.begin()
	for _, i := range columns {
		if err := h.column(i, raw[i]); err != nil {
			return Hash{}, err
		}
	}
	return h.sum(), nil
}

func (h *Hasher) begin() {
	if cap(h.buffer) > maxBuffer {
		h.buffer = nil
	}
	h.buffer = h.buffer[:0]
}

// column appends a column with its header: its position in the upper 16 bits,
// its length plus one in the others, 0 for NULL.
func (h *Hasher) column(i int, value []byte) error {
	const header = 8
	at := len(h.buffer)
	tag := uint64(i) << 48
	h.buffer = append(h.buffer, make([]byte, header)...)
	if value != nil {
		var err error
		if h.buffer, err = h.canon(i, h.buffer, value); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
		tag |= uint64(len(h.buffer) - at - header + 1)
	}
	binary.LittleEndian.PutUint64(h.buffer[at:], tag)
	return nil
}

func (h *Hasher) sum() Hash {
	sum := xxh3.Hash128(h.buffer)
	return Hash{sum.Hi, sum.Lo}
}
