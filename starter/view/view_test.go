package view

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a view with its file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "%s; go test ./starter/view -update writes it anew", file)
}

var now = time.Date(2024, 11, 29, 22, 4, 12, 0, time.UTC)

func ago(d time.Duration) *time.Time {
	t := now.Add(-d)
	return &t
}

func number(n int) *int { return &n }

// running is a migration in the middle of its work, with some trouble.
func running() task.Status {
	return task.Status{
		ID: "copy-0193796d-7b2a-7c3e-8f5d-2b1f0e6a9c44", Kind: task.Copy, Name: "legacy → warehouse", Target: "warehouse",
		State: task.Retrying, Phase: task.Transform,
		Progress: task.Progress{RowsDone: 623104, RowsTotal: 1000000, BytesDone: 124620800, Percent: 44.4, RowsPerSecond: 52310, ETASeconds: 15},
		Shards:   task.ShardCounts{Total: 8, Done: 4, Running: 2, Retrying: 1},
		Throttle: task.ThrottleStatus{RowsPerSecond: 60000, Parallel: 4},
		Steps: []task.PhaseStatus{
			{Name: "preflight", State: task.Success, StartedAt: ago(13 * time.Second), EndedAt: ago(12600 * time.Millisecond), Attempts: 1},
			{Name: "backup", State: task.Success, StartedAt: ago(12600 * time.Millisecond), EndedAt: ago(12500 * time.Millisecond), Attempts: 1},
			{Name: "transform", State: task.Running, StartedAt: ago(12500 * time.Millisecond), Attempts: 2},
			{Name: "verify", State: task.Pending}, {Name: "cutover", State: task.Pending}, {Name: "cleanup", State: task.Pending},
		},
		Running: []task.Heartbeat{
			{Phase: task.Transform, Table: "shop.orders", Shard: 3, Rows: 87500, RowsTotal: 125000, Percent: 70, RowsPerSecond: 26100, Attempt: 1},
			{Phase: task.Transform, Table: "shop.顧客 4/9", Shard: 12, Rows: 900, RowsTotal: 1250, Percent: 72, RowsPerSecond: 26210, Attempt: 2, WaitingFor: "a lock on shop.顧客"},
		},
		Failures:  []task.Failure{{Class: task.Transient, Message: "connection reset by peer; try 2 at 22:04:16 UTC", Phase: task.Transform, Shard: number(5), Table: "shop.orders"}},
		StartedAt: ago(13 * time.Second),
		Can:       []string{"pause", "throttle", "cancel", "rollback"},
		URL:       "http://localhost:8233/namespaces/default/workflows/copy-0193796d-7b2a-7c3e-8f5d-2b1f0e6a9c44/r1",
	}
}

func failed() task.Status {
	st := running()
	st.State, st.Attention, st.Running, st.EndedAt = task.Failed, true, nil, ago(0)
	st.Shards = task.ShardCounts{Total: 8, Done: 7, Failed: 1}
	st.Error = &task.Failure{Class: task.Data, Message: `column total of the row with id 4711: value "12,50" is not a numeric`, Phase: task.Transform, Shard: number(5), Table: "shop.orders"}
	st.Failures = []task.Failure{*st.Error}
	st.WaitingFor = "an operator: `godwit retry " + st.ID + "` or `godwit rollback " + st.ID + "`"
	st.Can = []string{"retry", "rollback"}
	return st
}

func done() task.Status {
	st := running()
	st.State, st.Phase, st.Running, st.Failures = task.Success, task.Cleanup, nil, nil
	st.Progress = task.Progress{RowsDone: 1000000, RowsTotal: 1000000, Percent: 100, ETASeconds: 0}
	st.Shards = task.ShardCounts{}
	for i := range st.Steps {
		st.Steps[i].State, st.Steps[i].StartedAt, st.Steps[i].EndedAt = task.Success, ago(10*time.Second), ago(9*time.Second)
	}
	st.Steps[5].State, st.Steps[5].EndedAt = task.Running, nil
	st.Verified = &task.VerifySummary{Mode: "checksum", Tables: 5, Rows: 1000000, Rechecks: 3}
	st.Kept = []task.BackupItem{{What: "table public.orders", Where: "godwit_old.orders", Bytes: 12582912, Restore: "ALTER TABLE godwit_old.orders SET SCHEMA public"}}
	until := now.Add(24 * time.Hour)
	st.KeptUntil = &until
	st.Can = []string{"rollback", "cleanup"}
	return st
}

func mismatched() task.Status {
	st := failed()
	st.Phase = task.Verify
	st.Error = &task.Failure{Class: task.Mismatch, Message: "2 rows of shop.orders differ", Phase: task.Verify, Table: "shop.orders"}
	st.Failures = nil
	st.Verified = &task.VerifySummary{Mode: "checksum", Tables: 5, Rows: 1000000, Different: 2, Diffs: []task.Difference{
		{Table: "shop.orders", Key: "4711", What: "different", Columns: []task.ColumnDiff{{Column: "total", Source: "12.50", Target: "12.05"}}},
		{Table: "shop.orders", Key: "4712", What: "missing"},
	}}
	return st
}

func TestAStatusShowsAllThatMattersNow(t *testing.T) {
	for name, st := range map[string]task.Status{
		"running": running(), "failed": failed(), "done": done(), "mismatched": mismatched(),
		"outline": {ID: "copy-1", Kind: task.Copy, Name: "a → b", State: task.Pending, Progress: task.Progress{ETASeconds: -1}, StartedAt: ago(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, Status(&out, st, Style{Now: now}))
			golden(t, "status_"+name, out.String())
		})
	}
}

func TestColorsChangeNothingButTheColor(t *testing.T) {
	for _, st := range []task.Status{running(), failed(), done()} {
		var plain, colored bytes.Buffer
		require.NoError(t, Status(&plain, st, Style{Now: now}))
		require.NoError(t, Status(&colored, st, Style{Now: now, Color: true}))
		require.NotEqual(t, plain.String(), colored.String())
		require.Equal(t, plain.String(), uncolored(colored.String()))
	}
}

func TestAListAlignsItsColumns(t *testing.T) {
	older := done()
	older.ID, older.StartedAt, older.EndedAt = "nightly", ago(50*time.Hour), ago(49*time.Hour)
	var out bytes.Buffer
	require.NoError(t, List(&out, []task.Status{running(), failed(), older}, Style{Now: now}))
	golden(t, "list", out.String())

	out.Reset()
	require.NoError(t, List(&out, nil, Style{Now: now}))
	require.Equal(t, "no migrations\n", out.String())
}

func TestAPlanShowsTablesTypesAndSQL(t *testing.T) {
	plan := task.Plan{
		Kind: task.Copy, Name: "legacy → warehouse", Source: "legacy: MariaDB 10.11.6", Target: "warehouse: PostgreSQL 15.14",
		Tables: []task.TablePlan{
			{Source: "shop.orders", Target: "public.orders", Rows: 1000000, Bytes: 209715200, Shards: 4, Key: []string{"id"}, Columns: []task.ColumnPlan{
				{Source: "id", SourceType: "int(10) unsigned", Target: "id", TargetType: "bigint"},
				{Source: "total", SourceType: "decimal(12,2)", Target: "total", TargetType: "numeric(12,2)", Note: "exact"},
			}},
			{Source: "shop.log", Target: "public.log", Rows: 12, Bytes: 16384, Shards: 1, Notes: []string{"no usable key: one shard, which starts again when it is interrupted"}},
		},
		Statements: []string{"CREATE TABLE public.orders (\n  id bigint NOT NULL,\n  total numeric(12,2)\n)", "ANALYZE public.orders;"},
		Warnings:   []string{"shop.orders has a trigger, which is not copied"},
		RowsTotal:  1000012, BytesTotal: 209731584, Shards: 5, Estimate: 42 * time.Second, Advice: "leave it: about 42s",
	}
	var out bytes.Buffer
	require.NoError(t, Plan(&out, plan, Style{Now: now}))
	golden(t, "plan", out.String())
}

func TestEventsTellWhatHappenedOnALineEach(t *testing.T) {
	events := []task.Event{
		{No: 1, At: now, What: "started", Phase: task.Preflight, Detail: "by ann@db1"},
		{No: 12, At: now, What: "shard done", Phase: task.Transform, Table: "shop.orders", Shard: 3, Attempt: 2, Duration: 4200 * time.Millisecond,
			Detail: "shop.orders 3/8: 125000 rows"},
		{No: 13, At: now, What: "shard failed", Phase: task.Transform, Table: "shop.orders", Shard: 5,
			Error: &task.Failure{Class: task.Data, Message: "value \"x\"\nof row 7"}, Stack: "a.go:1\nb.go:2"},
		{No: 14, At: now, What: "failed", Phase: task.Transform, Detail: "shard shop.orders 5/8 failed",
			Error: &task.Failure{Class: task.Data, Message: "shard shop.orders 5/8 failed"}},
	}
	var out bytes.Buffer
	for _, event := range events {
		out.WriteString(Event(event, EventStyle{Style: Style{Now: now}, Stack: true}) + "\n")
	}
	golden(t, "events", out.String())
}

func TestLinesOfAMigrationAtWork(t *testing.T) {
	var out bytes.Buffer
	for _, st := range []task.Status{running(), failed(), done()} {
		style := Style{Now: now}
		out.WriteString(Title(st, style) + "\n" + Overall(st, 20) + "\n" + Strip(st, style) + "\n" + Line(st, style) + "\n")
		for _, beat := range st.Running {
			out.WriteString(Shard(beat, 14) + "\n")
		}
	}
	golden(t, "watch", out.String())
}

func TestBarsAreDrawnInEighths(t *testing.T) {
	require.Equal(t, "░░░░", Bar(-5, 4))
	require.Equal(t, "█▌░░", Bar(37.5, 4))
	require.Equal(t, "████", Bar(130, 4))
}

func TestDurationsAreAsExactAsTheirSizeCallsFor(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0.4s": 400 * time.Millisecond, "59s": 59900 * time.Millisecond, "3m05s": 185 * time.Second, "2h05m": 125 * time.Minute, "3d04h": 76 * time.Hour,
	} {
		require.Equal(t, want, Duration(d))
	}
}

func uncolored(s string) string { return text.StripEscape(s) }

func TestAShardCountsRowsAndAPhaseSteps(t *testing.T) {
	require.Equal(t, "  shop.orders 3  ███████▌░░░░░░░  50.0 %  500 of 1,000 rows", Shard(task.Heartbeat{Table: "shop.orders", Shard: 3, Rows: 500, RowsTotal: 1000}, 0))
	require.Equal(t, "  index orders_placed  step 3 of 37", Shard(task.Heartbeat{Table: "index orders_placed", Rows: 2, RowsTotal: 37}, 0))
}

func TestAMeterTellsHowMuchIsDoneAndHowFast(t *testing.T) {
	require.Equal(t, "making it  0.0 %", Meter("making it", 0, 0, 0, 0))
	require.Equal(t, "making it  25.0 %  250 of 1,000 rows  100 rows/s", Meter("making it", 250, 1000, 2500*time.Millisecond, 0))
	require.Equal(t, "making it  ██████████  100.0 %  1,000 of 1,000 rows", Meter("making it", 1000, 1000, time.Second, 10))
}
