package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// offline runs a command line that needs no Temporal.
func offline(t *testing.T, stdin string, args ...string) answer {
	t.Helper()
	var out, notes bytes.Buffer
	code := execute(context.Background(), args, strings.NewReader(stdin), &out, &notes)
	return answer{code: code, out: out.String(), notes: notes.String()}
}

func TestMistakesInUsageExitWithTwoAndSayWhatWasMeant(t *testing.T) {
	for _, test := range []struct {
		args []string
		said string
	}{
		{[]string{"statsu"}, `there is no verb "statsu"; did you mean "status"?`},
		{[]string{"status"}, "which migration? `godwit status ID`; `godwit list` shows the ids"},
		{[]string{"status", "a", "b"}, "one migration at a time"},
		{[]string{"list", "more"}, "`godwit list` takes no argument, got more"},
		{[]string{"run"}, "which spec file?"},
		{[]string{"run", "nowhere.yaml"}, "cannot read the spec: open nowhere.yaml"},
		{[]string{"run", "x", "--wiat"}, "unknown flag: --wiat; did you mean --wait?"},
		{[]string{"list", "--limit", "many"}, `--limit cannot be "many": it is a number`},
		{[]string{"wait", "x", "--timeout", "soon"}, `--timeout cannot be "soon": it is a time like 30s, 5m, 12h or 7d`},
		{[]string{"list", "--state", "runing"}, `--state "runing" is not a state; did you mean "RUNNING"?`},
		{[]string{"list", "--kind", "cpy"}, `--kind "cpy" is not a kind of migration`},
		{[]string{"list", "-o", "yaml"}, `--output "yaml" is neither text nor json`},
		{[]string{"copy", "--source", "a", "--target", "b", "--wait", "--watch"}, "--wait and --watch exclude each other"},
		{[]string{"retry", "x", "--wait", "--watch"}, "--wait and --watch exclude each other"},
		{[]string{"copy", "--source", "a", "--target", "b", "--verify", "chek", "--print-spec"}, `field "verify.mode": "chek" is not a valid choice`},
		{[]string{"copy", "--source", "a", "--target", "a", "--print-spec"}, "same connection"},
		{[]string{"copy", "--target", "b"}, `field "source"`},
	} {
		got := offline(t, "", test.args...)
		require.Equal(t, exitUsage, got.code, "%v: %s", test.args, got.notes)
		require.Contains(t, got.notes, test.said)
		require.Empty(t, got.out, "%v", test.args)
	}
}

func TestEveryMistakeOfASpecIsSaidAtOnceWithItsPlace(t *testing.T) {
	got := offline(t, "kind: copy\nsource: legacy\ntraget: warehouse\npriority: 9\n", "run", "-")
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.notes, "standard input:3:1: ")
	require.Contains(t, got.notes, `did you mean "target"?`)
	require.Contains(t, got.notes, "standard input:4:11: ")
}

func TestFlagsOfACopyMakeTheSpecThatAFileWould(t *testing.T) {
	got := offline(t, "", "copy", "--source", "legacy", "--target", "warehouse", "--table", "shop.*", "--table", "!shop.tmp_*",
		"--table", "shop.orders=public.orders", "--schema", "existing", "--existing-rows", "replace", "--parallel", "8", "--shard-rows", "1000",
		"--rows-per-second", "500", "--verify", "count", "--cutover", "manual", "--keep-old", "7d", "--limit", "12h", "--on-failure", "rollback",
		"--on-timeout", "retry", "--priority", "1", "--name", "moving", "--print-spec")
	require.Equal(t, exitSuccess, got.code, got.notes)

	want, err := spec.Parse("want", []byte(`
kind: copy
name: moving
source: legacy
target: warehouse
tables: ["shop.*", "!shop.tmp_*", {name: shop.orders, to: public.orders}]
schema: existing
existing_rows: replace
shards: {parallel: 8, rows: 1000}
throttle: {rows_per_second: 500}
verify: {mode: count}
cutover: {mode: manual}
keep_old: 7d
timeouts: {total: 12h}
on_failure: rollback
on_timeout: retry
priority: 1
`))
	require.NoError(t, err)
	printed, err := spec.Parse("printed", []byte(got.out))
	require.NoError(t, err, got.out)
	require.Equal(t, want, printed)
}

func TestACopyWithoutFurtherFlagsHasTheDefaultsOfAFile(t *testing.T) {
	got := offline(t, "", "copy", "--source", "legacy", "--target", "warehouse", "--print-spec")
	require.Equal(t, exitSuccess, got.code, got.notes)
	want, err := spec.Parse("want", []byte("kind: copy\nsource: legacy\ntarget: warehouse\n"))
	require.NoError(t, err)
	printed, err := spec.Parse("printed", []byte(got.out))
	require.NoError(t, err)
	require.Equal(t, want, printed)
}

func TestFlagsOfAChangeOfATableMakeTheSpecThatAFileWould(t *testing.T) {
	got := offline(t, "", "ddl", "--database", "shop", "--table", "orders", "--alter", "DROP COLUMN old", "--strategy", "direct", "--undo", "ALTER TABLE orders ADD old int",
		"--cutover", "manual", "--between", "02:00-04:00", "--lock-timeout", "1s", "--retry-delay", "2s", "--kill-blockers", "--kill-most", "1", "--keep-old", "2d",
		"--cutover-limit", "1h", "--print-spec")
	require.Equal(t, exitSuccess, got.code, got.notes)
	want, err := spec.Parse("want", []byte(`
kind: ddl
database: shop
table: orders
alter: DROP COLUMN old
strategy: direct
undo: ALTER TABLE orders ADD old int
cutover: {mode: manual, between: "02:00-04:00", timeout: 1s, retry_delay: 2s}
kill_blockers: {most: 1}
keep_old: 2d
timeouts: {cutover: 1h}
`))
	require.NoError(t, err)
	printed, err := spec.Parse("printed", []byte(got.out))
	require.NoError(t, err, got.out)
	require.Equal(t, want, printed)

	got = offline(t, "", "ddl", "--database", "shop", "--table", "orders", "--alter", "DROP COLUMN old", "--kill-most", "1")
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.notes, "go with --kill-blockers")
}

func TestExitCodesTellHowAMigrationEnded(t *testing.T) {
	for state, code := range map[task.State]int{
		task.Success: 0, task.Failed: 3, task.TimedOut: 4, task.Cancelled: 5, task.RolledBack: 6, task.Running: 1,
	} {
		require.Equal(t, code, exitCode(ended(state)), "%s", state)
	}
	require.Equal(t, 1, exitCode(context.Canceled))
	require.Equal(t, 2, exitCode(usagef("wrong")))
}

func TestAMissingTemporalIsSaidWithItsAddress(t *testing.T) {
	got := offline(t, "", "list", "--address", "127.0.0.1:1")
	require.Equal(t, exitOther, got.code)
	require.Equal(t, "godwit: no Temporal answers at 127.0.0.1:1 (tcp 127.0.0.1:1: connect: connection refused); "+
		"start one with `godwit-devserver`, or say where it is with --address or TEMPORAL_ADDRESS\n", got.notes)
}

func TestAnUnreadableConfigurationIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "temporal.toml")
	require.NoError(t, os.WriteFile(file, []byte("[profile.default]\naddress = \"127.0.0.1:1\"\n"), 0o600))
	t.Setenv("TEMPORAL_CONFIG_FILE", file)
	got := offline(t, "", "list", "--profile", "prod")
	require.Equal(t, exitOther, got.code)
	require.Contains(t, got.notes, "the settings for Temporal cannot be used")
	require.Contains(t, got.notes, file)
}

// Every verb teaches: what it does, and an example.
func TestEveryVerbHasHelpAndAnExample(t *testing.T) {
	root := newRoot(&app{in: strings.NewReader(""), out: &bytes.Buffer{}, err: &bytes.Buffer{}})
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		require.NotEmpty(t, cmd.GroupID, cmd.Name())
		for _, verb := range append(cmd.Commands(), cmd) {
			require.NotEmpty(t, verb.Long, verb.CommandPath())
			require.Contains(t, verb.Example, verb.CommandPath(), verb.CommandPath())
			verb.LocalFlags().VisitAll(func(f *pflag.Flag) { require.NotEmpty(t, f.Usage, "%s --%s", verb.CommandPath(), f.Name) })
		}
	}
}

func TestChoicesOfFlagsAreCompleted(t *testing.T) {
	for flag, choice := range map[string]string{
		"list --state": "ROLLED_BACK", "list --kind": "copy", "list --output": "json", "run --priority": "5", "schedule --cron": "@daily",
		"copy --verify": "checksum", "copy --on-timeout": "rollback", "copy --cutover": "manual", "copy --schema": "existing",
	} {
		args := append([]string{cobra.ShellCompRequestCmd}, append(strings.Fields(flag), "")...)
		require.Contains(t, offline(t, "", args...).out, choice+"\n", flag)
	}
}
