package view

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestNotedChangesAreShownWithTheirAge(t *testing.T) {
	st := running()
	st.Changelog = task.ChangelogStatus{Pending: 12345, Oldest: ago(90 * 1e9), AgeSeconds: 90}
	var b strings.Builder
	require.NoError(t, Status(&b, st, Style{Now: now}))
	require.Contains(t, b.String(), "changes   12,345 noted changes still to be applied, the oldest 1m30s old\n")
	require.Contains(t, Line(st, Style{Now: now}), "12,345 noted changes")

	st.Changelog = task.ChangelogStatus{}
	b.Reset()
	require.NoError(t, Status(&b, st, Style{Now: now}))
	require.NotContains(t, b.String()+Line(st, Style{Now: now}), "noted change")
}
