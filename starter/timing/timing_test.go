package timing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/starter/timing"
)

var now = time.Date(2024, 10, 26, 12, 0, 0, 0, time.UTC)

func TestMistakesOfATimingAreNamedWithWhatMayStandThere(t *testing.T) {
	for _, test := range []struct{ cron, at, zone, said string }{
		{said: `when? --cron "0 2 * * *" starts it again and again, --at "2024-10-27 02:00" once`},
		{cron: "@daily", at: "2025-01-01 00:00", said: "--cron and --at exclude each other"},
		{cron: "@daily", zone: "Berlin", said: `--timezone "Berlin" is not a zone: it is a name like Europe/Berlin`},
		{cron: "@daily", zone: "Local", said: `--timezone "Local" is not a zone`},
		{cron: "0 2 * *", said: `--cron "0 2 * *": it has 4 fields instead of 5`},
		{cron: "0 0 2 * * *", said: "it has 6 fields instead of 5"},
		{cron: "61 2 * * *", said: `"61" cannot be the minute: it is 0-59`},
		{cron: "0 24 * * *", said: `"24" cannot be the hour: it is 0-23`},
		{cron: "0 2 0 * *", said: `"0" cannot be the day of the month: it is 1-31`},
		{cron: "0 2 * * 7", said: `"7" cannot be the day of the week: it is 0-6 or SUN-SAT, 0 is Sunday`},
		{cron: "0 2 * * MON-FIR", said: `did you mean "FRI"?`},
		{cron: "0 2 * JNA *", said: `did you mean "JAN"?`},
		{cron: "0 2 ? * *", said: `"?" cannot be the day of the month`},
		{cron: "*/0 2 * * *", said: `"*/0" cannot be the minute`},
		{cron: "0 22-4 * * *", said: `"22-4" cannot be the hour`},
		{cron: "0 2 1 * MON", said: "it names days of the month (1) and of the week (MON)"},
		{cron: "0 2 30 FEB *", said: "no calendar has such a day"},
		{cron: "@dialy", said: `did you mean "@daily"?`},
		{cron: "@reboot", said: "there are @every 12h, @hourly, @daily"},
		{cron: "@every soon", said: "after @every stands a time in whole seconds like 90s"},
		{cron: "@every 1500ms", said: "after @every stands a time in whole seconds"},
		{cron: "TZ=", said: "name the zone with --timezone instead of TZ="},
		{at: "tomorrow", said: `--at "tomorrow" is not a time: write it like "2024-10-27 02:00" (in --timezone), or with its offset like "2024-10-27T12:00:00Z"`},
		{at: "2024-10-26 12:00", said: "is in the past: now it is 2024-10-26 12:00:00 in UTC; to start it now, use `godwit run`"},
		{at: "2024-10-26 14:00", zone: "Europe/Berlin", said: "is in the past: now it is 2024-10-26 14:00:00 in Europe/Berlin"},
		{at: "2025-03-30 02:30", zone: "Europe/Berlin", said: "does not exist in Europe/Berlin: clocks are put forward"},
		{at: "2024-10-27 02:30", zone: "Europe/Berlin", said: "comes twice in Europe/Berlin, as clocks are put back: write 2024-10-27T02:30:00+0"},
		{at: "2024-02-30 02:00", said: "is not a time"},
	} {
		_, err := timing.Read(test.cron, test.at, test.zone, now)
		require.ErrorContains(t, err, test.said, "%+v", test)
	}
}

func TestExpressionsThatTemporalUnderstandsAlikeAreTaken(t *testing.T) {
	for _, cron := range []string{"0 2 * * *", " */15 8-17 * * mon-fri ", "0 2 1,15 * *", "0 2 29 FEB *", "@weekly", "@every 90s", "0 2 * JAN-MAR/2 *"} {
		read, err := timing.Read(cron, "", "Europe/Berlin", now)
		require.NoError(t, err, cron)
		require.Nil(t, read.At)
		require.Equal(t, "Europe/Berlin", read.Timezone)
	}
}

func TestATimeIsOneOfTheZoneUnlessItHasAnOffset(t *testing.T) {
	for text, want := range map[string]string{
		"2024-12-01 02:00":          "2024-12-01T02:00:00+01:00",
		"2024-12-01T02:00:30":       "2024-12-01T02:00:30+01:00",
		"2024-12-01T02:00:00Z":      "2024-12-01T03:00:00+01:00",
		"2024-10-27T02:30:00+02:00": "2024-10-27T02:30:00+02:00",
	} {
		read, err := timing.Read("", text, "Europe/Berlin", now)
		require.NoError(t, err, text)
		require.Equal(t, want, read.At.Format(time.RFC3339), text)
	}
	read, err := timing.Read("", "2024-12-01 02:00", "", now)
	require.NoError(t, err)
	require.Equal(t, "UTC", read.Timezone)
}
