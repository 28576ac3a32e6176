package spec

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/document"
	"godwit/internal/task"
)

func readExample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return data
}

func TestAShortSpecIsCompleteOnceItIsParsed(t *testing.T) {
	s, err := Parse("short.yaml", readExample(t, "short.yaml"))
	require.NoError(t, err)
	rounds, keep := 2, Duration(24*time.Hour)
	require.Equal(t, &Spec{
		Common: Common{
			Kind: task.Copy, Name: "legacy → warehouse", Priority: 3,
			Timeouts: Timeouts{Preflight: Duration(10 * time.Minute), Cutover: Duration(10 * time.Minute)},
			Retry:    Retry{Attempts: 3, Rounds: &rounds, Delay: Duration(5 * time.Second), MaxDelay: Duration(5 * time.Minute)},
			Verify:   Verify{Mode: Checksum, Report: 100}, OnFailure: Hold, OnTimeout: TimeoutFail,
		},
		Copy: &CopySpec{
			Source: "legacy", Target: "warehouse", Mode: Offline, Schema: CreateSchema, ExistingRows: RefuseRows,
			Shards:  Shards{Parallel: 4},
			Cutover: CopyCutover{Mode: AutoCutover, Timeout: Duration(30 * time.Second), SourceAfter: LeaveSource},
			KeepOld: &keep,
		},
	}, s)
}

func TestASpecThatSaysEverythingIsReadAsItSays(t *testing.T) {
	s, err := Parse("full.yaml", readExample(t, "full.yaml"))
	require.NoError(t, err)
	rounds, keep := 0, Duration(7*24*time.Hour)
	require.Equal(t, &Spec{
		Common: Common{
			Kind: task.Copy, Name: "shop into the warehouse", Priority: 1,
			Timeouts: Timeouts{
				Total: Duration(12 * time.Hour), Backup: Duration(time.Hour), Transform: Duration(10 * time.Hour),
				Verify: Duration(2 * time.Hour), Cutover: Duration(5 * time.Minute), Cleanup: Duration(time.Hour),
			},
			Retry: Retry{Attempts: 5, Rounds: &rounds, Delay: Duration(time.Second), MaxDelay: Duration(time.Minute)},
			Throttle: Throttle{
				Replicas: []string{"shop_r1"}, MaxLag: Duration(2 * time.Second), MaxActive: 50, MaxIOWaits: 8, MaxCommitLatency: Duration(10 * time.Millisecond),
				MaxLogGrowth: &LogGrowth{Bytes: 20 << 30, Then: ThenStop}, MaxArchiveQueue: 20, MaxChangelog: &ChangelogLimit{Rows: 500_000, Then: ThenStop}, MaxTransactionAge: Duration(10 * time.Minute),
				MinFreeDisk: &FreeDisk{Bytes: 50 << 30, Path: "/var/lib/mysql", Then: ThenHold},
				Query:       &QueryGuard{SQL: "SELECT count(*) FROM jobs", Max: 100, Connection: "shop_r1"},
				HTTP:        "https://deploy.example.com/go", Hold: "until the sale is over",
				RowsPerSecond: 50000, BytesPerSecond: 20 << 20, Parallel: 2, ResumeAt: 70,
			},
			Verify: Verify{Mode: Count, Report: 10}, OnFailure: Rollback, OnTimeout: TimeoutRetry,
		},
		Copy: &CopySpec{
			Source: "legacy", Target: "warehouse",
			Tables: []TableSpec{
				{Name: "shop.*"},
				{Name: "!shop.tmp_*"},
				{Name: "shop.orders", To: "public.orders", Where: "created_at >= '2020-01-01'\nAND region <> 'test'\n"},
				{Name: "shop.客户", To: "public.customers"},
			},
			Mode: Offline, Schema: ExistingSchema, ExistingRows: ReplaceRows,
			Shards:  Shards{Rows: 100000, Parallel: 8},
			Cutover: CopyCutover{Mode: ManualCutover, Timeout: Duration(90 * time.Second), SourceAfter: LeaveSource},
			KeepOld: &keep,
		},
	}, s)
}

// good is a valid spec, to which the cases below add their mistakes from line 4 on.
const good = "kind: copy\nsource: legacy\ntarget: warehouse\n"

func TestEveryMistakeIsNamedWithItsPlaceAndRemedy(t *testing.T) {
	cases := []struct{ name, file, want string }{
		{"nothing", "", `s.yaml:1:1: the file is empty`},
		{"only a comment", "# later\n", `s.yaml:1:1: the file is empty`},
		{"no mapping", "- kind: copy\n", `s.yaml:1:1: expected fields like "name: value", got a list`},
		{"only text", "copy\n", `s.yaml:1:1: expected fields like "name: value", got "copy"`},
		{"two documents", good + "---\nkind: copy\n",
			`s.yaml:5:1: a second document: one file holds one, put it into a file of its own`},
		{"bad syntax", good + "tables: [a, b\nname: x\n", `s.yaml:5:1: not valid YAML: ',' or ']' must be specified`},
		{"bad indentation", good + "shards:\n  rows: 10\n parallel: 1\n", `s.yaml:6:2: not valid YAML: value is not allowed in this context`},
		{"a star out of quotes", good + "tables:\n  - *.orders\n",
			`s.yaml:5:5: *.orders stands for an anchor, and there is none of that name: text that begins with * must stand in quotes`},
		{"only a star", good + "tables:\n  - *\n",
			`s.yaml:5:5: not valid YAML: undefined alias name; text that begins with * must stand in quotes`},
		{"an exclamation mark out of quotes", good + "tables:\n  - shop.*\n  - !shop.tmp_*\n",
			`s.yaml:6:5: !shop.tmp_* begins a YAML tag, and tags are not used here: text that begins with ! must stand in quotes`},
		{"another encoding", "kind: copy\nname: caf\xe9\n", `s.yaml:2:10: not UTF-8: save the file in that encoding`},
		{"a merge key", "kind: copy\n<<: {source: a}\n", `s.yaml:2:1: merging with << is not used here: write the fields out`},
		{"a directive", "%YAML 1.2\n---\n" + good, `s.yaml:1:1: directives (%YAML, %TAG) are not used here: leave them out`},

		{"unknown field", good + "tabels: [a]\n", `s.yaml:4:1: field "tabels": unknown field; did you mean "tables"?`},
		{"unknown field with a dash", good + "on-failure: hold\n",
			`s.yaml:4:1: field "on-failure": unknown field; did you mean "on_failure"?`},
		{"unknown field without a near one", good + "cutover: {window: 3}\n",
			`s.yaml:4:11: field "cutover.window": unknown field; there are mode, timeout, source_after`},
		{"unknown field of a table", good + "tables:\n  - shop.a\n  - name: shop.b\n    whre: x\n",
			`s.yaml:7:5: field "tables[1].whre": unknown field; did you mean "where"?`},
		{"a field twice", good + "name: a\nname: b\n", `s.yaml:5:1: field "name": given twice, the first time on line 4`},
		{"a field without a value", good + "tables:\nname: a\n", `s.yaml:4:8: field "tables": has no value: give it one or leave it out`},

		{"text for a number", good + "priority: high\n", `s.yaml:4:11: field "priority": expected a number, got "high"`},
		{"a quoted number", good + "priority: \"3\"\n", `s.yaml:4:11: field "priority": expected a number, got "3"`},
		{"half a number", good + "shards: {parallel: 1.5}\n", `s.yaml:4:20: field "shards.parallel": expected a whole number, got 1.5`},
		{"a huge number", good + "shards:\n  rows: 9223372036854775808\n",
			`s.yaml:5:9: field "shards.rows": 9223372036854775808 is too large a number`},
		{"a number for text", good + "name: 2024\n",
			`s.yaml:4:7: field "name": expected text, got the number 2024: put it in quotes if it is meant as text`},
		{"a list for text", good + "name: [a]\n", `s.yaml:4:7: field "name": expected text, got a list`},
		{"text for a list", good + "tables: shop.orders\n", `s.yaml:4:9: field "tables": expected a list, got "shop.orders"`},
		{"a number for a table", good + "tables: [7]\n",
			`s.yaml:4:10: field "tables[0]": expected fields like "name: value", got the number 7`},
		{"text for a mapping", good + "retry: never\n", `s.yaml:4:8: field "retry": expected fields like "name: value", got "never"`},
		{"a duration without a unit", good + "keep_old: 24\n",
			`s.yaml:4:11: field "keep_old": "24" is not a duration: write it like 30s, 5m, 12h or 7d`},
		{"a negative duration", good + "cutover:\n  timeout: -5s\n",
			`s.yaml:5:12: field "cutover.timeout": "-5s" is not a duration: write it like 30s, 5m, 12h or 7d`},
		{"a list for a duration", good + "keep_old: [1h]\n", `s.yaml:4:11: field "keep_old": expected a single value, got a list`},

		{"a bad choice", good + "verify: {mode: cheksum}\n",
			`s.yaml:4:16: field "verify.mode": "cheksum" is not a valid choice; did you mean "checksum"?`},
		{"a bad choice without a near one", good + "on_failure: explode\n",
			`s.yaml:4:13: field "on_failure": "explode" is not a valid choice; there are hold, rollback`},
		{"an empty choice", good + "schema: ''\n", `s.yaml:4:9: field "schema": "" is not a valid choice; there are create, existing`},
		{"a priority out of range", good + "priority: 6\n", `s.yaml:4:11: field "priority": 6 is out of range: from 1 to 5`},
		{"a zero out of range", good + "priority: 0\n", `s.yaml:4:11: field "priority": 0 is out of range: from 1 to 5`},
		{"no shard at once", good + "throttle: {parallel: 0}\n",
			`s.yaml:4:22: field "throttle.parallel": 0 is out of range: from 1 to 64`},
		{"too many shards at once", good + "shards: {parallel: 65}\n",
			`s.yaml:4:20: field "shards.parallel": 65 is out of range: from 1 to 64`},
		{"shards too small", good + "shards: {rows: 9}\n", `s.yaml:4:16: field "shards.rows": 9 is too small: at least 10`},
		{"a negative rate", good + "throttle: {rows_per_second: -1}\n",
			`s.yaml:4:29: field "throttle.rows_per_second": -1 is too small: at least 0`},
		{"no attempt", good + "retry: {attempts: 0}\n", `s.yaml:4:19: field "retry.attempts": 0 is out of range: from 1 to 100`},
		{"a delay above its maximum", good + "retry: {delay: 10m}\n",
			`s.yaml:4:16: field "retry.delay": 10m is longer than retry.max_delay, 5m`},
		{"no time for the cut-over", good + "cutover: {timeout: 0s}\n",
			`s.yaml:4:20: field "cutover.timeout": must be longer than 0: the source is locked for as long`},

		{"no kind", "source: a\ntarget: b\n", `s.yaml:1:1: field "kind": is missing; there are copy, ddl, backfill, reindex, sql, pipeline`},
		{"an empty mapping", "{}\n", `s.yaml:1:1: field "kind": is missing; there are copy, ddl, backfill, reindex, sql, pipeline`},
		{"a misspelt kind", "kind: cpoy\nsource: a\ntarget: b\nmood: x\n",
			"s.yaml:1:7: field \"kind\": \"cpoy\" is not a kind of migration; did you mean \"copy\"?\n" +
				`s.yaml:4:1: field "mood": unknown field; did you mean "mode"?`},
		{"a kind of another type", "kind: [copy]\n", `s.yaml:1:7: field "kind": expected text, got a list`},
		{"a pipeline without steps", "kind: pipeline\nname: shop\n", `s.yaml:1:1: field "steps": is missing`},
		{"no source", "kind: copy\ntarget: b\n", `s.yaml:1:1: field "source": is missing`},
		{"neither source nor target", "# a copy\nkind: copy\n",
			"s.yaml:2:1: field \"source\": is missing\n" + `s.yaml:2:1: field "target": is missing`},
		{"the same connection twice", "kind: copy\nsource: my-shop\ntarget: MY_SHOP\n",
			`s.yaml:3:9: field "target": is the same connection as the source: a copy goes from one to another`},
		{"a connection with a blank", "kind: copy\nsource: my shop\ntarget: b\n",
			`s.yaml:2:9: field "source": must be the name of a connection, of letters, digits, _ and -`},
		{"an address, which is not repeated", "kind: copy\nsource: mysql://root:s3cret@db/shop\ntarget: b\n",
			`s.yaml:2:9: field "source": must be the name of a connection, not an address: addresses and passwords belong to the ` +
				`worker, in GODWIT_CONNECTION_<NAME> or its file of connections`},
		{"a name of two lines", good + "name: \"a\\nb\"\n", `s.yaml:4:7: field "name": must be one line, without control characters`},

		{"no tables", good + "tables: []\n", `s.yaml:4:9: field "tables": is empty: name tables, or leave it out to copy all of them`},
		{"a table without a name", good + "tables:\n  - {to: public.a}\n", `s.yaml:5:5: field "tables[0].name": is missing`},
		{"an empty table", good + "tables: ['']\n", `s.yaml:4:10: field "tables[0]": is empty: name a table`},
		{"a table twice", good + "tables:\n  - shop.a\n  - {name: shop.a, to: public.b}\n",
			`s.yaml:6:12: field "tables[1].name": "shop.a" is given already as tables[0]`},
		{"a target twice", good + "tables:\n  - {name: shop.a, to: public.a}\n  - {name: shop.b, to: public.a}\n",
			`s.yaml:6:24: field "tables[1].to": "public.a" is the target of tables[0] already`},
		{"a target of a pattern", good + "tables:\n  - {name: shop.*, to: public.a}\n",
			`s.yaml:5:24: field "tables[0].to": "public.a" cannot be the target of the pattern "shop.*": name one table`},
		{"a pattern as target", good + "tables:\n  - {name: shop.a, to: public.*}\n",
			`s.yaml:5:24: field "tables[0].to": "public.*" is a pattern: name one table`},
		{"an exclusion of nothing", good + "tables: [\"!shop.tmp_*\", shop.*]\n",
			`s.yaml:4:10: field "tables[0].name": "!shop.tmp_*" takes nothing away from the entries before it: ` +
				`put it after the one that it is to take from, like "shop.*"`},
		{"an exclusion elsewhere", good + "tables: [shop.a*, \"!shop.b*\"]\n",
			`s.yaml:4:19: field "tables[1].name": "!shop.b*" takes nothing away from the entries before it: ` +
				`put it after the one that it is to take from, like "shop.*"`},
		{"a condition on an exclusion", good + "tables: [shop.*, {name: \"!shop.a\", where: id > 1}]\n",
			`s.yaml:4:43: field "tables[1].where": makes no sense for tables that are not copied`},
		{"the word where", good + "tables:\n  - name: a\n    where: WHERE id > 1\n",
			`s.yaml:6:12: field "tables[0].where": leave out the word WHERE`},
		{"a schema without a table", good + "tables: [shop.]\n",
			`s.yaml:4:10: field "tables[0].name": "shop." is not a table: write it like database.table or database.*`},

		{"fields of later versions", good + "notify: {}\nbackup: {mode: dump}\ntypes: {}\nvalues: {}\n",
			"s.yaml:4:1: field \"notify\": not supported by this version yet\n" +
				"s.yaml:5:1: field \"backup\": not supported by this version yet\n" +
				"s.yaml:6:1: field \"types\": not supported by this version yet\n" +
				`s.yaml:7:1: field "values": not supported by this version yet`},
		{"columns", good + "tables: [{name: a, columns: {}}]\n", `s.yaml:4:20: field "tables[0].columns": not supported by this version yet`},
		{"repair", good + "verify: {repair: true}\n", `s.yaml:4:10: field "verify.repair": not supported by this version yet`},
		{"a watermark that is none", good + "throttle: {max_lag: fast}\n",
			`s.yaml:4:21: field "throttle.max_lag": "fast" is not a duration: write it like 30s, 5m, 12h or 7d`},
		{"a size that is none", good + "throttle: {max_log_growth: much}\n",
			`s.yaml:4:28: field "throttle.max_log_growth": "much" is not a size: write it like 20GiB, 500MB or 4096`},
		{"replicas for nothing", good + "throttle: {replicas: [a]}\n",
			`s.yaml:4:22: field "throttle.replicas": are watched for nothing: give max_lag, too`},
		{"a disk without a place", good + "throttle: {min_free_disk: {bytes: 1GiB}}\n",
			`s.yaml:4:27: field "throttle.min_free_disk": 0 places are given to look at, and must be exactly one of path, query and url`},
		{"a budget without its size", good + "throttle: {max_log_growth: {then: stop}}\n", `s.yaml:4:28: field "throttle.max_log_growth.bytes": is missing`},
		{"a changelog without its limit", good + "throttle: {max_changelog: {then: stop}}\n", `s.yaml:4:27: field "throttle.max_changelog.rows": is missing: give a number of noted changes`},
		{"a changelog of many", good + "throttle: {max_changelog: many}\n",
			`s.yaml:4:27: field "throttle.max_changelog": "many" is not a number of noted changes: give a whole number, 0 for any`},
		{"a reaction that is none", good + "throttle: {max_log_growth: {bytes: 1GiB, then: panic}}\n",
			`s.yaml:4:48: field "throttle.max_log_growth.then": "panic" is not a valid choice; there are hold, stop`},
		{"an endpoint with a password", good + "throttle: {http: 'https://me:secret@example.com'}\n",
			`s.yaml:4:18: field "throttle.http": must not have a user or a password in it: a spec is not a place for secrets`},
		{"another word", good + "throttle: fast\n", `s.yaml:4:11: field "throttle": "fast" is not a throttle: give limits and guards, or none`},
		{"a live copy", good + "mode: live\n",
			`s.yaml:4:7: field "mode": "live" is not supported by this version yet; there is only offline`},
		{"a fence", good + "cutover: {source_after: fence}\n",
			`s.yaml:4:25: field "cutover.source_after": "fence" is not supported by this version yet; there is only leave`},

		{"many at once, in the order of the file", "kind: copy\ntarget: b\nprioriti: 1\ntables: []\nshards: {rows: x, parallel: 99}\nverify: {mode: sum}\n",
			"s.yaml:1:1: field \"source\": is missing\n" +
				"s.yaml:3:1: field \"prioriti\": unknown field; did you mean \"priority\"?\n" +
				"s.yaml:4:9: field \"tables\": is empty: name tables, or leave it out to copy all of them\n" +
				"s.yaml:5:16: field \"shards.rows\": expected a number, got \"x\"\n" +
				"s.yaml:5:29: field \"shards.parallel\": 99 is out of range: from 1 to 64\n" +
				`s.yaml:6:16: field "verify.mode": "sum" is not a valid choice; there are checksum, count, none`},
		{"columns count characters", good + "cutover: {mode: 自动, timeout: x}\n",
			"s.yaml:4:17: field \"cutover.mode\": \"自动\" is not a valid choice; there are auto, manual\n" +
				`s.yaml:4:30: field "cutover.timeout": "x" is not a duration: write it like 30s, 5m, 12h or 7d`},
		{"lines end as on Windows", "kind: copy\r\nsource: a\r\ntarget: b\r\nnmae: c\r\n",
			`s.yaml:4:1: field "nmae": unknown field; did you mean "name"?`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := Parse("s.yaml", []byte(c.file))
			require.Nil(t, s)
			require.EqualError(t, err, c.want)
			require.IsType(t, document.Mistakes{}, err)
		})
	}
}

func TestWhatPeopleWriteIsAccepted(t *testing.T) {
	for name, file := range map[string]string{
		"a byte order mark":        "\ufeff" + good,
		"Windows line ends":        strings.ReplaceAll(good, "\n", "\r\n"),
		"document markers":         "---\n" + good + "...\n",
		"a marker at the end":      good + "---\n",
		"quotes and comments":      "\"kind\": 'copy' # a copy\nsource: \"legacy\"\ntarget: warehouse # here\n",
		"one line":                 "{kind: copy, source: legacy, target: warehouse}",
		"JSON":                     `{"kind": "copy", "source": "legacy", "target": "warehouse"}`,
		"an anchor":                "kind: copy\nsource: &a legacy\nname: *a\ntarget: warehouse\n",
		"a bare zero for no limit": good + "timeouts: {preflight: 0}\n",
		"a pattern of everything":  good + "tables: [\"*\", \"!tmp_*\"]\n",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse("s.yaml", []byte(file))
			require.NoError(t, err)
			require.Equal(t, "legacy", s.Copy.Source)
			require.Equal(t, "warehouse", s.Copy.Target)
		})
	}
}

func TestAnAliasThatContainsItselfIsAMistake(t *testing.T) {
	_, err := Parse("s.yaml", []byte(good+"retry: &r\n  delay: *r\n"))
	require.EqualError(t, err, "s.yaml:5:10: *r stands for an anchor, and there is none of that name: text that begins with * must stand in quotes")
}

func TestAliasesOfAliasesDoNotExplode(t *testing.T) {
	var file strings.Builder
	file.WriteString(good + "a0: &a0 [x, x]\n")
	for i := 1; i < 40; i++ {
		n := string(rune('0'+i/10)) + string(rune('0'+i%10))
		last := string(rune('0'+(i-1)/10)) + string(rune('0'+(i-1)%10))
		if i == 1 {
			last = "0"
		}
		file.WriteString("a" + n + ": &a" + n + " [*a" + last + ", *a" + last + "]\n")
	}
	file.WriteString("tables: *a39\n")
	_, err := Parse("s.yaml", []byte(file.String()))
	require.ErrorContains(t, err, `field "a0": unknown field`)
}

func TestValuesNestedWithoutEndAreAMistake(t *testing.T) {
	_, err := Parse("s.yaml", []byte(good+"tables: "+strings.Repeat("[", 300)+strings.Repeat("]", 300)+"\n"))
	require.ErrorContains(t, err, "nested too deeply")
}

func FuzzParseNeverPanicsAndReadsItsOwnJSON(f *testing.F) {
	f.Add(readExample(f, "short.yaml"))
	f.Add(readExample(f, "full.yaml"))
	f.Add([]byte(good + "tables: [\"*\", {name: a, where: \"\\u0007 \\ud83d\\ude00 \\\" \\\\\"}]\n"))
	f.Add([]byte(good + "name: &a x\nretry: *a\n<<: *a\n"))
	f.Add([]byte("- !a\n? [b]\n: |+\n  c\n%d\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("s.yaml", data)
		if err != nil {
			require.NotEmpty(t, err.Error())
			require.True(t, bytes.HasPrefix([]byte(err.Error()), []byte("s.yaml:")), err.Error())
			return
		}
		requireRoundTrip(t, s)
	})
}
