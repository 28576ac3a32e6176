package mysql

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/sandbox"
)

// keyCase is a table with a key of some kind and a way to make values of it.
type keyCase struct {
	name    string
	only    sandbox.Kind // empty for both
	columns string
	options string
	row     func(r *rand.Rand) []string // literals
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

// word makes a string of pieces that collations treat in their own ways.
func word(r *rand.Rand, pieces ...string) string {
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString(pick(r, pieces...))
	}
	return b.String()
}

func random(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.UintN(256))
	}
	return string(b)
}

var (
	anything = []string{"a", "A", "á", "Ä", "b", "B", "ß", "ss", "z", "_", "-", " ", "  ", "\t", "\n", "\\", "'", `"`, "%", "0", "9", "文", "字", "😀", "🏳️‍🌈", "e\u0301", "é", "ﬁ", "\x01", "\x1a", "--", "/*"}
	western  = []string{"a", "A", "á", "Ä", "b", "ß", "z", " ", "\\", "'", "€", "é", "~", "\t"}
	japanese = []string{"a", "A", "漢", "字", "ソ", "表", "ア", "ｱ", "\\", " "}
)

func text(pieces []string) func(r *rand.Rand) []string {
	return func(r *rand.Rand) []string { return []string{quoteText(word(r, pieces...))} }
}

func moment(r *rand.Rand, layout string) string {
	at := time.Date(1971+r.IntN(60), 1, 1, 0, 0, r.IntN(365*86400), r.IntN(1e9), time.UTC)
	return "'" + at.Format(layout) + "'"
}

var keyCases = []keyCase{
	{name: "int", columns: "k int, PRIMARY KEY (k)",
		row: func(r *rand.Rand) []string { return []string{fmt.Sprint(r.IntN(100000) - 50000)} }},
	{name: "bigint unsigned", columns: "k bigint unsigned, PRIMARY KEY (k)",
		row: func(r *rand.Rand) []string { return []string{fmt.Sprint(r.Uint64() >> r.UintN(64))} }},
	{name: "bits", columns: "k bit(64), PRIMARY KEY (k)",
		row: func(r *rand.Rand) []string { return []string{fmt.Sprint(r.Uint64() >> r.UintN(64))} }},
	{name: "bits first", columns: "b bit(9), n int, PRIMARY KEY (b, n)",
		row: func(r *rand.Rand) []string { return []string{fmt.Sprint(r.IntN(512)), fmt.Sprint(r.IntN(1000))} }},
	{name: "zerofill", columns: "k int(8) zerofill, PRIMARY KEY (k)",
		row: func(r *rand.Rand) []string { return []string{fmt.Sprint(r.IntN(1000000))} }},
	{name: "decimal", columns: "k decimal(40,12), PRIMARY KEY (k)",
		row: func(r *rand.Rand) []string {
			return []string{fmt.Sprintf("%s%d%018d.%012d", pick(r, "", "-"), r.IntN(10), 9007199254740993+r.IntN(3), r.IntN(3))}
		}},
	{name: "year", columns: "k year, n int, PRIMARY KEY (k, n)",
		row: func(r *rand.Rand) []string {
			return []string{pick(r, "0", "1901", "1970", "2000", "2069", "2155"), fmt.Sprint(r.IntN(1000))}
		}},
	{name: "text that ignores case", columns: "k varchar(60) COLLATE utf8mb4_general_ci, PRIMARY KEY (k)", row: text(anything)},
	{name: "text that ignores accents", columns: "k varchar(60) COLLATE utf8mb4_unicode_ci, PRIMARY KEY (k)", row: text(anything)},
	{name: "text without padding", only: sandbox.MySQL, columns: "k varchar(60) COLLATE utf8mb4_0900_ai_ci, PRIMARY KEY (k)", row: text(anything)},
	{name: "text without padding, MariaDB's", only: sandbox.MariaDB, columns: "k varchar(60) COLLATE utf8mb4_unicode_nopad_ci, PRIMARY KEY (k)", row: text(anything)},
	{name: "text in binary order", columns: "k varchar(60) COLLATE utf8mb4_bin, PRIMARY KEY (k)", row: text(anything)},
	{name: "char", columns: "k char(40) COLLATE utf8mb4_general_ci, PRIMARY KEY (k)", row: text(anything)},
	{name: "char without padding", only: sandbox.MySQL, columns: "k char(40) COLLATE utf8mb4_0900_as_cs, PRIMARY KEY (k)", row: text(anything)},
	{name: "latin1", columns: "k varchar(60) CHARACTER SET latin1, PRIMARY KEY (k)", row: text(western)},
	{name: "german", columns: "k varchar(60) CHARACTER SET latin1 COLLATE latin1_german2_ci, PRIMARY KEY (k)", row: text(western)},
	{name: "sjis", columns: "k varchar(60) CHARACTER SET sjis, PRIMARY KEY (k)", row: text(japanese)},
	{name: "utf16", columns: "k varchar(60) CHARACTER SET utf16, PRIMARY KEY (k)", row: text(anything)},
	{name: "binary(16)", columns: "k binary(16), PRIMARY KEY (k)",
		row: func(r *rand.Rand) []string { return []string{"X'" + hex.EncodeToString([]byte(random(r, 16))) + "'"} }},
	{name: "varbinary", columns: "k varbinary(9), PRIMARY KEY (k)",
		row: func(r *rand.Rand) []string {
			return []string{"X'" + hex.EncodeToString([]byte(pick(r, "", "a", "\x00", "\xff")+random(r, r.IntN(3))+pick(r, "", "\x00", " ", "\x00\x00"))) + "'"}
		}},
	{name: "uuid in text", columns: "k char(36) CHARACTER SET ascii, PRIMARY KEY (k)",
		row: func(r *rand.Rand) []string {
			return []string{fmt.Sprintf("'%08x-0000-4000-8000-%012x'", r.Uint32(), r.IntN(5))}
		}},
	{name: "uuid", only: sandbox.MariaDB, columns: "k uuid, PRIMARY KEY (k)",
		row: func(r *rand.Rand) []string {
			return []string{fmt.Sprintf("'%08x-%04x-%d%03x-8000-%012x'", r.Uint32(), r.IntN(1<<16), pick(r, "1", "4", "7")[0]-'0', r.IntN(1<<12), r.Uint64()>>16)}
		}},
	{name: "inet6", only: sandbox.MariaDB, columns: "k inet6, PRIMARY KEY (k)",
		row: func(r *rand.Rand) []string { return []string{fmt.Sprintf("'%x::%x'", r.IntN(1<<16), r.IntN(1<<16))} }},
	{name: "date", columns: "k date, n int, PRIMARY KEY (k, n)",
		row: func(r *rand.Rand) []string {
			return []string{pick(r, "'0000-00-00'", "'2020-00-00'", "'2020-02-00'", "'0005-01-01'", "'9999-12-31'", moment(r, time.DateOnly), moment(r, time.DateOnly)), fmt.Sprint(r.IntN(3))}
		}},
	{name: "datetime(6)", columns: "k datetime(6), PRIMARY KEY (k)",
		row: func(r *rand.Rand) []string {
			return []string{pick(r, "'0000-00-00'", "'2020-00-00 01:02:03.000004'", "'0000-01-01 00:00:00'", moment(r, "2006-01-02 15:04:05.000000"), moment(r, "2006-01-02 15:04:05.000000"))}
		}},
	{name: "timestamp(3)", columns: "k timestamp(3), PRIMARY KEY (k)",
		row: func(r *rand.Rand) []string {
			return []string{pick(r, "'0000-00-00'", "'1970-01-01 00:00:01.001'", moment(r, "2006-01-02 15:04:05.000"), "'2024-10-27 0"+fmt.Sprint(r.IntN(10))+":30:00'")}
		}},
	{name: "time(2)", columns: "k time(2), PRIMARY KEY (k)",
		row: func(r *rand.Rand) []string {
			return []string{fmt.Sprintf("'%s%03d:%02d:%02d.%02d'", pick(r, "", "-"), r.IntN(839), r.IntN(60), r.IntN(60), r.IntN(100))}
		}},
	{name: "enum first", columns: "e enum('z','it''s','a','M','文') COLLATE utf8mb4_bin, n int, PRIMARY KEY (e, n)",
		row: func(r *rand.Rand) []string {
			return []string{pick(r, "'z'", "'it''s'", "'a'", "'M'", "'文'", "0"), fmt.Sprint(r.IntN(500))}
		}},
	{name: "enum last", columns: "n int, e enum('z','b','a','M'), PRIMARY KEY (n, e)",
		row: func(r *rand.Rand) []string {
			return []string{fmt.Sprint(r.IntN(300)), pick(r, "'z'", "'b'", "'a'", "'M'")}
		}},
	{name: "three columns", columns: "t int, k varchar(20) COLLATE utf8mb4_general_ci, b varbinary(4), PRIMARY KEY (t, k, b)",
		row: func(r *rand.Rand) []string {
			return []string{fmt.Sprint(r.IntN(5)), quoteText(word(r, anything[:8]...)), "X'" + hex.EncodeToString([]byte(random(r, 2))) + "'"}
		}},
	{name: "four columns", columns: "a tinyint, b date, c decimal(5,2), d char(3), PRIMARY KEY (a, b, c, d)",
		row: func(r *rand.Rand) []string {
			return []string{fmt.Sprint(r.IntN(3) - 1), moment(r, "2006-01-01"), fmt.Sprintf("%d.%d", r.IntN(5)-2, r.IntN(3)), "'" + pick(r, "a", "B", "c") + "'"}
		}},
	{name: "descending", columns: "a int, b int, PRIMARY KEY (a DESC, b DESC)",
		row: func(r *rand.Rand) []string { return []string{fmt.Sprint(r.IntN(30)), fmt.Sprint(r.IntN(90))} }},
	{name: "a unique key", columns: "a int NOT NULL, x int, KEY (x), UNIQUE KEY `u``k` (a)",
		row: func(r *rand.Rand) []string { return []string{fmt.Sprint(r.IntN(10000)), fmt.Sprint(r.IntN(9))} }},
	{name: "partitions", columns: "a int, b int, PRIMARY KEY (a, b)", options: " PARTITION BY HASH (b) PARTITIONS 5",
		row: func(r *rand.Rand) []string { return []string{fmt.Sprint(r.IntN(100)), fmt.Sprint(r.IntN(90))} }},
}

func (s *testServer) fill(t *testing.T, c keyCase, r *rand.Rand, rows int) *engine.Table {
	t.Helper()
	create := "CREATE TABLE t (" + c.columns + ")" + c.options
	statements := []string{"DROP TABLE IF EXISTS t", create}
	for rows > 0 {
		n := min(rows, 500)
		values := make([]string, n)
		for i := range values {
			values[i] = "(" + strings.Join(c.row(r), ", ") + ")"
		}
		statements = append(statements, "INSERT IGNORE INTO t VALUES "+strings.Join(values, ", "))
		rows -= n
	}
	s.exec(t, append(statements, "ANALYZE TABLE t")...)
	return s.describe(t, "t")
}

// onEveryKey runs a test on tables of about so many rows with each kind of key.
func onEveryKey(t *testing.T, rows int, test func(t *testing.T, s *testServer, table *engine.Table, r *rand.Rand)) {
	seed := uint64(time.Now().UnixNano())
	onBoth(t, func(t *testing.T, s *testServer) {
		for _, c := range keyCases {
			if c.only != "" && c.only != s.kind {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				t.Logf("seed %d", seed)
				r := rand.New(rand.NewPCG(seed, 0))
				table := s.fill(t, c, r, rows)
				require.Empty(t, table.KeyProblem)
				test(t, s, table, r)
			})
		}
	})
}

// requireSameRows compares rows without regard to their order.
func requireSameRows(t *testing.T, want, got []string) {
	t.Helper()
	want, got = append([]string(nil), want...), append([]string(nil), got...)
	sort.Strings(want)
	sort.Strings(got)
	require.Equal(t, want, got)
}

// requireIndexRange makes sure that a selection reads only its own part of the
// index, in the order that the index has.
func (s *testServer) requireIndexRange(t *testing.T, sel engine.Select) {
	t.Helper()
	text, err := selection(sel).text()
	require.NoError(t, err)
	rows, err := s.db.QueryContext(t.Context(), "EXPLAIN FORMAT=TRADITIONAL "+text)
	require.NoError(t, err)
	defer rows.Close()
	names, err := rows.Columns()
	require.NoError(t, err)
	require.True(t, rows.Next())
	values, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	require.NoError(t, rows.Scan(into...))
	for i, name := range names {
		switch strings.ToLower(name) {
		case "type":
			require.Contains(t, []string{"range", "const", "index"}, values[i].String, text)
		case "key":
			require.Equal(t, sel.Table.KeyName, values[i].String, text)
		case "extra":
			require.NotContains(t, values[i].String, "filesort", text)
		}
	}
}

func TestChunksTogetherAreTheTable(t *testing.T) {
	onEveryKey(t, 1200, func(t *testing.T, s *testServer, table *engine.Table, r *rand.Rand) {
		whole := s.read(t, engine.Select{Table: table, Exprs: columns(table)})
		ordered := s.read(t, engine.Select{Table: table, Exprs: columns(table), Ordered: true})
		requireSameRows(t, whole, ordered)

		var chunks []string
		var after engine.Key
		for last := false; !last; {
			size := int64(1 + r.IntN(150))
			until, found, err := s.Bound(t.Context(), engine.Select{Table: table, Range: engine.Range{After: after}}, size)
			require.NoError(t, err)
			last = !found
			bounds := engine.Range{After: after, Until: until}
			s.requireIndexRange(t, engine.Select{Table: table, Exprs: columns(table), Range: bounds, Ordered: true})
			rows := s.read(t, engine.Select{Table: table, Exprs: columns(table), Range: bounds, Ordered: true})
			if found {
				require.Len(t, rows, int(size), "%s", bounds)
			} else {
				require.Less(t, len(rows), int(size), "%s", bounds)
			}
			chunks = append(chunks, rows...)
			after = until
		}
		require.Equal(t, ordered, chunks)
	})
}

func TestShardsTogetherAreTheTable(t *testing.T) {
	onEveryKey(t, 1200, func(t *testing.T, s *testServer, table *engine.Table, _ *rand.Rand) {
		whole := s.read(t, engine.Select{Table: table, Exprs: columns(table)})
		const size = 60
		bounds, err := s.Split(t.Context(), engine.Select{Table: table}, size)
		require.NoError(t, err)
		require.NotEmpty(t, bounds)
		var shards []string
		largest := 0
		for _, r := range chain(engine.Range{}, bounds) {
			rows := s.read(t, engine.Select{Table: table, Exprs: columns(table), Range: r})
			largest = max(largest, len(rows))
			shards = append(shards, rows...)
		}
		requireSameRows(t, whole, shards)
		require.LessOrEqual(t, largest, 3*size, "%d shards of %d rows", len(bounds)+1, len(whole))
	})
}

func TestTheKeyOfARowSurvivesTheLedger(t *testing.T) {
	onEveryKey(t, 100, func(t *testing.T, s *testServer, table *engine.Table, _ *rand.Rand) {
		key, found, err := s.Bound(t.Context(), engine.Select{Table: table}, 20)
		require.NoError(t, err)
		require.True(t, found)
		for i := range key {
			written, err := key[i].MarshalJSON()
			require.NoError(t, err)
			var read engine.KeyValue
			require.NoError(t, read.UnmarshalJSON(written))
			require.Equal(t, key[i], read)
		}
		require.Len(t, s.read(t, engine.Select{Table: table, Exprs: []string{"1"}, Range: engine.Range{Until: key}}), 20)
	})
}

func TestARangeCanBeWrittenIntoAStatementWithAnAlias(t *testing.T) {
	onEveryKey(t, 300, func(t *testing.T, s *testServer, table *engine.Table, _ *rand.Rand) {
		sel := engine.Select{Table: table}
		low, _, err := s.Bound(t.Context(), sel, 20)
		require.NoError(t, err)
		high, _, err := s.Bound(t.Context(), sel, 70)
		require.NoError(t, err)
		conditions, err := RangeConditions(table, "the x", engine.Range{After: low, Until: high})
		require.NoError(t, err)
		require.Len(t, conditions, 2)
		var count int
		text := "SELECT COUNT(*) FROM t `the x` JOIN (SELECT 1 AS " + Quote(table.Key[0]) + ") other WHERE " + strings.Join(conditions, " AND ")
		require.NoError(t, s.db.QueryRowContext(t.Context(), text).Scan(&count), text)
		require.Equal(t, 50, count)

		var equal []string
		for i, name := range table.Key {
			literal, err := Literal(table, name, low[i])
			require.NoError(t, err)
			equal = append(equal, Quote(name)+" = "+literal)
		}
		require.NoError(t, s.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t WHERE "+strings.Join(equal, " AND ")).Scan(&count))
		require.Equal(t, 1, count)
	})
}
