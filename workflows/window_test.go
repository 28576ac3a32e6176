package workflows

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"godwit/internal/task"
)

func TestAShardThatAlwaysFailsIsNamedWhenAllTheOthersAreDone(t *testing.T) {
	w := newWorld(t)
	w.transform = 12
	w.fails(task.TransformShardActivity, 3, -1, task.Data)
	early, late := w.look(time.Minute+time.Second), w.look(3*time.Minute+time.Second)
	w.run()
	w.failsWith(task.Failed, task.Data)
	require.Equal(t, 11+3, w.count(task.TransformShardActivity), "one first try and two rounds")
	require.NotContains(t, w.names(), task.FinishTransformActivity)

	require.Equal(t, task.Retrying, early.State)
	require.Equal(t, task.ShardCounts{Total: 12, Done: 3, Running: 4, Retrying: 1}, early.Shards, "the others go on")
	require.Equal(t, "data trouble", early.Failures[0].Message)
	require.Equal(t, 3, *early.Failures[0].Shard)
	require.Contains(t, early.Can, verbRetry)
	require.Equal(t, 11, late.Shards.Done)

	require.Equal(t, "shop.orders", w.status.Error.Table)
	require.Equal(t, 3, *w.status.Error.Shard)
	require.Equal(t, "shard shop.orders 3/12 failed also in 2 rounds of the retry queue: data trouble; 11 of 12 shards done", w.status.Error.Message)
	require.Equal(t, task.ShardCounts{Total: 12, Done: 11, Failed: 1}, w.status.Shards)
	require.Equal(t, []string{"retrying", "running", "retrying", "running", "failed"}, w.recorded())
}

func TestAsManyShardsRunAsDoTheServerGoodUnlessTheThrottleSaysMore(t *testing.T) {
	for name, test := range map[string]struct {
		streams, throttle, operator, most int
	}{
		"one stream":                {streams: 1, most: 1},
		"more than the spec lets":   {streams: 8, most: 4},
		"the spec's throttle wins":  {streams: 1, throttle: 3, most: 3},
		"as many as may":            {most: 4},
		"and an operator over both": {streams: 1, throttle: 2, operator: 5, most: 5},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.verify = 1
			w.streams, w.spec.Throttle.Parallel = test.streams, test.throttle
			if test.operator > 0 {
				w.update(time.Second, task.ThrottleUpdate, task.ThrottleSettings{Parallel: &test.operator})
			}
			shown := w.look(30 * time.Second)
			w.run()
			w.succeeds()
			require.Equal(t, test.most, w.most)
			require.Equal(t, test.most, shown.Throttle.Parallel)
		})
	}
}

func TestEveryLostShardIsCounted(t *testing.T) {
	w := newWorld(t)
	w.spec.Retry.Rounds = new(int)
	w.fails(task.TransformShardActivity, 2, -1, task.Config)
	w.fails(task.TransformShardActivity, 7, -1, task.Data)
	soon := w.look(61 * time.Second)
	w.run()
	w.failsWith(task.Failed, task.Config)
	require.True(t, soon.Attention, "an operator can mend it while the others run")
	require.Equal(t, "shard shop.orders 2/8 failed at the first try: config trouble (and 1 other shard: shop.orders 7/8); 6 of 8 shards done", w.status.Error.Message)
}

func TestAShardThatFailedIsDoneInALaterRound(t *testing.T) {
	w := newWorld(t)
	w.fails(task.TransformShardActivity, 5, 2, task.Transient)
	w.run()
	w.succeeds()
	var rounds []int
	for _, c := range w.calls {
		if c.name == task.TransformShardActivity && c.shard == 5 {
			rounds = append(rounds, c.round)
		}
	}
	require.Equal(t, []int{0, 1, 2}, rounds)
	require.Equal(t, 8+2, w.count(task.TransformShardActivity), "no other shard is done again")
	require.Equal(t, 1, w.status.Steps[2].Attempts)
}

func TestTheRoundsWaitLongerAndLonger(t *testing.T) {
	w := newWorld(t)
	w.transform = 1
	rounds := 4
	w.spec.Retry.Rounds = &rounds
	w.spec.Retry.MaxDelay = w.spec.Retry.Delay * 3
	w.fails(task.TransformShardActivity, 1, -1, task.Data)
	w.run()
	var waits []time.Duration
	var last time.Duration
	for _, c := range w.calls {
		if c.name == task.TransformShardActivity {
			waits = append(waits, (c.at - last - time.Minute).Round(time.Second))
			last = c.at
		}
	}
	require.Equal(t, []time.Duration{0, 5 * time.Second, 10 * time.Second, 15 * time.Second, 15 * time.Second}, waits)
}

func TestAVerificationShardThatFailsIsRetriedAsWell(t *testing.T) {
	w := newWorld(t)
	w.fails(task.VerifyShardActivity, 1, 1, task.Transient)
	w.run()
	w.succeeds()
	require.Equal(t, 4+1, w.count(task.VerifyShardActivity))
}

func TestAWorkerThatIsLostCostsNoRound(t *testing.T) {
	w := newWorld(t)
	w.spec.Retry.Rounds = new(int)
	w.fails(task.TransformShardActivity, 2, 9, task.Stopping)
	w.fails(task.TransformShardActivity, 4, 3, task.Stopping).err = temporal.NewApplicationError("workflow reset", resetType)
	w.run()
	w.succeeds()
}

func TestAnOperatorStartsTheWaitingShardsNow(t *testing.T) {
	w := newWorld(t)
	w.spec.Retry.Delay, w.spec.Retry.MaxDelay = duration(t, "1h"), duration(t, "2h")
	w.fails(task.TransformShardActivity, 3, 1, task.Data)
	early := w.update(30*time.Second, task.RetryUpdate)
	a := w.update(5*time.Minute, task.RetryUpdate, task.Request{Reason: "the constraint is gone"})
	w.run()
	w.succeeds()
	require.Contains(t, early.refusal, "nothing waits for another try")
	require.True(t, a.accepted)
	last := slices.IndexFunc(w.calls, func(c call) bool { return c.shard == 3 && c.round == 1 })
	require.Equal(t, 6*time.Minute, w.calls[last].at.Round(time.Second))
}

func TestAnOperatorGivesLostShardsTheirRoundsAgain(t *testing.T) {
	w := newWorld(t)
	w.spec.Retry.Rounds = new(int)
	w.fails(task.TransformShardActivity, 1, 1, task.Data)
	a := w.update(90*time.Second, task.RetryUpdate)
	w.run()
	w.succeeds()
	require.True(t, a.accepted, a.refusal)
}

func TestTheThrottleGrowsAndShrinksTheWindow(t *testing.T) {
	w := newWorld(t)
	w.transform = 40
	rows := int64(5000)
	more, less := 10, 1
	before := w.look(30 * time.Second)
	grown := w.update(31*time.Second, task.ThrottleUpdate, task.ThrottleSettings{Parallel: &more, RowsPerSecond: &rows})
	after := w.look(32 * time.Second)
	w.update(2*time.Minute+time.Second, task.ThrottleUpdate, task.ThrottleSettings{Parallel: &less})
	small := w.look(4 * time.Minute)
	w.run()
	w.succeeds()
	require.Equal(t, 4, before.Shards.Running)
	require.True(t, grown.accepted, grown.refusal)
	require.NoError(t, grown.err)
	require.Equal(t, task.ThrottleStatus{RowsPerSecond: 5000, Parallel: 10, Guards: []task.GuardStatus{}, Held: []task.HeldTime{}}, grown.status.Throttle)
	require.Equal(t, 10, after.Shards.Running)
	require.Equal(t, 1, small.Shards.Running)
	require.Equal(t, 10, w.most)
	require.Equal(t, &task.ThrottleSettings{Parallel: &more, RowsPerSecond: &rows}, w.records[0].Throttle, "running shards read it in the ledger")
	require.Equal(t, "rows_per_second: 5000, parallel: 10", w.records[0].Detail)
	require.Equal(t, &task.ThrottleSettings{Parallel: &less, RowsPerSecond: &rows}, w.records[1].Throttle, "what was changed before stays")
}

func TestAnOperatorsHoldIsShownUntilItIsReleased(t *testing.T) {
	w := newWorld(t)
	reason, none, lag := "until the sale is over", "", "5s"
	held := w.update(31*time.Second, task.ThrottleUpdate, task.ThrottleSettings{Hold: &reason, MaxLag: &lag})
	page := w.look(32 * time.Second)
	released := w.update(40*time.Second, task.ThrottleUpdate, task.ThrottleSettings{Hold: &none})
	w.run()
	w.succeeds()
	require.True(t, held.accepted, held.refusal)
	require.True(t, page.Throttle.Holding)
	require.Equal(t, "hold: until the sale is over", page.Throttle.Reason)
	require.False(t, released.status.Throttle.Holding)
	require.Equal(t, &lag, w.records[1].Throttle.MaxLag)
}

func TestTheThrottleRefusesWhatMakesNoSense(t *testing.T) {
	for text, want := range map[string]string{
		`{"parallel": 0}`:           "from 1 to 64",
		`{"parallel": 65}`:          "from 1 to 64",
		`{"rows_per_second": -1}`:   "must be 0 (no limit) or more",
		`{}`:                        "nothing is to be changed",
		`{"max_lag": "fast"}`:       `max_lag: "fast" is not a duration`,
		`{"min_free_disk": "1GiB"}`: "the spec does not say where to look",
		`{"http": "ftp://x"}`:       "must be an address that begins with http",
		`{"max_active": -1}`:        "-1 is too small",
		`{"resume_at": 101}`:        "101 is out of range",
		`{"paralel": 2}`:            "unknown field",
		`"fast"`:                    "the limits cannot be read",
	} {
		w := newWorld(t)
		a := w.update(time.Second, task.ThrottleUpdate, rawJSON(text))
		w.run()
		w.succeeds()
		require.False(t, a.accepted)
		require.Contains(t, a.refusal, want, text)
	}
}

func TestTheThrottleSaysWhenTheLedgerCouldNotBeTold(t *testing.T) {
	w := newWorld(t)
	two := 2
	w.fails(task.RecordActivity, 0, 4, task.Transient)
	a := w.update(time.Second, task.ThrottleUpdate, task.ThrottleSettings{Parallel: &two})
	w.run()
	w.succeeds()
	require.ErrorContains(t, a.err, "the ledger could not be told")
	require.Equal(t, 2, w.status.Throttle.Parallel)
}

func TestTheSpecsThrottleWinsOverItsShards(t *testing.T) {
	w := newWorld(t)
	w.spec.Copy.Shards.Parallel = 6
	w.spec.Throttle.Parallel = 2
	w.run()
	w.succeeds()
	require.Equal(t, 2, w.most)
}
