package reindex

import (
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
	require.InDelta(t, 60, tell(14, "load", 0.6, 0.2, 0.25), 0.1, "it does not go back")
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
