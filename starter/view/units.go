package view

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

func rows(n int64) string { return humanize.Comma(n) }

func size(n int64) string { return humanize.IBytes(uint64(max(0, n))) }

func rate(perSecond float64) string {
	return humanize.Comma(int64(math.Round(perSecond))) + " rows/s"
}

// plural is "1 shard" or "8 shards".
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return humanize.Comma(n) + " " + noun + "s"
}

// Duration is a duration as exact as its size calls for.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", math.Floor(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// eta is empty while nobody can tell.
func eta(seconds float64) string {
	if seconds < 0 {
		return ""
	}
	left := time.Duration(math.Round(seconds)) * time.Second
	if left < 10*time.Second {
		return fmt.Sprintf("ETA %.0fs", left.Seconds())
	}
	return "ETA " + Duration(left)
}

// moment is a time of today by its clock, and of another day with its date.
func (s Style) moment(t time.Time) string {
	t = t.In(s.Now.Location())
	if t.Format(time.DateOnly) == s.Now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// between is how long something took, or has been taking until now.
func (s Style) between(start, end *time.Time) string {
	if start == nil {
		return ""
	}
	if end == nil {
		end = &s.Now
	}
	return Duration(end.Sub(*start))
}

// Bar draws how much is done, in eighths of a character.
func Bar(percent float64, width int) string {
	eighths := int(math.Round(min(100, max(0, percent)) / 100 * float64(width*8)))
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return bar + strings.Repeat("░", width-utf8.RuneCountInString(bar))
}

func percent(p float64) string { return fmt.Sprintf("%5.1f %%", p) }
