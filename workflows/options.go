package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

const (
	// workLimit bounds one attempt of an activity that does work. It is
	// generous: the spec's limits end a phase, and a missing heartbeat tells
	// of a lost worker.
	workLimit = 7 * 24 * time.Hour
	heartbeat = 10 * time.Second
	// recordLimit bounds one attempt to write to the ledger, and
	// recordAttempts how many there are: the ledger must not hold up what it
	// only tells about.
	recordLimit    = 10 * time.Second
	recordAttempts = 4

	minDelay       = time.Second
	firstCallDelay = time.Second
	longestRetry   = 30 * time.Second

	// mostSummary is the longest summary of an activity or timer, in bytes.
	mostSummary = 200
)

// panicType is the type of the error of an activity that panicked.
const panicType = "PanicError"

// forShards are the classes that the server does not retry by itself. The
// activity counts attempts without progress in the ledger; when they are used
// up, or the error is one of these, the shard goes to the retry queue.
var forShards = []string{
	string(task.Data), string(task.Config), string(task.Human), string(task.Mismatch), string(task.Superseded),
	string(task.Timeout), string(task.Undone), string(task.Internal), panicType,
}

// forPhases has transient and busy besides, so that they come to the workflow,
// which shows them and waits in the open. What remains to the server is a worker that
// stops or is lost: it starts again as often as need be.
var forPhases = append([]string{string(task.Transient), string(task.Busy)}, forShards...)

// working are the options of an activity that does work.
func working(ctx workflow.Context, id, summary string, notRetried []string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID:          id,
		Summary:             oneLine(summary, mostSummary),
		StartToCloseTimeout: workLimit,
		HeartbeatTimeout:    heartbeat,
		WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:        time.Second,
			BackoffCoefficient:     2,
			MaximumInterval:        longestRetry,
			NonRetryableErrorTypes: notRetried,
		},
	})
}

// recording are the options of an activity that writes a change of state to
// the ledger.
func recording(ctx workflow.Context, id, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID:          id,
		Summary:             oneLine(summary, mostSummary),
		StartToCloseTimeout: recordLimit,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:        time.Second,
			BackoffCoefficient:     2,
			MaximumAttempts:        recordAttempts,
			NonRetryableErrorTypes: forShards,
		},
	})
}

// startTimer starts a timer that has a name in the Web UI. It is ready when it
// has fired, or when stop or the context ended it.
func startTimer(ctx workflow.Context, after time.Duration, summary string) (timer workflow.Future, stop func()) {
	ctx, stop = workflow.WithCancel(ctx)
	timer = workflow.NewTimerWithOptions(ctx, max(after, time.Millisecond), workflow.TimerOptions{Summary: oneLine(summary, mostSummary)})
	return timer, stop
}

// shardID is the activity id by which the Web UI and the Temporal CLI know a
// shard; it is unique among the activities that run at the same time.
func shardID(phase task.Phase, no int) string { return fmt.Sprintf("%s-%04d", phase, no) }

// shardSummary says what is done to which part of which table.
func shardSummary(kind task.Kind, phase task.Phase, label string, round int) string {
	verb := string(kind)
	if phase == task.Verify {
		verb = string(task.Verify)
	}
	if round > 0 {
		return fmt.Sprintf("%s %s (round %d)", verb, oneLine(label, mostSummary-40), round)
	}
	return verb + " " + label
}

// oneLine makes a text fit a summary: no line breaks, at most so many bytes,
// no broken characters.
func oneLine(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	const dots = "…"
	return strings.ToValidUTF8(text[:most-len(dots)], "") + dots
}
