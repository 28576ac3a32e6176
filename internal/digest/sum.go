package digest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/bits"
)

// Hash is the hash of a row, or of a part of one.
type Hash struct{ Hi, Lo uint64 }

// Sum is the digest of a set of rows. The zero Sum is of nothing that was
// read, and equals no Sum, itself included; that of an empty table, which was
// read, is another one.
type Sum struct {
	Rows   int64
	Hi, Lo uint64
	read   bool
	_      [0]func() // compare with Equal: == would find equal what was never read
}

// Counted is the Sum of rows of which only the number is known, after they
// were counted.
func Counted(rows int64) Sum { return Sum{Rows: rows, read: true} }

// Add adds a row.
func (s *Sum) Add(h Hash) {
	s.Rows++
	s.plus(h.Hi, h.Lo)
}

// Merge adds the rows of another Sum.
func (s *Sum) Merge(o Sum) {
	s.Rows += o.Rows
	s.plus(o.Hi, o.Lo)
	s.read = s.read || o.read
}

func (s *Sum) plus(hi, lo uint64) {
	var carry uint64
	s.Lo, carry = bits.Add64(s.Lo, lo, 0)
	s.Hi, _ = bits.Add64(s.Hi, hi, carry)
}

// Read reports whether anything was read to its end, be it empty.
func (s Sum) Read() bool { return s.read }

// Equal reports whether both are of the same rows. What was not read is equal
// to nothing.
func (s Sum) Equal(o Sum) bool {
	return s.read && o.read && s.Rows == o.Rows && s.Hi == o.Hi && s.Lo == o.Lo
}

// String shows a Sum to a human.
func (s Sum) String() string {
	if !s.read {
		return "nothing read"
	}
	return fmt.Sprintf("%d rows %016x%016x", s.Rows, s.Hi, s.Lo)
}

// sumJSON is a Sum as it stands in the ledger; null for one that is not read.
type sumJSON struct {
	Rows int64  `json:"rows"`
	Sum  string `json:"sum"` // hexadecimal
}

// MarshalJSON writes {"rows": 3, "sum": "0123…"}.
func (s Sum) MarshalJSON() ([]byte, error) {
	if !s.read {
		return []byte("null"), nil
	}
	return json.Marshal(sumJSON{s.Rows, fmt.Sprintf("%016x%016x", s.Hi, s.Lo)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Sum) UnmarshalJSON(text []byte) error {
	*s = Sum{}
	var in *sumJSON
	if err := json.Unmarshal(text, &in); err != nil || in == nil {
		return err
	}
	var b [16]byte
	if n, err := hex.Decode(b[:], []byte(in.Sum)[:min(len(in.Sum), 32)]); err != nil || n != len(b) || len(in.Sum) != 32 {
		return fmt.Errorf("%q is not a digest", in.Sum)
	}
	s.Rows, s.read = in.Rows, true
	for i, c := range b {
		if i < 8 {
			s.Hi = s.Hi<<8 | uint64(c)
		} else {
			s.Lo = s.Lo<<8 | uint64(c)
		}
	}
	return nil
}
