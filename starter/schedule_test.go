package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"godwit/internal/task"
	"godwit/starter/control"
)

// schedules reads the schedules as a program would.
func (r *rig) schedules() map[string]control.Schedule {
	r.t.Helper()
	var listed []control.Schedule
	require.NoError(r.t, json.Unmarshal([]byte(r.must("schedule", "list", "-o", "json").out), &listed))
	byID := map[string]control.Schedule{}
	for _, s := range listed {
		byID[s.ID] = s
	}
	return byID
}

// untilSchedule waits for a schedule to stand as wanted.
func (r *rig) untilSchedule(id string, wanted func(control.Schedule) bool) control.Schedule {
	r.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		s := r.schedules()[id]
		if wanted(s) {
			return s
		}
		require.True(r.t, time.Now().Before(deadline), "it does not come about: %+v", s)
		time.Sleep(100 * time.Millisecond)
	}
}

// book makes a schedule of the test's name, which is gone after it.
func (r *rig) book(args ...string) (id string, made answer) {
	r.t.Helper()
	id = r.t.Name()
	made = r.must(append([]string{"schedule", specFile(r.t), "--id", id}, args...)...)
	r.t.Cleanup(func() { r.call("schedule", "delete", id) })
	return id, made
}

func TestAScheduleTellsItsIDAndTheNextTimes(t *testing.T) {
	r := newRig(t)
	id, made := r.book("--cron", "30 2 * * *", "--timezone", "Asia/Tokyo")
	require.Equal(t, id+"\n", made.out)
	require.Regexp(t, `it starts legacy → warehouse at\n(  \w{3} \d{4}-\d\d-\d\d 02:30:00 JST\n){3}$`, made.notes)

	s := r.untilSchedule(id, func(s control.Schedule) bool { return s.ID != "" })
	require.Equal(t, "30 2 * * *", s.Cron)
	require.Equal(t, "Asia/Tokyo", s.Timezone)
	require.Equal(t, 24*time.Hour, s.Next[1].Sub(s.Next[0]))
	require.EqualValues(t, 3600, s.CatchUp)
	require.Contains(t, r.must("schedule", "list").out, "30 2 * * * Asia/Tokyo")

	again := r.call("schedule", specFile(t), "--id", id, "--cron", "@daily")
	require.Equal(t, exitOther, again.code)
	require.Contains(t, again.notes, "there is a schedule "+id+" already; choose another --id")
}

func TestAScheduledStartIsTheSameAsThatOfRun(t *testing.T) {
	r := newRig(t)
	id, _ := r.book("--cron", "@yearly", "--name", "moving", "--priority", "2")
	triggered := strings.TrimSpace(r.must("schedule", "trigger", id, "--wait", "-o", "json").out)
	var st task.Status
	require.NoError(t, json.Unmarshal([]byte(triggered), &st))
	require.Regexp(t, "^"+id+`-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`, st.ID)
	require.Equal(t, task.Success, st.State)
	r.must("run", specFile(t), "--id", id+"-run", "--name", "moving", "--priority", "2", "--wait")

	c := r.server.Dial()
	defer c.Close()
	describe := func(id string) *client.WorkflowExecutionDescription {
		described, err := c.DescribeWorkflow(context.Background(), id, "")
		require.NoError(t, err)
		return described
	}
	scheduled, run := describe(st.ID), describe(id+"-run")
	summary, err := scheduled.GetStaticSummary()
	require.NoError(t, err)
	require.Equal(t, "copy moving", summary)
	details, err := scheduled.GetStaticDetails()
	require.NoError(t, err)
	require.Contains(t, details, "started by the schedule "+id+", made by ")
	require.Equal(t, run.TaskQueueName, scheduled.TaskQueueName)
	require.Equal(t, run.WorkflowType, scheduled.WorkflowType)
	scheduledInfo, runInfo := scheduled.RawResponse.GetWorkflowExecutionInfo(), run.RawResponse.GetWorkflowExecutionInfo()
	require.EqualValues(t, 2, scheduledInfo.GetPriority().GetPriorityKey())
	require.Equal(t, runInfo.GetMemo().GetFields()["name"].GetData(), scheduledInfo.GetMemo().GetFields()["name"].GetData())
	for name, value := range runInfo.GetSearchAttributes().GetIndexedFields() {
		if strings.HasPrefix(name, "Godwit") {
			require.Equal(t, string(value.GetData()), string(scheduledInfo.GetSearchAttributes().GetIndexedFields()[name].GetData()), name)
		}
	}
	input := func(id string) string {
		event, err := c.GetWorkflowHistory(context.Background(), id, "", false, 1).Next()
		require.NoError(t, err)
		return string(event.GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()[0].GetData())
	}
	require.JSONEq(t, input(id+"-run"), input(st.ID))
}

func TestWhileARunIsNotOverItsScheduleSkipsAndCounts(t *testing.T) {
	r := newRig(t)
	release := r.block()
	id, _ := r.book("--cron", "@every 1s")
	s := r.untilSchedule(id, func(s control.Schedule) bool { return s.Skipped >= 2 })
	require.Equal(t, 1, s.Runs)
	require.Equal(t, task.Running, r.until(s.Last.ID, func(st task.Status) bool { return st.State == task.Running }).State)
	refused := r.call("schedule", "trigger", id)
	require.Equal(t, exitOther, refused.code)
	require.Contains(t, refused.notes, "its last run "+s.Last.ID+" is not over yet (RUNNING)")

	release()
	r.must("wait", s.Last.ID)
	next := r.untilSchedule(id, func(s control.Schedule) bool { return s.Runs >= 2 })
	require.NotEqual(t, s.Last.ID, next.Last.ID)
	r.must("schedule", "delete", id)
}

func TestARunThatKeepsSomethingIsNotOver(t *testing.T) {
	r := newRig(t)
	r.keepFor = time.Hour
	id := t.Name()
	made := r.must("schedule", specFile(t, "existing_rows: replace"), "--id", id, "--cron", "@every 12h")
	require.Contains(t, made.notes, "a run that keeps something for a rollback is not over until keep_old (1d) has passed")
	require.Contains(t, made.notes, "these are 12h00m apart")
	t.Cleanup(func() { r.call("schedule", "delete", id) })

	run := strings.TrimSpace(r.must("schedule", "trigger", id).out)
	r.must("wait", run)
	refused := r.call("schedule", "trigger", id)
	require.Equal(t, exitOther, refused.code)
	require.Contains(t, refused.notes, "is done and keeps something for a rollback, so it is not over yet; `godwit cleanup "+run+"` ends that")
	r.must("cleanup", run)
	r.untilSchedule(id, func(s control.Schedule) bool { return !s.Last.Open })
	require.NotEqual(t, run, strings.TrimSpace(r.must("schedule", "trigger", id).out))
}

func TestAFailedRunPausesItsScheduleUntilAnOperatorResumesIt(t *testing.T) {
	r := newRig(t)
	r.breakShard(2, "broken")
	id, _ := r.book("--cron", "@every 1s")
	s := r.untilSchedule(id, func(s control.Schedule) bool { return s.Paused })
	require.Equal(t, task.Failed, s.Last.State)
	require.Contains(t, s.Note, s.Last.ID)
	require.Empty(t, s.Next)
	listed := r.must("schedule", "list").out
	require.Contains(t, listed, s.Last.ID+" FAILED")
	require.Contains(t, listed, id+" is paused: ")
	require.Contains(t, listed, "go on: godwit schedule resume "+id)

	r.breakShard(2, "")
	r.must("retry", s.Last.ID, "--wait")
	require.Equal(t, task.Success, r.schedules()[id].Last.State, "what was retried counts")
	require.Contains(t, r.must("schedule", "resume", id).out, id+": resumed; next ")
	r.untilSchedule(id, func(now control.Schedule) bool { return now.Runs > s.Runs })
	r.must("schedule", "delete", id)
}

func TestAScheduleThatKeepsGoingStartsAgainAfterAFailure(t *testing.T) {
	r := newRig(t)
	r.breakShard(2, "broken")
	id, _ := r.book("--cron", "@every 1s", "--keep-going")
	s := r.untilSchedule(id, func(s control.Schedule) bool { return s.Runs >= 2 })
	require.False(t, s.Paused)
	require.True(t, s.KeepGoing)
	r.must("schedule", "delete", id)
}

func TestAPausedScheduleStartsNothingUnlessItIsTriggered(t *testing.T) {
	r := newRig(t)
	id, _ := r.book("--cron", "@every 1h")
	require.Contains(t, r.must("schedule", "pause", id, "--reason", "month-end closing").out, id+": paused; go on: godwit schedule resume "+id)
	s := r.schedules()[id]
	require.True(t, s.Paused)
	require.Contains(t, s.Note, "month-end closing (paused by ")
	require.Empty(t, s.Next)

	run := strings.TrimSpace(r.must("schedule", "trigger", id).out)
	r.must("wait", run)
	require.Equal(t, run, r.schedules()[id].Last.ID)
	require.Contains(t, r.must("schedule", "resume", id, "--reason", "closed").out, id+": resumed; next ")
	require.NotEmpty(t, r.schedules()[id].Next)

	require.Contains(t, r.must("schedule", "delete", id).out, id+": deleted")
	gone := r.call("schedule", "resume", id)
	require.Equal(t, exitOther, gone.code)
	require.Contains(t, gone.notes, "there is no schedule "+id)
	require.Equal(t, task.Success, r.status(run).State, "its runs stay")
}

func TestATimeIsStartedOnceAndThenTheScheduleIsOver(t *testing.T) {
	r := newRig(t)
	at := time.Now().Add(3 * time.Second).UTC().Truncate(time.Second)
	id, made := r.book("--at", at.Format(time.RFC3339))
	require.Contains(t, made.notes, at.Format("2006-01-02 15:04:05 UTC"))
	s := r.untilSchedule(id, func(s control.Schedule) bool { return s.Runs == 1 })
	require.Equal(t, id+"-"+at.Format("2006-01-02T15:04:05Z"), s.Last.ID)
	r.must("wait", s.Last.ID)
	s = r.untilSchedule(id, control.Schedule.Over)
	require.Equal(t, 1, s.Runs)
	require.Regexp(t, id+` +once +over +`+s.Last.ID+` SUCCESS`, r.must("schedule", "list").out)
}

func TestAScheduleThatIsNotThereIsAnsweredWithTheNearest(t *testing.T) {
	r := newRig(t)
	id, _ := r.book("--cron", "@daily")
	r.untilSchedule(id, func(s control.Schedule) bool { return s.ID != "" })
	for _, verb := range []string{"pause", "resume", "delete", "trigger"} {
		missing := r.call("schedule", verb, id+"x")
		require.Equal(t, exitOther, missing.code, verb)
		require.Contains(t, missing.notes, "there is no schedule "+id+"x of migrations in namespace \"default\"; did you mean \""+id+"\"?", verb)
	}
}

func TestWithoutAWorkerNothingIsScheduledUnlessOneIsToCome(t *testing.T) {
	r := newRig(t)
	r.stop()
	refused := r.call("schedule", specFile(t), "--id", t.Name(), "--cron", "@daily")
	require.Equal(t, exitOther, refused.code)
	require.Contains(t, refused.notes, "no worker is listening on task queue")
	require.NotContains(t, r.schedules(), t.Name())
	id, _ := r.book("--cron", "@daily", "--no-worker-check")
	require.Contains(t, r.call("schedule", "trigger", id).notes, "no worker is listening on task queue")
}

func TestWhatWasMissedIsMadeUpForWithinTheCatchUpAlone(t *testing.T) {
	r := newRigOn(t, ownServer(t))
	at := time.Now().Add(4 * time.Second).UTC().Truncate(time.Second)
	r.must("schedule", specFile(t), "--id", "late", "--at", at.Format(time.RFC3339))
	r.must("schedule", specFile(t), "--id", "too-late", "--at", at.Format(time.RFC3339), "--catch-up", "10s")
	r.must("schedule", specFile(t), "--id", "often", "--cron", "@every 4s")
	r.untilSchedule("often", func(s control.Schedule) bool { return s.ID != "" })
	r.server.Stop()
	time.Sleep(time.Until(at.Add(15 * time.Second)))
	r.server.Start()

	late := r.untilSchedule("late", func(s control.Schedule) bool { return s.Runs == 1 })
	require.Equal(t, "late-"+at.Format("2006-01-02T15:04:05Z"), late.Last.ID)
	require.Greater(t, late.Last.At.Sub(at), 14*time.Second)
	missed := r.untilSchedule("too-late", func(s control.Schedule) bool { return s.Missed == 1 })
	require.Zero(t, missed.Runs)
	require.True(t, missed.Over(), "%+v", missed)
	require.Equal(t, exitSuccess, r.call("wait", late.Last.ID).code)
	often := r.untilSchedule("often", func(s control.Schedule) bool { return s.Skipped >= 2 })
	require.Zero(t, often.Missed, "of several that were missed one is started, and the others are skipped")
}

func TestMistakesInASchedulingAreSaidBeforeAnythingIsMade(t *testing.T) {
	file := specFile(t)
	for _, test := range []struct {
		args []string
		said string
	}{
		{[]string{}, "which spec file? `godwit schedule FILE --cron …`; `godwit schedule list` shows the schedules that there are"},
		{[]string{file}, `when? --cron "0 2 * * *" starts it again and again`},
		{[]string{file, "--cron", "0 25 * * *"}, `--cron "0 25 * * *": "25" cannot be the hour: it is 0-23`},
		{[]string{file, "--at", "2020-01-01 00:00"}, "is in the past"},
		{[]string{file, "--cron", "@daily", "--timezone", "Europe/Berln"}, `--timezone "Europe/Berln" is not a zone`},
		{[]string{file, "--cron", "@daily", "--catch-up", "5s"}, "--catch-up is at least 10s, got 5.0s"},
		{[]string{file, "--cron", "@daily", "--priority", "9"}, `field "priority"`},
		{[]string{file, "--cron", "@daily", "--id", "every night"}, "choose one with --id"},
		{[]string{file, "--cron", "@daily", "--id", strings.Repeat("x", 108)}, "at most 107 characters"},
		{[]string{"-", "--cron", "@daily"}, "the file is empty"},
		{[]string{"lsit"}, "did you mean `godwit schedule list`?"},
		{[]string{"puase", "nightly"}, "there is no verb \"puase\"; did you mean `godwit schedule pause`?"},
		{[]string{"one.yaml", "two.yaml"}, "one spec file at a time"},
		{[]string{"pause"}, "which schedule? `godwit schedule pause NAME`; `godwit schedule list` shows them"},
		{[]string{"delete", "a", "b"}, "one schedule at a time"},
		{[]string{"trigger", "a", "--wait", "--watch"}, "--wait and --watch exclude each other"},
		{[]string{"list", "all"}, "`godwit schedule list` takes no argument"},
	} {
		got := offline(t, "", append([]string{"schedule"}, test.args...)...)
		require.Equal(t, exitUsage, got.code, "%v: %s", test.args, got.notes)
		require.Contains(t, got.notes, test.said)
		require.Empty(t, got.out, "%v", test.args)
	}
	nameless := offline(t, "kind: copy\nsource: legacy\ntarget: warehouse\n", "schedule", "-", "--cron", "@daily")
	require.Equal(t, exitUsage, nameless.code)
	require.Contains(t, nameless.notes, "a schedule of a spec from standard input needs an --id")
}

func TestEveryAnswerAboutAScheduleIsOneJSONDocument(t *testing.T) {
	r := newRig(t)
	id := t.Name()
	for _, args := range [][]string{
		{specFile(t), "--id", id, "--cron", "@yearly"}, {"list"}, {"pause", id}, {"resume", id}, {"trigger", id}, {"delete", id},
	} {
		answer := r.must(append(append([]string{"schedule"}, args...), "-o", "json")...)
		var document any
		require.NoError(t, json.Unmarshal([]byte(answer.out), &document), "%v: %s", args, answer.out)
	}
}
