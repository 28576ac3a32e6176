package activities

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/spec"
	"godwit/internal/task"
)

func stepsOf(t *testing.T, steps string) []spec.Step {
	t.Helper()
	s, err := spec.Parse("p.yaml", []byte("kind: pipeline\nsteps:\n"+steps))
	require.NoError(t, err)
	return s.Pipeline.Steps
}

func TestAChangeThatCannotBePlannedYetMayBeAPointOfNoReturn(t *testing.T) {
	for text, want := range map[string]bool{
		`{name: a, ddl: {database: s, table: t, alter: "ALTER COLUMN c SET NOT NULL"}}`:                           true,
		`{name: a, ddl: {database: s, table: t, alter: "ADD COLUMN c int", undo: "ALTER TABLE t DROP COLUMN c"}}`: false,
		`{name: a, copy: {source: a, target: b, existing_rows: replace}}`:                                         true,
		`{name: a, sql: {database: s, query: SELECT 0}}`:                                                          false,
	} {
		step := stepsOf(t, "  - "+text+"\n")[0]
		_, final := undoOf(&step, nil)
		require.False(t, final, text)
		require.Equal(t, want, mayBeFinal(&step, nil), text)
	}
	step := stepsOf(t, "  - {name: a, copy: {source: a, target: b}}\n")[0]
	_, final := undoOf(&step, nil)
	require.True(t, final, "rows that are copied into an empty table stay")
}

func TestWhatIsKeptOnTheDiskWhileThePipelineWaitsIsSaid(t *testing.T) {
	online := &task.Plan{BytesTotal: 3 << 30, Tables: []task.TablePlan{{Notes: []string{"done as an online copy of the table: it has to be"}}}}
	direct := &task.Plan{BytesTotal: 3 << 30, Tables: []task.TablePlan{{Notes: []string{"done as a change of metadata"}}}}
	for _, c := range []struct {
		step string
		plan *task.Plan
		want string
	}{
		{`ddl: {database: s, table: t, alter: "ADD COLUMN c int"}`, online, "the old table of step a (about 3.0 GiB)"},
		{`ddl: {database: s, table: t, alter: "ADD COLUMN c int"}`, nil, "the old table of step a, if it becomes an online copy"},
		{`ddl: {database: s, table: t, alter: "ADD COLUMN c int"}`, direct, ""},
		{`ddl: {database: s, table: t, alter: "ADD COLUMN c int", keep_old: 0s}`, online, ""},
		{`ddl: {database: s, table: t, alter: "ADD COLUMN c int", undo: "ALTER TABLE t DROP COLUMN c"}`, nil, ""},
		{`backfill: {database: s, table: t, set: {a: "1"}}`, nil, "the old values of step a"},
		{`backfill: {database: s, table: t, set: {a: "1"}, backup: none}`, nil, ""},
		{`copy: {source: a, target: b, existing_rows: replace}`, nil, "the tables that step a sets aside"},
		{`sql: {database: s, statement: SELECT 1, undo: SELECT 2}`, nil, ""},
	} {
		plans := []task.StepPlan{{Name: "both"}, {Name: "a", Plan: c.plan}}
		want := c.want
		if want != "" {
			want = "kept on the disk until the pipeline is over, however long it waits, and for their keep_old after that: " + want
		}
		require.Equal(t, want, keptOnDisk(stepsOf(t, "  - {name: a, "+c.step+"}\n"), plans), c.step)
		require.Equal(t, want, keptOnDisk(stepsOf(t, "  - {name: both, group: [{name: a, "+c.step+"}]}\n"), plans), c.step)
	}
}

func TestAWayBackIsThereUntilThePipelineIsOver(t *testing.T) {
	step := stepsOf(t, "  - {name: a, backfill: {database: s, table: t, set: {a: \"1\"}, keep_old: 2h}}\n")[0]
	words, final := undoOf(&step, nil)
	require.False(t, final)
	require.Equal(t, "can be undone until the pipeline is over, and for 2h after that", words)
}
