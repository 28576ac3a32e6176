package spec

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration that is written as people write it: 30s, 5m,
// 12h, 1h30m, 7d. As JSON it is that same text.
type Duration time.Duration

// Std returns the duration as Go's own type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes the duration as text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads what MarshalJSON and ParseDuration accept.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("%s is not a duration: write it like 30s, 5m, 12h or 7d", b)
	}
	v, err := ParseDuration(text)
	*d = v
	return err
}

// ParseDuration reads a duration like 30s, 1h30m or 7d. It is never negative.
func ParseDuration(text string) (Duration, error) {
	bad := fmt.Errorf("%q is not a duration: write it like 30s, 5m, 12h or 7d", text)
	days, rest, found := strings.Cut(text, "d")
	if !found {
		v, err := time.ParseDuration(text)
		if err != nil || v < 0 {
			return 0, bad
		}
		return Duration(v), nil
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, bad
	}
	v := Duration(n) * Duration(24*time.Hour)
	if rest == "" {
		return v, nil
	}
	more, err := ParseDuration(rest)
	if err != nil {
		return 0, bad
	}
	return v + more, nil
}
