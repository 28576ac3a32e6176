package spec

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ddlHead = "kind: ddl\ndatabase: shop\ntable: orders\n"

func TestFourLinesAreACompleteChangeOfATable(t *testing.T) {
	s, err := Parse("s.yaml", []byte(ddlHead+"alter: ADD COLUMN region varchar(16)\n"))
	require.NoError(t, err)
	d := s.DDL
	require.Equal(t, "shop: orders", s.Name)
	require.Equal(t, AutoStrategy, d.Strategy)
	require.Equal(t, 3*time.Second, d.Cutover.Timeout.Std())
	require.Equal(t, time.Second, d.Cutover.RetryDelay.Std())
	require.Nil(t, d.KillBlockers, "nobody's session is ended who was not asked")
	requireRoundTrip(t, s)
}

func TestEndingSessionsIsAskedForAndLimited(t *testing.T) {
	s, err := Parse("s.yaml", []byte(ddlHead+"alter: DROP COLUMN x\nkill_blockers: {after: 5s}\n"))
	require.NoError(t, err)
	require.Equal(t, &KillBlockers{After: Duration(5 * time.Second), Most: 3}, s.DDL.KillBlockers)
}

func TestWhatAChangeOfATableLacksIsNamed(t *testing.T) {
	for _, c := range []struct{ more, want string }{
		{"", `field "alter": is missing`},
		{"alter: ALTER TABLE orders ADD x int\n", `field "alter": is what follows ALTER TABLE and the table's name: leave these out`},
		{"alter: ADD x int\nstrategy: copy\n", `field "strategy": "copy" is not a valid choice; there are auto, direct, shadow`},
		{"alter: ADD x int\nrenames: {a: a}\n", `field "renames.a": is the same name`},
		{"alter: ADD x int\nrenames: {a: c, b: c}\n", `field "renames.b": a is renamed to c as well`},
		{"alter: ADD x int\ncolumns: {x: ''}\n", `field "columns.x": is missing`},
		{"alter: ADD x int\nindexes: later\n", `field "indexes": "later" is not a valid choice; did you mean "after"?`},
		{"alter: ADD x int\ncutover: {timeout: 0s}\n", `field "cutover.timeout": must be longer than 0`},
		{"alter: ADD x int\ncutover: {between: 2-4}\n", `field "cutover.between": "2-4" is not a time of the day`},
		{"alter: ADD x int\ncutover: {between: 02:00-02:00}\n", `field "cutover.between": "02:00-02:00" ends when it begins`},
		{"alter: ADD x int\nundo: DROP COLUMN x\n", `field "undo": is a whole statement: begin it with ALTER TABLE orders`},
		{"alter: ADD x int\nkill_blockers: {most: 0}\n", `field "kill_blockers.most": 0 is out of range`},
	} {
		_, err := Parse("s.yaml", []byte(ddlHead+c.more))
		require.ErrorContains(t, err, c.want)
	}
}

func TestAWindowIsOpenEveryDayAndMayGoOverMidnight(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 5, 7, hour, minute, 0, 0, time.UTC) }
	night := Window("23:30-01:00")
	require.Zero(t, night.Wait(at(23, 30)))
	require.Zero(t, night.Wait(at(0, 59)))
	require.Equal(t, 22*time.Hour+30*time.Minute, night.Wait(at(1, 0)))
	morning := Window("02:00-04:00")
	require.Zero(t, morning.Wait(at(2, 0).In(time.FixedZone("", 7200))), "in UTC, whatever zone the clock shows")
	require.Equal(t, 2*time.Hour, morning.Wait(at(0, 0)))
	require.Equal(t, 22*time.Hour, morning.Wait(at(4, 0)))
	require.Zero(t, Window("").Wait(at(4, 0)))
}
