package throttle

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/connection"
	"godwit/internal/engine/postgres"
	"godwit/internal/fault"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// moment is a time in a test's life.
func moment(seconds float64) time.Time {
	return time.Unix(1000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

// still is a guard that nothing looks for.
func still(mark watermark) *guard {
	return &guard{of: definition{key: "max_lag", name: "max_lag r1", mark: mark, show: seconds}, since: moment(0), end: func() {}}
}

func TestAGuardHoldsFromTheHighWatermarkDownToTheLowOne(t *testing.T) {
	g := still(watermark{high: 10, low: 0.8})
	for i, look := range []struct {
		value float64
		want  string
	}{
		{9.9, ""}, {10, ""}, {10.1, "max_lag r1: 10.1s, and the limit is 10s"}, {9, "max_lag r1: 9s, until it is back at 8s"}, {8, ""}, {9, ""},
		{11, "max_lag r1: 11s, and the limit is 10s"}, {0, ""},
	} {
		g.observe(moment(float64(i)), look.value, "", nil)
		reason, stop := g.says(moment(float64(i)))
		require.NoError(t, stop)
		require.Equal(t, look.want, reason, i)
	}
}

func TestWhatIsLowIsBadForFreeDisk(t *testing.T) {
	g := still(watermark{high: 100, low: 0.8, below: true})
	for i, look := range []struct {
		value float64
		holds bool
	}{{130, false}, {100, false}, {99, true}, {110, true}, {125, false}, {110, false}} {
		g.observe(moment(float64(i)), look.value, "", nil)
		reason, _ := g.says(moment(float64(i)))
		require.Equal(t, look.holds, reason != "", i)
	}
}

func TestALimitOfZeroHoldsAboveZeroOnly(t *testing.T) {
	g := still(watermark{high: 0, low: 0.8})
	for _, look := range []struct {
		value float64
		holds bool
	}{{0, false}, {1, true}, {0, false}, {-1, false}} {
		g.observe(moment(0), look.value, "", nil)
		reason, _ := g.says(moment(0))
		require.Equal(t, look.holds, reason != "", look.value)
	}
}

func TestAReadingThatFailsOrIsOldHoldsAndSaysSo(t *testing.T) {
	g := still(watermark{high: 10, low: 0.8})
	reason, _ := g.says(moment(1))
	require.Equal(t, unread, reason, "nothing is known yet")
	reason, _ = g.says(moment(6))
	require.Equal(t, "max_lag r1: no answer for 6s", reason, "the first look hangs")
	g.observe(moment(7), 1, "", nil)
	reason, _ = g.says(moment(11))
	require.Empty(t, reason)
	reason, _ = g.says(moment(14))
	require.Equal(t, "max_lag r1: no answer for 7s", reason, "a later look hangs")
	g.observe(moment(14), 1, "", nil)
	g.observe(moment(15), 0, "", errors.New("it receives no WAL"))
	reason, _ = g.says(moment(15))
	require.Equal(t, "max_lag r1: it receives no WAL", reason, "a failure holds at once")
	reason, _ = g.says(moment(21))
	require.Equal(t, "max_lag r1: no answer for 7s: it receives no WAL", reason)
	g.observe(moment(22), 1, "", nil)
	reason, _ = g.says(moment(22))
	require.Empty(t, reason)
}

func TestAGuardThatStopsDoesSoForAReadingAndNotForASilence(t *testing.T) {
	g := still(watermark{high: 10, low: 0.8})
	g.of.stop = true
	g.observe(moment(0), 1, "", errors.New("gone"))
	reason, stop := g.says(moment(0))
	require.NoError(t, stop)
	require.NotEmpty(t, reason)
	g.observe(moment(1), 11, "", nil)
	_, stop = g.says(moment(1))
	require.ErrorContains(t, stop, "max_lag r1: 11s, and the limit is 10s: stopped with everything kept")
	require.Equal(t, task.Human, fault.Of(stop).Class)
}

func TestAnotherLimitAppliesToTheReadingThatIsThere(t *testing.T) {
	g := still(watermark{high: 10, low: 0.8})
	g.observe(moment(0), 11, "", nil)
	higher := g.of
	higher.mark.high = 20
	g.change(higher)
	reason, _ := g.says(moment(0))
	require.Empty(t, reason)
	require.Equal(t, task.GuardStatus{Guard: "max_lag r1", Reading: "11s", Limit: "20s"}, g.status(moment(1)))
}

func TestAStandbyThatStandsStillFallsBehindWithTime(t *testing.T) {
	f := newFollowers()
	look := func(at float64, position int64, found ...postgres.Follower) (time.Duration, string) {
		lag, who, err := f.look(moment(at), found, position)
		require.NoError(t, err)
		return lag, who
	}
	at := func(position, of int64) postgres.Follower {
		return postgres.Follower{Name: "standby", Position: position, Behind: of - position, Attached: true}
	}
	lag, _ := look(0, 100, at(100, 100))
	require.Zero(t, lag)
	lag, _ = look(1, 200, at(100, 200))
	require.Zero(t, lag, "it is behind since now")
	lag, who := look(4, 300, at(100, 300))
	require.Equal(t, 3*time.Second, lag)
	require.Equal(t, "standby", who)
	lag, _ = look(5, 300, at(250, 300))
	require.Equal(t, time.Second, lag, "the server passed 250 with what was seen at 4")
	lag, _ = look(60, 300, at(300, 300))
	require.Zero(t, lag, "an idle one is not behind")
	slot := postgres.Follower{Name: "slot forgotten", Position: 100, Behind: 200}
	lag, who = look(61, 300, at(300, 300), slot)
	require.Equal(t, 60*time.Second, lag)
	require.Equal(t, "slot forgotten, which nobody reads", who)
	_, _, err := f.look(moment(62), nil, 300)
	require.EqualError(t, err, "standby does not stream any more")
	lag, _ = look(63, 300, at(300, 300))
	require.Zero(t, lag, "it is back")
}

func TestTheMedianOfTheLastCommitsDecides(t *testing.T) {
	var l latency
	require.Zero(t, l.median(moment(0)))
	for i, took := range []time.Duration{1, 1, 100, 1} {
		l.add(moment(float64(i)), took*time.Millisecond)
	}
	require.Equal(t, time.Millisecond, l.median(moment(4)), "one slow one is nothing")
	for i := range 3 {
		l.add(moment(float64(5+i)), 100*time.Millisecond)
	}
	require.Equal(t, 100*time.Millisecond, l.median(moment(8)))
	require.Zero(t, l.median(moment(60)), "they are too old")
}

func TestTimeHeldIsAddedUpWhileAtLeastOneShareWaits(t *testing.T) {
	a := newAccount()
	a.begin(moment(0), "max_lag", "5 s")
	a.begin(moment(1), "max_lag", "6 s")
	require.Empty(t, a.due(moment(5), false), "it goes on, and is reported every ten seconds")
	due := a.due(moment(10), false)
	require.Equal(t, 10*time.Second, due["max_lag"].pending)
	a.end(moment(11), "max_lag")
	require.Empty(t, a.due(moment(11), false), "the other one still waits")
	a.end(moment(13), "max_lag")
	due = a.due(moment(13), false)
	require.Equal(t, 3*time.Second, due["max_lag"].pending)
	require.Equal(t, "6 s", due["max_lag"].detail)
	require.Empty(t, a.due(moment(14), true))
	a.again("max_lag", due["max_lag"])
	require.Equal(t, 3*time.Second, a.due(moment(15), true)["max_lag"].pending, "what could not be reported is not lost")
}

func TestARateIsReportedEveryTenSecondsThoughItIsWaitedForAgainAndAgain(t *testing.T) {
	a := newAccount()
	for i := range 10 {
		a.begin(moment(float64(i)), rowsKey, "")
		a.end(moment(float64(i)+0.5), rowsKey)
		require.Empty(t, a.due(moment(float64(i)+0.6), false))
	}
	require.Equal(t, 5*time.Second, a.due(moment(10), false)[rowsKey].pending)
}

func TestEveryGuardOfASpecIsDefined(t *testing.T) {
	connections, err := connection.Load("", []string{"GODWIT_CONNECTION_A=mysql://u:p@localhost/a", "GODWIT_CONNECTION_B=postgres://u:p@localhost/b"})
	require.NoError(t, err)
	defer connections.Close()
	w := NewWatch(connections)
	q := question{watch: w, written: "b", read: []string{"a"}, limits: spec.Throttle{
		Replicas: []string{"r"}, MaxLag: 1, MaxActive: 1, MaxIOWaits: 1, MaxCommitLatency: 1, MaxLogGrowth: &spec.LogGrowth{Bytes: 1, Then: spec.ThenStop},
		MaxArchiveQueue: 1, MaxTransactionAge: 1, MinFreeDisk: &spec.FreeDisk{Bytes: 1, URL: "https://disk.example.com/free?token=secret"},
		Query: &spec.QueryGuard{SQL: "SELECT 1", Connection: "a"}, HTTP: "https://example.com/go",
	}}
	var names []string
	for _, d := range q.definitions() {
		names = append(names, d.name)
		require.Equal(t, 0.8, d.mark.low, d.name)
		require.Equal(t, d.key == "max_log_growth", d.stop, d.name)
		require.Equal(t, d.key == "min_free_disk", d.mark.below, d.name)
	}
	require.Equal(t, []string{"max_lag r", "max_lag of b", "max_active b", "max_io_waits b", "max_transaction_age b", "max_active a", "max_io_waits a", "max_transaction_age a",
		"max_commit_latency b", "max_log_growth b", "max_archive_queue b", "min_free_disk https://disk.example.com/free", "query on a", "http https://example.com/go"}, names)
}
