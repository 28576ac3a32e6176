package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestRunPrintsTheBareIDAndReturnsAtOnce(t *testing.T) {
	r := newRig(t)
	release := r.block()

	started := r.must("run", specFile(t))
	id := strings.TrimSpace(started.out)
	require.Regexp(t, `^copy-[0-9a-f-]{36}$`, id)
	require.Contains(t, started.notes, "/namespaces/default/workflows/"+id)
	require.Contains(t, started.notes, "godwit watch "+id)

	st := r.until(id, func(st task.Status) bool {
		atWork := slices.DeleteFunc(slices.Clone(st.Running), func(h task.Heartbeat) bool { return h.Rows == 0 })
		return len(atWork) == 3
	})
	require.Equal(t, task.Running, st.State)
	require.Equal(t, task.Transform, st.Phase)
	require.EqualValues(t, 1500, st.Progress.RowsDone, "the rows of the shards at work count")
	require.InDelta(t, 2+34, st.Progress.Percent, 1, "and move the whole")
	require.EqualValues(t, 750, st.Progress.RowsPerSecond)
	require.Equal(t, "workflow", st.Source)
	require.Contains(t, st.Can, "pause")

	release()
	waited := r.must("wait", id)
	require.Contains(t, waited.out, "SUCCESS")
	require.Contains(t, waited.out, "no difference: 3,000 rows of 1 table compared by checksum")
}

func TestTheSameIDNeverRunsTwice(t *testing.T) {
	r := newRig(t)
	release := r.block()
	file, id := specFile(t), t.Name()
	r.must("run", file, "--id", id)

	running := r.call("run", file, "--id", id)
	require.Equal(t, exitOther, running.code)
	require.Contains(t, running.notes, id+" exists already and is ")
	require.Contains(t, running.notes, "use `godwit status "+id+"`")

	release()
	r.must("wait", id)
	done := r.call("run", file, "--id", id)
	require.Equal(t, exitOther, done.code)
	require.Contains(t, done.notes, id+" is done already (SUCCESS)")

	r.breakShard(1, "broken")
	failed := id + "-failed"
	require.Equal(t, exitFailed, r.call("run", file, "--id", failed, "--wait").code)
	again := r.call("run", file, "--id", failed)
	require.Equal(t, exitOther, again.code)
	require.Contains(t, again.notes, failed+" exists already and is FAILED; `godwit retry "+failed+"` continues it")
}

func TestRetryDoesOnlyWhatIsMissing(t *testing.T) {
	r := newRig(t)
	r.breakShard(2, "a value that nobody mends")
	require.Equal(t, exitFailed, r.call("run", specFile(t), "--id", t.Name(), "--wait").code)
	first := r.status(t.Name())

	r.breakShard(2, "")
	retried := r.call("retry", t.Name(), "--reason", "mended", "--wait")
	require.Equal(t, exitSuccess, retried.code, retried.out+retried.notes)
	require.Equal(t, []int{1, 1, 1}, []int{r.timesDone(t.Name(), 1), r.timesDone(t.Name(), 2), r.timesDone(t.Name(), 3)})
	require.NotEqual(t, first.RunID, r.status(t.Name()).RunID)

	nothing := r.call("retry", t.Name())
	require.Equal(t, exitOther, nothing.code)
	require.Contains(t, nothing.notes, "cannot retry: it has ended (SUCCESS)")
}

func TestPlanAsksTheWorker(t *testing.T) {
	r := newRig(t)
	planned := r.must("plan", specFile(t))
	require.Contains(t, planned.out, "CREATE TABLE public.orders (id bigint);")
	require.Contains(t, planned.notes, "nothing has been changed")
}
