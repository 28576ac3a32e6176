package view

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestTheStepsOfAPipelineAreShownWithWhatTheyDoAndWaitFor(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := func(d time.Duration) *time.Time { at := now.Add(-d); return &at }
	st := task.Status{ID: "p", Kind: task.Pipeline, Name: "split", State: task.Failed, Phase: task.Transform, Steps: []task.PhaseStatus{
		{Name: "add", Kind: "ddl", State: task.Success, StartedAt: ago(time.Hour), EndedAt: ago(30 * time.Minute), Attempts: 1, Undo: "can be undone until tomorrow"},
		{Name: "index", Kind: "reindex", State: task.Skipped, Detail: "when was not true: the query says 0"},
		{Name: "fill", Kind: "backfill", Group: "both", State: task.Failed, StartedAt: ago(time.Minute), EndedAt: ago(time.Second), Attempts: 3, Detail: "waits for an operator"},
	}}
	var out strings.Builder
	require.NoError(t, Status(&out, st, Style{Now: now}))
	require.Regexp(t, `add\s+ddl\s+SUCCESS\s+30m\S*\s+can be undone until tomorrow`, out.String())
	require.Regexp(t, `index\s+reindex\s+SKIPPED\s+when was not true`, out.String())
	require.Regexp(t, `both/fill\s+backfill\s+FAILED\s+\S+\s+try 3\s+waits for an operator`, out.String())
	require.NotContains(t, out.String(), "phases")
}

func TestThePlanOfAPipelineSaysWhereThereIsNoWayBack(t *testing.T) {
	plan := task.Plan{Kind: task.Pipeline, Name: "split", Steps: []task.StepPlan{
		{Name: "add", Kind: "ddl", Does: "ddl shop: orders", Undo: "can be undone for 24h after it is done", Plan: &task.Plan{Statements: []string{"ALTER TABLE orders ADD COLUMN region text"}}},
		{Name: "tell", Kind: "http", Does: "POST https://example.test/", Undo: "a call cannot be taken back", Final: true},
		{Name: "fill", Kind: "backfill", Group: "both", Does: "backfill shop: orders", Problem: "cannot be planned as the databases are now"},
	}, Warnings: []string{"step tell is a point of no return: a call cannot be taken back"}}
	var out strings.Builder
	require.NoError(t, Plan(&out, plan, Style{}))
	for _, want := range []string{"POINT OF NO RETURN: a call cannot be taken back", "ALTER TABLE orders ADD COLUMN region text;", "both/fill: backfill", "! cannot be planned as the databases are now", "! step tell is a point of no return"} {
		require.Contains(t, out.String(), want)
	}
}
