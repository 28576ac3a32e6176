package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAStatementCountsWhereverItWasUnderWay(t *testing.T) {
	zero := time.Now()
	at := func(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }
	traffic := &Traffic{statements: []statement{
		{at(0), at(1), false},
		{at(90), at(350), false}, // stalled by what happened from 100 to 300
		{at(150), at(152), true},
		{at(400), at(401), false},
	}}
	during := traffic.Between(at(100), at(300))
	require.Equal(t, Latencies{Statements: 2, Failed: 1, P50: 260 * time.Millisecond, P99: 260 * time.Millisecond, Longest: 260 * time.Millisecond}, during)
	require.Equal(t, 4, traffic.Between(at(0), at(500)).Statements)
	require.Equal(t, Latencies{}, traffic.Between(at(500), at(600)))
}
