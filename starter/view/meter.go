package view

import (
	"strings"
	"time"
)

// Meter is a thing that is counted, on one line: how much of it is done after
// a time.
func Meter(what string, done, total int64, took time.Duration, width int) string {
	share := 0.0
	if total > 0 {
		share = 100 * float64(done) / float64(total)
	}
	parts := []string{what}
	if width > 0 {
		parts = append(parts, Bar(share, width))
	}
	parts = append(parts, strings.TrimSpace(percent(share)))
	if total > 0 {
		parts = append(parts, rowsOf(done, total))
	}
	if took > time.Second {
		parts = append(parts, rate(float64(done)/took.Seconds()))
	}
	return strings.Join(parts, "  ")
}
