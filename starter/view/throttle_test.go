package view

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestAStatusShowsWhatHoldsAndWhatHasHeld(t *testing.T) {
	st := running()
	st.Throttle = task.ThrottleStatus{Holding: true, Reason: "max_lag shop_r1: 5.2s, and the limit is 2s", Since: ago(40 * time.Second), BytesPerSecond: 20 << 20, Parallel: 4,
		Guards: []task.GuardStatus{
			{Guard: "max_lag shop_r1", Reading: "5.2s", Limit: "2s", Holding: true}, {Guard: "max_active shop", Reading: "12", Limit: "50"},
		},
		Held: []task.HeldTime{{Guard: "max_lag", Seconds: 130, Times: 3}, {Guard: "http", Seconds: 4, Times: 1}}}
	var b strings.Builder
	require.NoError(t, Status(&b, st, Style{Now: now}))
	for _, want := range []string{
		"throttle  holds: max_lag shop_r1: 5.2s, and the limit is 2s, for 40s, at most 20 MiB/s, 4 shards at once",
		"held      max_lag 2m10s (3 times), http 4.0s (1 time)",
		"max_lag shop_r1  holds  5.2s  limit 2s", "max_active shop  go     12    limit 50",
	} {
		require.Contains(t, b.String(), want)
	}
}
