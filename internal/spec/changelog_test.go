package spec

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestNotedChangesAreLimitedUnlessSomebodySaysOtherwise(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		name     string
		throttle string
		change   *string
		want     ChangelogLimit
	}{
		{"nothing said", `{}`, nil, ChangelogLimit{Rows: 1_000_000}},
		{"no throttle at all", `"none"`, nil, ChangelogLimit{}},
		{"a number", `{"max_changelog": 500}`, nil, ChangelogLimit{Rows: 500}},
		{"any number", `{"max_changelog": 0}`, nil, ChangelogLimit{}},
		{"fields", `{"max_changelog": {"rows": 500, "then": "stop"}}`, nil, ChangelogLimit{Rows: 500, Then: ThenStop}},
		{"an operator's number", `{"max_changelog": {"rows": 500, "then": "stop"}}`, text("700"), ChangelogLimit{Rows: 700, Then: ThenStop}},
		{"an operator's number without one of the spec", `"none"`, text("700"), ChangelogLimit{Rows: 700}},
		{"taken away by an operator", `{"max_changelog": {"rows": 500, "then": "stop"}}`, text("none"), ChangelogLimit{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var limits Throttle
			require.NoError(t, json.Unmarshal([]byte(c.throttle), &limits))
			written, err := json.Marshal(limits)
			require.NoError(t, err)
			var again Throttle
			require.NoError(t, json.Unmarshal(written, &again))
			require.Equal(t, limits, again)
			limits, err = limits.With(&task.ThrottleSettings{MaxChangelog: c.change})
			require.NoError(t, err)
			require.Equal(t, c.want, limits.Changelog())
		})
	}
	_, err := Throttle{}.With(&task.ThrottleSettings{MaxChangelog: text("many")})
	require.ErrorContains(t, err, "max_changelog: \"many\" is not a number of noted changes")
}
