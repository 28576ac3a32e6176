package spec

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration that is written as people write it: 30s, 5m,
// 12h, 1h30m, 7d. As JSON it is that same text.
type Duration time.Duration

// durationPattern is what ParseDuration reads, as a regular expression.
const durationPattern = `^(0|[0-9]+d([0-9.]+(ns|us|µs|ms|s|m|h))*|([0-9.]+(ns|us|µs|ms|s|m|h))+)$`

// Std returns the duration as Go's own type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes the duration without the units that are zero: 24h, not 24h0m0s.
func (d Duration) String() string {
	text := time.Duration(d).String()
	for _, zero := range []string{"0s", "0m"} {
		if short, found := strings.CutSuffix(text, zero); found && short != "" && (short[len(short)-1] == 'm' || short[len(short)-1] == 'h') {
			text = short
		}
	}
	return text
}

// MarshalText writes what UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := ParseDuration(string(text))
	if err == nil {
		*d = v
	}
	return err
}

// ParseDuration reads a duration like 30s, 1h30m or 7d. It is never negative.
func ParseDuration(text string) (Duration, error) {
	bad := fmt.Errorf("%q is not a duration: write it like 30s, 5m, 12h or 7d", text)
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "0", text
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, bad
	}
	var more time.Duration
	if rest != "" || !found {
		if more, err = time.ParseDuration(rest); err != nil || more < 0 {
			return 0, bad
		}
	}
	sum := time.Duration(n)*24*time.Hour + more
	if sum < more {
		return 0, bad
	}
	return Duration(sum), nil
}
