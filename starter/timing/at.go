package timing

import (
	"fmt"
	"time"
)

// How a time of a zone is written.
const (
	minutes = "2006-01-02 15:04"
	seconds = "2006-01-02 15:04:05"
)

// layouts are the ways to write a time without its offset.
var layouts = []string{minutes, seconds, "2006-01-02T15:04", "2006-01-02T15:04:05"}

// readAt reads a time with an offset, or one of the zone's clock. It is in
// whole seconds.
func readAt(text string, location *time.Location, now time.Time) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t, err = readClock(text, location, now)
	}
	if err != nil {
		return t, err
	}
	t = t.Truncate(time.Second).In(location)
	if !t.After(now) {
		return t, fmt.Errorf("--at %q is in the past: now it is %s in %s; to start it now, use `godwit run`", text, now.In(location).Format(seconds), location)
	}
	return t, nil
}

// readClock reads what a clock of the zone shows. When clocks are changed, one
// hour is left out and another one comes twice: neither is guessed.
func readClock(text string, location *time.Location, now time.Time) (time.Time, error) {
	for _, layout := range layouts {
		t, err := time.ParseInLocation(layout, text, location)
		if err != nil {
			continue
		}
		if t.Format(layout) != text {
			return t, fmt.Errorf("--at %q does not exist in %s: clocks are put forward there then", text, location)
		}
		for _, shift := range []time.Duration{-time.Hour, time.Hour} {
			if other := t.Add(shift); other.Format(layout) == text {
				return t, fmt.Errorf("--at %q comes twice in %s, as clocks are put back: write %s or %s", text, location, t.Format(time.RFC3339), other.Format(time.RFC3339))
			}
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("--at %q is not a time: write it like %q (in --timezone), or with its offset like %q",
		text, example(now, location), now.Add(24*time.Hour).In(location).Format(time.RFC3339))
}
