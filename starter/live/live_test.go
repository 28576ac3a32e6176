package live

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/require"

	"godwit/internal/task"
	"godwit/starter/printer"
	"godwit/starter/view"
)

var now = time.Date(2024, 11, 29, 22, 4, 12, 0, time.UTC)

func atWork(rows int64) task.Status {
	return task.Status{
		ID: "copy-1", Kind: task.Copy, Name: "legacy → warehouse", State: task.Running, Phase: task.Transform,
		Progress: task.Progress{RowsDone: rows, RowsTotal: 1000, Percent: float64(rows) / 10, ETASeconds: -1},
		Running:  []task.Heartbeat{{Phase: task.Transform, Table: "shop.orders", Shard: 3, Rows: rows, RowsTotal: 1000}},
	}
}

func TestLinesTellOfEveryChangeAndOtherwiseNowAndThen(t *testing.T) {
	var out bytes.Buffer
	screen := NewLines(printer.New(&out, &out, printer.Text), view.Style{Now: now}, 5*time.Second)
	show := func(st task.Status, after time.Duration) {
		require.NoError(t, screen.Show(st, now.Add(after)))
	}
	show(atWork(100), 0)
	show(atWork(200), time.Second)
	show(atWork(300), 6*time.Second)
	paused := atWork(300)
	paused.State = task.Paused
	show(paused, 7*time.Second)
	failing := atWork(300)
	failing.Failures = []task.Failure{{Class: task.Transient, Message: "reset", Table: "shop.orders"}}
	show(failing, 8*time.Second)
	show(failing, 9*time.Second)

	require.Equal(t, `22:04:12  RUNNING in transform  10.0 %  100 of 1,000 rows
22:04:18  RUNNING in transform  30.0 %  300 of 1,000 rows
22:04:19  PAUSED in transform  30.0 %  300 of 1,000 rows
22:04:20  RUNNING in transform  30.0 %  300 of 1,000 rows  shop.orders: reset (transient)
`, out.String())
}

func TestProgramsGetAWholeStatusOnEveryLine(t *testing.T) {
	var out bytes.Buffer
	screen := NewLines(printer.New(&out, &out, printer.JSON), view.Style{Now: now}, time.Second)
	require.NoError(t, screen.Show(atWork(100), now))
	require.NoError(t, screen.Show(atWork(200), now.Add(time.Second)))

	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	var st task.Status
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &st))
	require.Equal(t, atWork(200), st)
}

func TestBarsDrawTheWholeAndTheShardsAndAreGoneAtTheEnd(t *testing.T) {
	var out bytes.Buffer
	screen := NewBars(&out, view.Style{Now: now}, 24)
	require.NoError(t, screen.Show(atWork(100), now))
	time.Sleep(500 * time.Millisecond)
	two := atWork(700)
	two.Running = append(two.Running, task.Heartbeat{Phase: task.Transform, Table: "shop.lines", Shard: 4})
	two.WaitingFor = "a lock\nthat somebody holds"
	require.NoError(t, screen.Show(two, now))
	time.Sleep(500 * time.Millisecond)
	require.NoError(t, screen.Show(atWork(900), now))
	time.Sleep(500 * time.Millisecond)
	screen.Note("Temporal answers again")
	screen.Close()

	drawn := text.StripEscape(out.String())
	for _, wanted := range []string{
		"copy legacy → warehouse  RUNNING in transform", "100 of 1,000 rows", "700 of 1,000 rows", "shop.lines 4",
		"waits for a lock that somebody holds", "90.0 %", "Temporal answers again\n",
	} {
		require.Contains(t, drawn, wanted)
	}
	_, last, _ := strings.Cut(drawn, "Temporal answers again")
	require.NotContains(t, last, "shop.lines 4", "a shard that is done is gone")
}

func TestBarsThatDoNotFitAreCounted(t *testing.T) {
	screen := &Bars{height: fixedLines + 2}
	running := make([]task.Heartbeat, 5)
	wanted := map[int]content{}
	screen.shards(running, wanted)
	require.Len(t, wanted, 3)
	require.Equal(t, "  and 3 more", wanted[shardPlace+2](80))
}

func TestAMeterNeverGoesBackAndIsGoneAtTheEnd(t *testing.T) {
	var out bytes.Buffer
	meter, err := NewMeter(&out, "making it")
	require.NoError(t, err)
	meter.Show(700, 1000)
	meter.Show(600, 1000)
	time.Sleep(500 * time.Millisecond)
	meter.Note("a server is up")
	meter.Close()

	drawn := text.StripEscape(out.String())
	require.Contains(t, drawn, "700 of 1,000 rows")
	require.NotContains(t, drawn, "600 of 1,000 rows")
	require.Contains(t, drawn, "a server is up\n")
}
