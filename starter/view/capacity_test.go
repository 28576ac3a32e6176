package view

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestCapacityIsATableOfConnectionsAndOneOfPlaces(t *testing.T) {
	both := []string{"legacy", "warehouse"}
	st := task.CapacityStatus{
		Connections: []task.ConnectionUse{
			{Connection: "legacy", Limits: task.Limits{Migrations: 4, Shards: 8}, Migrations: 2, Shards: 6, Waiting: 1},
			{Connection: "warehouse", Limits: task.Limits{Migrations: 2, Shards: 20}, Migrations: 2, Shards: 6, Waiting: 1000},
			{Connection: "typo", Migrations: 1, Shards: 1},
		},
		Running: []task.PlaceStatus{
			{ID: "copy-1", Connections: both, Priority: 3, Since: *ago(time.Hour), Wish: 4, Shards: 4},
			{ID: "copy-12", Connections: both, Priority: 1, Since: *ago(time.Minute), Wish: 8, Shards: 2},
		},
		Waiting: []task.PlaceStatus{{ID: "copy-3", Connections: both, Priority: 5, Since: *ago(time.Second), Wish: 1,
			Queue: &task.QueuePlace{Place: 1, Of: 1000, Connection: "warehouse", Running: 2, Limit: 2}}},
	}
	var out bytes.Buffer
	require.NoError(t, Capacity(&out, st, Style{Now: now}))
	golden(t, "capacity", out.String())

	out.Reset()
	waiting := task.Status{ID: "copy-3", State: task.Pending, Phase: task.Preflight, Target: "warehouse", StartedAt: ago(time.Second), Queue: st.Waiting[0].Queue}
	require.NoError(t, List(&out, []task.Status{waiting}, Style{Now: now}))
	require.Contains(t, out.String(), "PENDING 1/1000  preflight")
}
