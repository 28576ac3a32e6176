package reindex

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
)

// moment is a time in a build's life.
func moment(seconds float64) time.Time {
	return time.Unix(1000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

func TestWhatABuildHasTakenTellsWhatIsLeft(t *testing.T) {
	c := &course{}
	tell := func(seconds float64, phase string, before, part, within float64) float64 {
		return 100 * c.told(moment(seconds), engine.IndexProgress{Phase: phase, Before: before, Part: part, Within: within})
	}
	require.Negative(t, c.told(moment(0), engine.IndexProgress{Within: -1}))
	require.Zero(t, tell(0, "scan", 0, 0.5, 0))
	require.InDelta(t, 25, tell(5, "scan", 0, 0.5, 0.5), 0.1)
	require.InDelta(t, 50, tell(10, "sort", 0.5, 0.1, -1), 0.1)
	require.InDelta(t, 55, tell(11, "sort", 0.5, 0.1, -1), 0.1)
	// The loading takes twice as long as it does as a rule, and so the rest does, too.
	require.InDelta(t, 60, tell(12, "load", 0.6, 0.2, 0), 0.1)
	require.InDelta(t, 56, tell(14, "load", 0.6, 0.2, 0.25), 0.1)
	require.InDelta(t, 80, tell(20, "load", 0.6, 0.2, 1), 0.1)
	require.InDelta(t, 80, tell(20, "validate", 0.8, 0.2, 0), 0.1)
	require.InDelta(t, 100, tell(25, "validate", 0.8, 0.2, 1), 0.1)
}

func TestAWaitIsNoProgress(t *testing.T) {
	c := &course{}
	scan := engine.IndexProgress{Phase: "scan", Part: 0.5, Within: 0.5}
	c.told(moment(0), engine.IndexProgress{Phase: "scan", Part: 0.5})
	require.InDelta(t, 0.25, c.told(moment(1), scan), 0.01)
	wait := engine.IndexProgress{Phase: "waiting", Before: 0.5, Within: -1}
	require.InDelta(t, 0.5, c.told(moment(2), wait), 0.01)
	require.InDelta(t, 0.5, c.told(moment(1000), wait), 0.01)
	require.InDelta(t, 0.75, c.told(moment(1001), engine.IndexProgress{Phase: "validate", Before: 0.5, Part: 0.5, Within: 0.5}), 0.26)
}

func TestABuildOnTheSameServerTellsHowLongThePhasesTake(t *testing.T) {
	m := &memory{}
	build := func(rows int64, tell func(seconds, told float64)) {
		c := &course{usual: m.of("shop", rows)}
		for s := 0.0; s <= 20; s++ {
			p := engine.IndexProgress{Phase: "read", Part: 0.8, Within: s / 4}
			switch {
			case s >= 8:
				p = engine.IndexProgress{Phase: "insert", Before: 0.8, Part: 0.2, Within: (s - 8) / 12}
			case s >= 4:
				p = engine.IndexProgress{Phase: "waiting", Before: 0.8, Within: -1}
			}
			tell(s, 100*c.told(moment(s), p))
		}
		m.learn("shop", rows, c.shares(moment(20)))
	}
	off := func(rows int64) (worst float64) {
		build(rows, func(s, told float64) {
			worked := min(s, 4) + max(0, s-8)
			if s < 4 || s >= 8 {
				worst = max(worst, math.Abs(told-100*worked/16))
			}
		})
		return worst
	}
	require.Greater(t, off(1000), 40.0, "it reads in a quarter of the time, not in four fifths")
	require.Less(t, off(2000), 1.0)
	require.Greater(t, off(10_000), 40.0, "one with many more rows is another matter")
	require.Less(t, off(10_000), 1.0)
}

func TestABuildThatWasGivenUpTeachesNothing(t *testing.T) {
	c := &course{}
	for s := 0.0; s <= 20; s++ {
		c.told(moment(s), engine.IndexProgress{Phase: "read", Part: 0.8, Within: s / 40})
	}
	require.Nil(t, c.shares(moment(20)))
}

func TestAPhaseThatIsToldOfFromTheMiddleOrInFewStepsIsEstimatedByItsPace(t *testing.T) {
	c := &course{}
	tell := func(seconds, within float64) float64 {
		p := engine.IndexProgress{Phase: "merge", Before: 0.5, Part: 0.5, Within: within}
		if seconds < 10 {
			p = engine.IndexProgress{Phase: "read", Part: 0.5, Within: seconds / 10}
		}
		return 100 * c.told(moment(seconds), p)
	}
	tell(0, 0)
	tell(5, 0)
	require.InDelta(t, 50, tell(10, 0.2), 0.1)
	require.InDelta(t, 52, tell(10.4, 0.2), 2.1, "that a fifth is done at once says nothing")
	require.InDelta(t, 100*14.0/26, tell(14, 0.4), 0.1, "a quarter of the rest in 4 seconds")
	require.InDelta(t, 100*17.0/26, tell(17, 0.4), 0.1, "and on, until the next step is told")
	require.InDelta(t, 100*18.0/26, tell(18, 0.6), 0.1)
}

func TestNothingIsEverMoreThanDone(t *testing.T) {
	c := &course{usual: map[string]share{"read": {0, 0.6}, "insert": {0.6, 0.4}}}
	told := 0.0
	for s := 0.0; s <= 30; s++ {
		p := engine.IndexProgress{Phase: "read", Part: 0.5, Within: s / 10}
		switch {
		case s >= 26:
			p = engine.IndexProgress{Phase: "waiting", Before: 1, Within: -1}
		case s >= 20:
			p = engine.IndexProgress{Phase: "check", Before: 0.98, Part: 0.02, Within: -1} // which the last build was too quick in
		case s >= 10:
			p = engine.IndexProgress{Phase: "insert", Before: 0.5, Part: 0.48, Within: (s - 10) / 10}
		}
		told = c.told(moment(s), p)
		require.LessOrEqual(t, told, 1.0, "after %.0f s", s)
		require.LessOrEqual(t, c.until, 1.0, "after %.0f s", s)
	}
	require.InDelta(t, 1, told, 0.01)
}

func TestABuildThatWasMixedUpWithAnotherOneTeachesNothing(t *testing.T) {
	c := &course{}
	for s := 0.0; s <= 20; s++ {
		p := engine.IndexProgress{Phase: "read", Part: 0.5, Within: 0.5}
		if int(s)%10 >= 5 {
			p = engine.IndexProgress{Phase: "insert", Before: 0.5, Part: 0.5, Within: 1}
		}
		c.told(moment(s), p)
	}
	require.Nil(t, c.shares(moment(20)))
}
