package throttle

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAGuardIsCriticalFarBeyondItsLimitAndByAFreshReadingOnly(t *testing.T) {
	g := still(watermark{high: 10, low: 0.8})
	require.Empty(t, g.critical(moment(0), 150), "nothing has been read yet")
	g.observe(moment(1), 15, "", nil)
	require.Empty(t, g.critical(moment(1), 150))
	g.observe(moment(2), 15.1, "", nil)
	require.Equal(t, "max_lag r1: 15.1s, and the limit is 10s", g.critical(moment(2), 150))
	require.Empty(t, g.critical(moment(9), 150), "that was long ago")
	g.observe(moment(10), 0, "", errors.New("it does not answer"))
	require.Empty(t, g.critical(moment(10), 150), "who knows")
}

func TestWhatIsLowIsCriticalForFreeDisk(t *testing.T) {
	g := still(watermark{high: 150, low: 0.8, below: true})
	g.observe(moment(1), 101, "", nil)
	require.Empty(t, g.critical(moment(1), 150))
	g.observe(moment(2), 99, "", nil)
	require.NotEmpty(t, g.critical(moment(2), 150))
}

func TestAnEarlyGuardHoldsFromItsLowWatermarkOn(t *testing.T) {
	g := still(watermark{high: 10, low: 0.8})
	g.of.early = true
	for i, look := range []struct {
		value float64
		holds bool
	}{{7, false}, {8, false}, {8.1, true}, {11, true}, {9, true}, {8, false}} {
		g.observe(moment(float64(i)), look.value, "", nil)
		reason, _ := g.says(moment(float64(i)))
		require.Equal(t, look.holds, reason != "", i)
	}
}
