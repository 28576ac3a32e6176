package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
)

func TestABuildOfAnIndexThatTellsNoPhasesIsOnePart(t *testing.T) {
	located := func(phase string) (engine.IndexProgress, string) {
		p := engine.IndexProgress{Phase: phase}
		by := place(&p, false, true)
		return p, by
	}
	gin, by := located("building index")
	require.Equal(t, "blocks", by)
	scan, _ := located("building index: scanning table")
	sorting, _ := located("building index: sorting live tuples")
	load, _ := located("building index: loading tuples in tree")
	require.Zero(t, gin.Before)
	require.InDelta(t, scan.Part+sorting.Part+load.Part, gin.Part, 1e-9)
	validation, _ := located("index validation: scanning index")
	require.InDelta(t, validation.Before, gin.Part, 1e-9)
	beginning, _ := located("building index: initializing")
	require.Zero(t, beginning.Before+beginning.Part)
}
