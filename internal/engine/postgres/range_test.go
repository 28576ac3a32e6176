package postgres

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
)

// keyCase is a table with a key of some kind and a way to make values of it.
type keyCase struct {
	name    string
	columns string
	options string
	after   string                      // a statement to run on the table
	row     func(r *rand.Rand) []string // literals
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

// word makes a string of pieces that collations treat in their own ways.
func word(r *rand.Rand, pieces ...string) string {
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString(pick(r, pieces...))
	}
	return QuoteLiteral(b.String())
}

var anything = []string{"a", "A", "á", "Ä", "b", "B", "ß", "ss", "z", "_", "-", " ", "  ", "\t", "\n", "\\", "'", `"`, "%", "0", "9", "文", "字", "😀", "🏳️‍🌈",
	"e\u0301", "é", "ﬁ", "\x01", "\x1a", "--", "/*", "$$", "\\x41", "NULL"}

func text(r *rand.Rand) []string { return []string{word(r, anything...)} }

func bytesLiteral(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.UintN(256))
	}
	return `'\x` + hex.EncodeToString(b) + "'"
}

func moment(r *rand.Rand, layout string) string {
	at := time.Date(1+r.IntN(9000), 1, 1, 0, 0, r.IntN(365*86400), r.IntN(1e9), time.UTC)
	return "'" + at.Format(layout) + "'"
}

var keyCases = []keyCase{
	{name: "int", columns: "k int PRIMARY KEY", row: func(r *rand.Rand) []string { return []string{fmt.Sprint(r.IntN(100000) - 50000)} }},
	{name: "smallint and bigint", columns: "a smallint, b bigint, PRIMARY KEY (a, b)",
		row: func(r *rand.Rand) []string {
			return []string{fmt.Sprint(r.IntN(7) - 3), fmt.Sprint(int64(r.Uint64()) >> r.UintN(64))}
		}},
	{name: "oid", columns: "k oid PRIMARY KEY", row: func(r *rand.Rand) []string { return []string{fmt.Sprint(r.Uint32())} }},
	{name: "numeric", columns: "k numeric PRIMARY KEY",
		row: func(r *rand.Rand) []string {
			return []string{pick(r, "'NaN'", fmt.Sprintf("%s%d%018d.%d", pick(r, "", "-"), r.IntN(10), 9007199254740993+r.IntN(3), r.IntN(300)))}
		}},
	{name: "numeric(40,12)", columns: "k numeric(40,12) PRIMARY KEY",
		row: func(r *rand.Rand) []string {
			return []string{fmt.Sprintf("%s%d%018d.%012d", pick(r, "", "-"), r.IntN(10), 9007199254740993+r.IntN(3), r.IntN(30))}
		}},
	{name: "text", columns: "k text PRIMARY KEY", row: text},
	{name: "text in byte order", columns: `k text COLLATE "C" PRIMARY KEY`, row: text},
	{name: "text in German order", columns: `k varchar(60) COLLATE "de-x-icu" PRIMARY KEY`, row: text},
	{name: "text in the order of a phone book", columns: `k text COLLATE public.phonebook PRIMARY KEY`, row: text},
	{name: "padded text", columns: "k char(40) PRIMARY KEY", row: text},
	{name: "padded text in German order", columns: `k char(40) COLLATE "de-x-icu" PRIMARY KEY`, row: text},
	{name: "names", columns: "k name PRIMARY KEY", row: text},
	{name: "uuid", columns: "k uuid PRIMARY KEY",
		row: func(r *rand.Rand) []string {
			return []string{fmt.Sprintf("'%08x-0000-4000-8000-%012x'", r.Uint32(), r.IntN(5))}
		}},
	{name: "bytea", columns: "k bytea PRIMARY KEY", row: func(r *rand.Rand) []string { return []string{bytesLiteral(r, r.IntN(4))} }},
	{name: "date", columns: "k date, n int, PRIMARY KEY (k, n)",
		row: func(r *rand.Rand) []string {
			return []string{pick(r, "'infinity'", "'-infinity'", "'4713-01-01 BC'", "'12345-06-07'", moment(r, "2006-01-02"), moment(r, "2006-01-02")), fmt.Sprint(r.IntN(200))}
		}},
	{name: "timestamp", columns: "k timestamp, n int, PRIMARY KEY (k, n)",
		row: func(r *rand.Rand) []string {
			return []string{pick(r, "'infinity'", "'0044-03-15 12:00:00.000001 BC'", moment(r, "2006-01-02 15:04:05.000000")), fmt.Sprint(r.IntN(900))}
		}},
	{name: "timestamptz(3)", columns: "k timestamptz(3) PRIMARY KEY",
		row: func(r *rand.Rand) []string {
			return []string{strings.TrimSuffix(moment(r, "2006-01-02 15:04:05.000"), "'") + "+02'"}
		}},
	{name: "time", columns: "k time PRIMARY KEY",
		row: func(r *rand.Rand) []string { return []string{pick(r, "'24:00:00'", moment(r, "15:04:05.000000"))} }},
	{name: "bool first", columns: "k bool, n int, PRIMARY KEY (k, n)",
		row: func(r *rand.Rand) []string { return []string{pick(r, "true", "false"), fmt.Sprint(r.IntN(5000))} }},
	{name: "enum first", columns: "e public.mood, n int, PRIMARY KEY (e, n)",
		row: func(r *rand.Rand) []string {
			return []string{pick(r, "'z'", "'it''s'", "'a'", "'M'", "'文'"), fmt.Sprint(r.IntN(500))}
		}},
	{name: "enum last", columns: "n int, e public.mood, PRIMARY KEY (n, e)",
		row: func(r *rand.Rand) []string {
			return []string{fmt.Sprint(r.IntN(500)), pick(r, "'z'", "'it''s'", "'a'", "'M'", "'文'")}
		}},
	{name: "inet", columns: "k inet PRIMARY KEY",
		row: func(r *rand.Rand) []string {
			return []string{pick(r, fmt.Sprintf("'10.%d.%d.1/%d'", r.IntN(3), r.IntN(200), r.IntN(33)), fmt.Sprintf("'%x::%x'", r.IntN(1<<16), r.IntN(1<<16)))}
		}},
	{name: "cidr and macaddr", columns: "k cidr, m macaddr, PRIMARY KEY (k, m)",
		row: func(r *rand.Rand) []string {
			return []string{fmt.Sprintf("'10.%d.0.0/16'", r.IntN(3)), fmt.Sprintf("'08:00:2b:%02x:%02x:03'", r.IntN(256), r.IntN(256))}
		}},
	{name: "domains", columns: "k public.code, b public.blob, PRIMARY KEY (k, b)",
		row: func(r *rand.Rand) []string { return []string{fmt.Sprint(r.IntN(50)), bytesLiteral(r, 2)} }},
	{name: "four columns", columns: `a int, b text COLLATE "de-x-icu", c bytea, d numeric(5,2), PRIMARY KEY (b, a, d, c)`,
		row: func(r *rand.Rand) []string {
			return []string{fmt.Sprint(r.IntN(5)), word(r, anything[:8]...), bytesLiteral(r, 1), fmt.Sprintf("%d.%d", r.IntN(5)-2, r.IntN(3))}
		}},
	{name: "descending", columns: "a int NOT NULL, b int NOT NULL", after: "CREATE UNIQUE INDEX ON public.t (a DESC, b DESC)",
		row: func(r *rand.Rand) []string { return []string{fmt.Sprint(r.IntN(30)), fmt.Sprint(r.IntN(90))} }},
	{name: "names that mean something else", columns: `k1 int, n int, "total" int, "t" int, "a""b" int, PRIMARY KEY (n, "total", k1, "t", "a""b")`,
		row: func(r *rand.Rand) []string {
			return []string{fmt.Sprint(r.IntN(9)), fmt.Sprint(r.IntN(9)), fmt.Sprint(r.IntN(9)), fmt.Sprint(r.IntN(9)), "1"}
		}},
	{name: "partitions", columns: "a int, b int, PRIMARY KEY (a, b)", options: " PARTITION BY HASH (b)",
		after: "CREATE TABLE public.p0 PARTITION OF public.t FOR VALUES WITH (MODULUS 3, REMAINDER 0); CREATE TABLE public.p1 PARTITION OF public.t FOR VALUES WITH (MODULUS 3, REMAINDER 1); " +
			"CREATE TABLE public.p2 PARTITION OF public.t FOR VALUES WITH (MODULUS 3, REMAINDER 2)",
		row: func(r *rand.Rand) []string { return []string{fmt.Sprint(r.IntN(100)), fmt.Sprint(r.IntN(90))} }},
}

func fill(t *testing.T, s *Server, c keyCase, r *rand.Rand, rows int) *engine.Table {
	t.Helper()
	execute(t, s, "DROP TABLE IF EXISTS public.t", "CREATE TABLE public.t ("+c.columns+")"+c.options)
	if c.after != "" {
		execute(t, s, c.after)
	}
	values := make([]string, rows)
	for i := range values {
		values[i] = "(" + strings.Join(c.row(r), ", ") + ")"
	}
	_, err := s.Exec(t.Context(), "INSERT INTO public.t VALUES "+strings.Join(values, ", ")+" ON CONFLICT DO NOTHING")
	require.NoError(t, err)
	return table(t, s, "public.t")
}

// onEveryKey runs a test on tables of about so many rows with each kind of key.
func onEveryKey(t *testing.T, rows int, test func(t *testing.T, s *Server, table *engine.Table, r *rand.Rand)) {
	seed := uint64(time.Now().UnixNano())
	s := open(t, "CREATE TYPE public.mood AS ENUM ('z', 'it''s', 'a', 'M', '文')", "CREATE DOMAIN public.code AS int", "CREATE DOMAIN public.blob AS bytea",
		"CREATE COLLATION public.phonebook (provider = icu, locale = 'de-u-co-phonebk')")
	for _, c := range keyCases {
		t.Run(c.name, func(t *testing.T) {
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 0))
			table := fill(t, s, c, r, rows)
			require.Empty(t, table.KeyProblem)
			test(t, s, table, r)
		})
	}
}

// all selects every column.
func all(table *engine.Table, r engine.Range, ordered bool) engine.Select {
	exprs := make([]string, len(table.Columns))
	for i, c := range table.Columns {
		exprs[i] = Quote(c.Name)
	}
	return engine.Select{Table: table, Exprs: exprs, Range: r, Ordered: ordered}
}

func TestChunksTogetherAreTheTable(t *testing.T) {
	onEveryKey(t, 1200, func(t *testing.T, s *Server, table *engine.Table, r *rand.Rand) {
		whole := drain(t, s, all(table, engine.Range{}, true))
		require.Greater(t, len(whole), 300)
		require.ElementsMatch(t, drain(t, s, all(table, engine.Range{}, false)), whole)

		first, found, err := s.First(t.Context(), engine.Select{Table: table, Where: "false"})
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, whole[:1], drain(t, s, all(table, engine.Range{Until: first}, true)))

		var chunks []string
		var after engine.Key
		for last := false; !last; {
			size := int64(1 + r.IntN(150))
			until, found, err := s.Bound(t.Context(), engine.Select{Table: table, Range: engine.Range{After: after}, Where: "false"}, size)
			require.NoError(t, err)
			last = !found
			bounds := engine.Range{After: after, Until: until}
			rows := drain(t, s, all(table, bounds, true))
			if found {
				require.Len(t, rows, int(size), "%s", bounds)
			} else {
				require.Less(t, len(rows), int(size), "%s", bounds)
			}
			chunks = append(chunks, rows...)
			after = until
		}
		require.Equal(t, whole, chunks)
	})
}

func TestShardsTogetherAreTheTable(t *testing.T) {
	onEveryKey(t, 1200, func(t *testing.T, s *Server, table *engine.Table, _ *rand.Rand) {
		whole := drain(t, s, all(table, engine.Range{}, true))
		const size = 60
		walked, err := s.walk(t.Context(), engine.Select{Table: table}, size)
		require.NoError(t, err)
		sampled, estimate, err := s.sample(t.Context(), engine.Select{Table: table}, size, 1)
		require.NoError(t, err)
		require.EqualValues(t, len(whole), estimate)
		for how, bounds := range map[string][]engine.Key{"walked": walked, "sampled": sampled} {
			var shards []string
			for _, r := range chain(engine.Range{}, bounds) {
				rows := drain(t, s, all(table, r, true))
				require.InDelta(t, size, len(rows), size/5, "%s: %s", how, r)
				shards = append(shards, rows...)
			}
			require.Equal(t, whole, shards, how)
		}
	})
}

// chain cuts a range at the bounds.
func chain(r engine.Range, bounds []engine.Key) []engine.Range {
	var ranges []engine.Range
	for _, bound := range bounds {
		ranges = append(ranges, engine.Range{After: r.After, Until: bound})
		r.After = bound
	}
	return append(ranges, r)
}

func TestTheKeyOfARowSurvivesTheLedger(t *testing.T) {
	onEveryKey(t, 300, func(t *testing.T, s *Server, table *engine.Table, _ *rand.Rand) {
		key, found, err := s.Bound(t.Context(), engine.Select{Table: table}, 20)
		require.NoError(t, err)
		require.True(t, found)
		written, err := json.Marshal(key)
		require.NoError(t, err)
		var read engine.Key
		require.NoError(t, json.Unmarshal(written, &read))
		require.Equal(t, key, read)
		require.Len(t, drain(t, s, all(table, engine.Range{Until: read}, true)), 20)
	})
}

func TestARangeCanBeWrittenIntoAStatementWithAnAlias(t *testing.T) {
	onEveryKey(t, 300, func(t *testing.T, s *Server, table *engine.Table, _ *rand.Rand) {
		sel := engine.Select{Table: table}
		low, _, err := s.Bound(t.Context(), sel, 20)
		require.NoError(t, err)
		high, _, err := s.Bound(t.Context(), sel, 70)
		require.NoError(t, err)
		conditions, err := RangeConditions(table, "the x", engine.Range{After: low, Until: high})
		require.NoError(t, err)
		require.Len(t, conditions, 2)
		var count int
		query := "SELECT count(*) FROM public.t \"the x\" JOIN (SELECT 1 AS " + Quote(table.Key[0]) + ") other ON true WHERE " + strings.Join(conditions, " AND ")
		require.NoError(t, s.on.QueryRow(t.Context(), query).Scan(&count), query)
		require.Equal(t, 50, count)

		var equal []string
		for i, name := range table.Key {
			literal, err := Literal(table, name, low[i])
			require.NoError(t, err)
			equal = append(equal, Quote(name)+" = "+literal)
		}
		require.Equal(t, 1, value[int](t, s, "SELECT count(*) FROM public.t WHERE "+strings.Join(equal, " AND ")))
	})
}

func TestABoundIsFoundInTheIndexWhateverTheServerBelieves(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int, b text, x text, PRIMARY KEY (a, b)) WITH (autovacuum_enabled = off)", "CREATE INDEX ON public.t (b)",
		"INSERT INTO public.t SELECT n % 10, n, repeat('x', 100) FROM generate_series(1, 20000) n")
	table := table(t, s, "public.t")
	key := engine.Key{{Kind: engine.NumberKey, Value: "4"}, {Kind: engine.TextKey, Value: "5"}}
	text, err := query{table: table, exprs: keyColumns(table), within: engine.Range{After: key}, ordered: true, limit: 1, offset: 999}.text()
	require.NoError(t, err)
	rows, err := s.readText(t.Context(), indexOnly+"EXPLAIN "+text)
	require.NoError(t, err)
	var plan strings.Builder
	for _, row := range rows {
		plan.WriteString(string(slices.Concat(row...)) + "\n")
	}
	require.Contains(t, plan.String(), "Index Only Scan using t_pkey")
	require.Contains(t, plan.String(), "Index Cond: (ROW(a, b) > ROW(4, '5'::text))")
	require.NotContains(t, plan.String(), "Sort")
	require.Equal(t, "on", value[string](t, s, "SELECT current_setting('enable_seqscan')"), "no trace of it is left")
	require.Equal(t, "on", value[string](t, s, "SELECT current_setting('enable_sort')"))
}

func TestATableWithoutAKeyHasNoBounds(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int)", "INSERT INTO public.t SELECT generate_series(1, 1000)")
	sel := engine.Select{Table: table(t, s, "public.t")}
	_, _, err := s.Bound(t.Context(), sel, 10)
	require.ErrorContains(t, err, "no primary key and no unique key")
	bounds, err := s.Split(t.Context(), sel, 10)
	require.NoError(t, err)
	require.Empty(t, bounds)
}
