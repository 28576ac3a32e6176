package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// narrow is a rig on whose target one migration may run at a time.
func narrow(t *testing.T) *rig {
	r := newRig(t)
	r.stop()
	r.connections = []string{"GODWIT_CONNECTION_WAREHOUSE=postgres://u@localhost/d?migrations=1&shards=2"}
	r.startWorker()
	return r
}

func TestThoseThatWaitAreListedWithTheirPlace(t *testing.T) {
	r := narrow(t)
	release := r.block()
	ids := map[string]string{}
	for _, name := range []string{"first", "later", "urgent"} {
		ids[name] = t.Name() + "-" + name
		priority := "3"
		if name == "urgent" {
			priority = "1"
		}
		r.must("run", specFile(t), "--id", ids[name], "--priority", priority)
		if name == "first" {
			r.until(ids[name], func(st task.Status) bool { return st.Phase == task.Transform })
		} else {
			r.until(ids[name], func(st task.Status) bool { return st.Queue != nil })
		}
	}

	later := r.status(ids["later"])
	require.Equal(t, task.Pending, later.State)
	require.Equal(t, &task.QueuePlace{Place: 2, Of: 2, Connection: "warehouse", Running: 1, Limit: 1}, later.Queue)
	require.Contains(t, r.must("status", ids["later"]).out, "capacity of connection warehouse: place 2 of 2 (1 of 1 migrations run)")

	var pending []task.Status
	require.NoError(t, json.Unmarshal([]byte(r.must("list", "--pending", "--all", "-o", "json").out), &pending))
	var order []string
	for _, m := range pending {
		if strings.HasPrefix(m.ID, t.Name()) {
			order = append(order, m.ID)
		}
	}
	require.Equal(t, []string{ids["urgent"], ids["later"]}, order, "the next one first")
	require.Contains(t, r.must("list", "--all").out, "PENDING 2/2")

	shown := r.must("capacity").out
	require.Regexp(t, `warehouse +1 of 1 +\d of 2 +2\n`, shown)
	require.Regexp(t, ids["urgent"]+` +1/2 for warehouse +1 `, shown)
	var capacity task.CapacityStatus
	require.NoError(t, json.Unmarshal([]byte(r.must("capacity", "-o", "json").out), &capacity))
	require.Equal(t, ids["first"], capacity.Running[0].ID)
	require.Equal(t, ids["urgent"], capacity.Waiting[0].ID)

	began := time.Now()
	r.must("cancel", ids["later"])
	require.Equal(t, exitCancelled, r.call("wait", ids["later"]).code)
	require.Less(t, time.Since(began), 10*time.Second, "to undo what has not begun waits for no place")
	release()
	require.Equal(t, exitSuccess, r.call("wait", ids["first"]).code)
	require.Equal(t, exitSuccess, r.call("wait", ids["urgent"]).code)
}

func TestCapacityThatNobodyHasAskedForIsSaidSo(t *testing.T) {
	r := newRig(t)
	require.Equal(t, "no migration has asked for a connection\n", r.must("capacity").out)
	r.stop()
	require.Contains(t, r.call("capacity").notes, "no worker is listening")
}
