package throttle

import (
	"fmt"
	"time"
)

// Critical says which guard is far beyond its limit: by so many percent of it,
// more than 100. It is empty when none is. It is for what cannot be held once it
// has begun, and can only be given up. A reading that is not there, or old, is
// not critical.
func (s *Share) Critical(percent int) string {
	s.governor.begin()
	return s.governor.critical(time.Now(), percent)
}

func (g *Governor) critical(now time.Time, percent int) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range g.order {
		if reason := g.guards[id].critical(now, percent); reason != "" {
			return reason
		}
	}
	return ""
}

func (g *guard) critical(now time.Time, percent int) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	mark := g.of.mark
	factor := float64(percent) / 100
	switch {
	case g.at.IsZero() || g.failed != nil || now.Sub(g.at) > staleAfter || g.of.rule != "":
		return ""
	case mark.below:
		mark.high /= factor
	default:
		mark.high *= factor
	}
	if !mark.passed(g.value) {
		return ""
	}
	return fmt.Sprintf("%s: %s, and %s", g.of.name, g.reading(), g.of.limit())
}
