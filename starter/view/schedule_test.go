package view

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
	"godwit/starter/control"
	"godwit/starter/timing"
)

func TestSchedulesAreATableWithTheReasonsOfThosePaused(t *testing.T) {
	at := now.Add(-time.Hour)
	schedules := []control.Schedule{
		{
			ID: "archive", Name: "old orders", Timing: timing.Timing{Cron: "@every 6h", Timezone: "Europe/Berlin"},
			Next: []time.Time{now.Add(time.Hour)}, Runs: 1204, Skipped: 3, Missed: 1,
			Last: &control.LastRun{ID: "archive-2024-11-29T18:00:00Z", State: task.Retrying, Attention: true, Open: true},
		},
		{
			ID: "nightly", Name: "legacy → warehouse", Timing: timing.Timing{Cron: "0 2 * * *", Timezone: "Europe/Berlin"},
			Paused: true, Note: "month-end closing (paused by ann@db1)", Runs: 12,
			Last: &control.LastRun{ID: "nightly-2024-11-29T01:00:00Z"},
		},
		{
			ID: "move", Name: "shop: orders", Timing: timing.Timing{At: &at, Timezone: "UTC"}, Runs: 1,
			Last: &control.LastRun{ID: "move-2024-11-29T21:04:12Z", State: task.Success},
		},
		{ID: "weekly", Name: "shop: customers", Timing: timing.Timing{Cron: "@weekly", Timezone: "UTC"}, Next: []time.Time{now.Add(48 * time.Hour)}},
	}
	var out bytes.Buffer
	require.NoError(t, Schedules(&out, schedules, Style{Now: now}))
	golden(t, "schedules", out.String())

	out.Reset()
	require.NoError(t, Schedules(&out, nil, Style{Now: now}))
	require.Equal(t, "no schedules; `godwit schedule FILE --cron …` makes one\n", out.String())
}

func TestTimesToComeAreShownInTheirZone(t *testing.T) {
	require.Equal(t, "  Sat 2024-11-30 07:04:12 JST\n  Sat 2024-11-30 08:04:12 JST", Times([]time.Time{now, now.Add(time.Hour)}, "Asia/Tokyo"))
}
