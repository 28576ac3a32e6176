package workflows

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/temporal"

	"godwit/internal/task"
)

// metadata is what Temporal tells the Web UI about the workflow.
func (w *world) metadata() *sdkpb.WorkflowMetadata {
	value, err := w.env.QueryWorkflow("__temporal_workflow_metadata")
	require.NoError(w.t, err)
	metadata := &sdkpb.WorkflowMetadata{}
	require.NoError(w.t, value.Get(metadata))
	return metadata
}

// page is the page about the migration in the Web UI at a time.
func (w *world) page(after time.Duration) *string {
	text := new(string)
	w.at(after, func() { *text = w.metadata().GetCurrentDetails() })
	return text
}

func TestThePageAnswersWhatAnOperatorAsks(t *testing.T) {
	w := newWorld(t)
	w.transform = 12
	w.spec.Retry.Delay, w.spec.Retry.MaxDelay = duration(t, "1h"), duration(t, "1h")
	w.fails(task.TransformShardActivity, 3, -1, task.Data).err = temporal.NewNonRetryableApplicationError("value `1|2` of column *note*\nis too long", "data", nil)
	w.signal(10*time.Second, task.ResumeSignal, nil)
	running, waiting := w.page(150*time.Second), w.page(30*time.Minute)
	w.run()
	for _, want := range []string{
		"## legacy → warehouse: RETRYING",
		"phase **transform** · 41.7 % done · 7,000 of 12,000 rows of this phase · 58 rows/s · ends about",
		"| preflight | SUCCESS | ",
		"**Shards:** 7 of 12 done · 4 running (at most 4, no limit on rows per second) · 1 waiting for another try · 0 failed",
		"- `shop.orders 9/12` `transform-0009` since ",
		"- `shop.orders 3/12` round 1 of 2 at ",
		"data error: `value '1|2' of column *note* is too long`",
		"- `godwit pause default-test-workflow-id` stop after the current chunks",
		"- `godwit retry default-test-workflow-id` begin now what waits for another try",
		"resume was ignored: the migration is not paused",
	} {
		require.Contains(t, *running, want)
	}
	require.Contains(t, *waiting, "**Waits for** round 1 of the retry queue at ")
	require.NotContains(t, *running, "**Waits for**", "the others go on")
}

func TestThePageSaysWhatIsWaitedForAndKept(t *testing.T) {
	w := manual(t)
	w.cut = task.CutoverResult{KeepFor: time.Hour, Kept: []task.BackupItem{{What: "table public.orders", Where: "godwit_old.orders", Bytes: 3 << 20}}}
	waiting := w.page(time.Hour)
	w.update(2*time.Hour, task.CutoverUpdate)
	kept := w.page(150 * time.Minute)
	w.run()
	require.Contains(t, *waiting, "**Waits for** an operator: `godwit cutover default-test-workflow-id`")
	require.Contains(t, *waiting, "**Compared** (checksum): 4,000 rows of 1 tables, 0 different")
	require.Contains(t, *kept, ": SUCCESS")
	require.Contains(t, *kept, "- `table public.orders` in `godwit_old.orders`, 3.0 MiB")
	require.Contains(t, *kept, "`godwit cleanup default-test-workflow-id` does it now")
}

func TestThePageStaysSmallHoweverManyShardsFail(t *testing.T) {
	w := newWorld(t)
	w.transform = 200
	w.spec.Throttle.Parallel = 64
	w.spec.Retry.Delay, w.spec.Retry.MaxDelay = duration(t, "1h"), duration(t, "1h")
	w.fails(task.TransformShardActivity, 0, -1, task.Data).err = temporal.NewNonRetryableApplicationError(strings.Repeat("long ", 500), "data", nil)
	text := w.page(30 * time.Minute)
	w.run()
	require.Contains(t, *text, "- and 180 more")
	require.Less(t, len(*text), 20_000, "the limit of the details")
	require.Len(t, w.status.Failures, mostFailures)
}

func TestSummariesAreOneShortLine(t *testing.T) {
	require.Equal(t, "copy shop.orders 3/8", shardSummary(task.Copy, task.Transform, "shop.orders 3/8", 0))
	require.Equal(t, "verify shop.orders 3/8 (round 2)", shardSummary(task.Copy, task.Verify, "shop.orders 3/8", 2))
	require.Equal(t, "transform-0003", shardID(task.Transform, 3))
	long := oneLine("a\nb "+strings.Repeat("表", 100), mostSummary)
	require.LessOrEqual(t, len(long), mostSummary)
	require.True(t, strings.HasPrefix(long, "a b 表"))
	require.True(t, strings.HasSuffix(long, "表…"))
	require.LessOrEqual(t, len(shardSummary(task.Copy, task.Transform, strings.Repeat("x", 300), 1)), mostSummary)
}

func TestEverythingThatCanBeSentIsDescribed(t *testing.T) {
	w := newWorld(t)
	var described []string
	w.at(time.Second, func() {
		d := w.metadata().GetDefinition()
		for _, thing := range slices.Concat(d.GetQueryDefinitions(), d.GetSignalDefinitions(), d.GetUpdateDefinitions()) {
			if !strings.HasPrefix(thing.GetName(), "__") {
				require.NotEmpty(t, thing.GetDescription(), thing.GetName())
				described = append(described, thing.GetName())
			}
		}
	})
	w.run()
	require.ElementsMatch(t, []string{"status", "pause", "resume", "cancel", "cutover", "rollback", "retry", "skip", "throttle", "cleanup",
		task.GrantSignal, task.AnnounceSignal, task.RollbackSignal, task.CleanupSignal, task.ExpireSignal, task.KeepSignal}, described)
}

func TestSearchAttributesChangeOnlyWithThePhaseTheStateAndFivePercent(t *testing.T) {
	w := newWorld(t)
	w.transform, w.verify = 200, 200
	w.spec.Throttle.Parallel = 1
	w.run()
	w.succeeds()
	require.LessOrEqual(t, w.upserts, 7+20)
	require.GreaterOrEqual(t, w.upserts, 20)
}

// TestAHistoryStaysShort counts what the workflow asks for; the server's test
// counts the events.
func TestAHistoryStaysShort(t *testing.T) {
	w := newWorld(t)
	w.transform, w.verify = 32, 32
	timers := 0
	w.env.SetOnTimerScheduledListener(func(string, time.Duration) { timers++ })
	w.run()
	w.succeeds()
	events := 6*len(w.calls) + w.upserts + 2*timers + 5
	t.Logf("about %d events", events)
	require.Less(t, events, 500, "%d activities, %d upserts, %d timers", len(w.calls), w.upserts, timers)
}

func TestThePageTellsOfNotedChanges(t *testing.T) {
	w := newWorld(t)
	oldest := time.Date(2024, 11, 29, 22, 4, 12, 0, time.UTC)
	w.changelog = &task.ChangelogStatus{Pending: 12345, Oldest: &oldest}
	page, status := w.page(150*time.Second), w.look(150*time.Second)
	w.run()
	w.succeeds()
	require.Contains(t, *page, "**Noted changes** still to be applied: 12,345, the oldest since 2024-11-29 22:04:12 UTC")
	require.Equal(t, *w.changelog, status.Changelog)
	require.Zero(t, w.status.Changelog.Pending, "the cut-over has applied them")
}
