package spec

import (
	"fmt"
	"math"
	"strconv"

	"github.com/dustin/go-humanize"
)

// Size is a number of bytes that is written as people write it: 20GiB, 500MB,
// or the number alone. As JSON it is that same text.
type Size int64

// sizePattern is what ParseSize reads, as a regular expression.
const sizePattern = `^[0-9.]+ ?([kKmMgGtTpP]?[iI]?[bB]?)$`

// units are the powers of 1024 from the largest on.
var units = []struct {
	bytes int64
	name  string
}{{1 << 50, "PiB"}, {1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}}

// String writes the size exactly, in the largest unit that does it.
func (s Size) String() string {
	for _, u := range units {
		if int64(s) >= u.bytes && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// MarshalText writes what UnmarshalText reads.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what ParseSize reads.
func (s *Size) UnmarshalText(text []byte) error {
	v, err := ParseSize(string(text))
	if err == nil {
		*s = v
	}
	return err
}

// ParseSize reads a size like 20GiB, 500MB or 4096.
func ParseSize(text string) (Size, error) {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size: write it like 20GiB, 500MB or 4096", text)
	}
	return Size(n), nil
}
