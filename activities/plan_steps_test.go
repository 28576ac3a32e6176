package activities

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/spec"
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

func TestAWayBackThatRunsOutWhileSomebodyIsWaitedForIsWarnedOf(t *testing.T) {
	const waits = "  - {name: go, approve: true}\n"
	fill := func(keep string) string {
		return `  - {name: fill, backfill: {database: s, table: t, set: {a: "1"}, keep_old: ` + keep + "}}\n"
	}
	warning := keptTooShort(stepsOf(t, fill("24h")+waits))
	require.Contains(t, warning, "the way back of fill (24h) is kept from the end of the step itself, also while step go waits")
	require.Empty(t, keptTooShort(stepsOf(t, fill("168h")+waits)))
	require.Empty(t, keptTooShort(stepsOf(t, waits+fill("24h"))), "nobody is waited for after it")
}
